import CMicrohttpd
import Dispatch
import Foundation
import HTTPCore
import Primitives

/// The values that all exchanges of a listener share.
final class Service: Sendable {
    let handler: any HTTPHandler
    let limits: HTTPListener.Configuration
    let connections: ConnectionRegistry
    /// The memory for request bodies, or `nil` if it is not limited.
    let bodyAllowance: BodyAllowance?
    /// The requests between their request line and the end of their response.
    let requestsInProgress = DispatchGroup()
    /// The tasks of suspended replies.
    let runningTasks = DispatchGroup()

    init(handler: any HTTPHandler, limits: HTTPListener.Configuration, roomMade: @escaping @Sendable () -> Void) {
        self.handler = handler
        self.limits = limits
        bodyAllowance = limits.maximumHeldBytes.map { BodyAllowance($0) }
        connections = ConnectionRegistry(
            maximum: max(1, limits.maximumConnections), minimumWait: limits.minimumWaitBeforeEviction,
            deadlines: .init(
                firstHeaders: limits.headerTimeout, nextHeaders: limits.headerTimeout + limits.idleTimeout,
                body: limits.bodyTimeout), clock: limits.clock, roomMade: roomMade)
    }
}

/// The running microhttpd: daemons for the threads, and the acceptor that distributes connections to them.
final class Daemon: Sendable {
    let address: HTTPListener.Address
    var connectionCount: Int { service.connections.count }
    /// The set that gets new connections, and the retired ones that still have connections.
    private let workers: Locked<[WorkerSet]>
    private let acceptor: Acceptor
    private let service: Service
    /// The time for clients to read the error response of a request that outlived the grace period, and for tasks to
    /// end.
    private static let refusalPeriod = Duration.seconds(1)

    init(handler: any HTTPHandler, configuration: HTTPListener.Configuration) throws {
        let pem = try configuration.tls.map { try PEM($0) }
        let wakeUp = try makeWakeUp()
        let listening =
            try configuration.socket.map { ListeningSocket($0) }
            ?? ListeningSocket(host: configuration.host, port: configuration.port)
        let service = Service(handler: handler, limits: configuration) { wakeUp.signal() }
        do {
            let workers = try WorkerSet(service, configuration, pem)
            self.workers = Locked([workers])
            self.service = service
            acceptor = Acceptor(listening, service.connections, wakeUp, workers)
        } catch {
            close(listening.descriptor)
            service.connections.stop()
            throw error
        }
        address = .init(
            host: configuration.socket?.host ?? configuration.host, port: listening.port, isSecure: pem != nil)
    }

    /// Throws the error that a listener with this configuration would throw, without binding its address.
    static func check(_ configuration: HTTPListener.Configuration) throws {
        guard let tls = configuration.tls else { return }
        var configuration = configuration
        configuration.threads = 1
        let service = Service(handler: Unavailable(), limits: configuration) {}
        defer { service.connections.stop() }
        try WorkerSet(service, configuration, PEM(tls)).stop()
    }

    /// The handler of a listener that accepts no connection.
    private struct Unavailable: HTTPHandler {
        func respond(to request: HTTPRequest) -> HTTPReply { .ready(HTTPResponse(status: 503)) }
    }

    /// Starts workers with the certificate in these files, for `use` or for `WorkerSet.stop`.
    func workers(with files: HTTPListener.TLS) throws -> WorkerSet {
        try WorkerSet(service, service.limits, PEM(files))
    }

    /// Serves new connections with these workers. Connections that are open continue.
    func use(_ fresh: WorkerSet) {
        let former = acceptor.use(fresh)
        workers.withLock { $0.append(fresh) }
        former.retire()
        workers.withLock { $0.removeAll(where: \.hasEnded) }
    }

    /// Stops all threads of the daemon and returns when they have ended.
    func stop(grace: Duration) {
        acceptor.stop()
        service.connections.drain()
        awaitRequestsThatArrived(atMost: max(grace, Self.refusalPeriod))
        let clock = service.limits.clock
        if service.requestsInProgress.wait(atMost: grace, clock) == .timedOut {
            service.connections.forbidParking()
            _ = service.requestsInProgress.wait(atMost: Self.refusalPeriod, clock)
        }
        service.connections.forbidParking()
        for workers in workers.withLock({ $0 }) { workers.stop() }
        service.connections.stop()
        _ = service.runningTasks.wait(atMost: Self.refusalPeriod, clock)
    }
}

extension Daemon {
    /// Returns when each connection has closed or serves a request. A request that has arrived is counted only when
    /// microhttpd reads it, and would be lost otherwise.
    ///
    /// The limit concerns a socket that microhttpd did not open. It is real time, because no client causes this.
    private func awaitRequestsThatArrived(atMost limit: Duration) {
        let pause = DispatchSemaphore(value: 0)
        let deadline = ContinuousClock.now + limit
        while service.connections.hasWaitingConnection, .now < deadline {
            _ = pause.wait(timeout: .now() + .milliseconds(2))
            service.connections.drain()
        }
    }
}

extension DispatchGroup {
    /// Blocks until the group is empty, or until `period` has passed on `clock`.
    fileprivate func wait(atMost period: Duration, _ clock: MonotonicClock) -> DispatchTimeoutResult {
        guard let interval = clock.readingInterval else { return wait(timeout: .now() + Self.dispatch(period)) }
        let deadline = clock.now + period
        while wait(timeout: .now() + Self.dispatch(interval)) == .timedOut {
            if clock.now >= deadline { return .timedOut }
        }
        return .success
    }

    private static func dispatch(_ period: Duration) -> DispatchTimeInterval {
        .milliseconds(Int(period / .milliseconds(1)))
    }
}

/// The contents of the two PEM files.
struct PEM {
    let certificate: String
    let privateKey: String

    init(_ files: HTTPListener.TLS) throws(HTTPListenerError) {
        guard souk_mhd_tls_available() == .YES else {
            throw HTTPListenerError(.tlsFailed, "The system's libmicrohttpd is built without TLS.")
        }
        certificate = try Self.read(files.certificateFile, "CERTIFICATE")
        privateKey = try Self.read(files.privateKeyFile, "PRIVATE KEY")
    }

    private static func read(_ path: String, _ kind: String) throws(HTTPListenerError) -> String {
        guard let bytes = FileManager.default.contents(atPath: path) else {
            throw HTTPListenerError(.tlsFailed, "The file \(path) cannot be read.")
        }
        let text = String(decoding: bytes, as: UTF8.self)
        guard text.contains("\(kind)-----") else {
            throw HTTPListenerError(.tlsFailed, "The file \(path) contains no PEM block of the kind \(kind).")
        }
        return text
    }
}

/// The callbacks of microhttpd. `context` is the `WorkerSet`, which outlives its daemons.
enum Callbacks {
    typealias RequestLine =
        @convention(c) (
            UnsafeMutableRawPointer?, UnsafePointer<CChar>?, OpaquePointer?
        ) -> UnsafeMutableRawPointer?

    static let connection: MHD_NotifyConnectionCallback = { context, connection, slot, event in
        guard let context, let connection, let slot else { return }
        let workers = Unmanaged<WorkerSet>.fromOpaque(context).takeUnretainedValue()
        if event == .CONNECTION_NOTIFY_STARTED {
            let opened = workers.service.connections.open(souk_mhd_connection_socket(connection))
            slot.pointee = Unmanaged.passRetained(opened).toOpaque()
        } else if let stored = slot.pointee {
            workers.service.connections.close(Unmanaged<Connection>.fromOpaque(stored).takeRetainedValue())
            slot.pointee = nil
            workers.leave()
        }
    }

    /// Creates the exchange and returns a handle to it. microhttpd calls this before it changes the request target.
    static let requestLine: RequestLine = { context, target, connection in
        guard let context, let connection, let stored = souk_mhd_connection_context(connection) else { return nil }
        let service = Unmanaged<WorkerSet>.fromOpaque(context).takeUnretainedValue().service
        let exchange = Exchange(
            service: service, connection: Unmanaged<Connection>.fromOpaque(stored).takeUnretainedValue(),
            target: RawRequestTarget(target))
        service.requestsInProgress.enter()
        return Unmanaged.passRetained(exchange).toOpaque()
    }

    static let access: MHD_AccessHandlerCallback = { _, connection, _, method, version, data, size, slot in
        guard let connection, let method, let version, let size, let stored = slot?.pointee else { return .NO }
        let exchange = Unmanaged<Exchange>.fromOpaque(stored).takeUnretainedValue()
        let bytes = UnsafeRawBufferPointer(start: data, count: size.pointee)
        size.pointee = 0
        return exchange.advance(
            MHDConnection(pointer: connection), method: method, version: version, data: bytes)
    }

    static let completed: MHD_RequestCompletedCallback = { context, connection, slot, _ in
        guard let context, let connection, let stored = slot?.pointee else { return }
        slot?.pointee = nil
        let service = Unmanaged<WorkerSet>.fromOpaque(context).takeUnretainedValue().service
        Unmanaged<Exchange>.fromOpaque(stored).takeRetainedValue().abandon()
        if let stored = souk_mhd_connection_context(connection) {
            let connection = Unmanaged<Connection>.fromOpaque(stored).takeUnretainedValue()
            connection.enter(.awaitingRequest, nil)
            // A response that was created just before the listener began to stop did not close its connection.
            if service.connections.isDraining { connection.stopReading() }
        }
        service.requestsInProgress.leave()
    }
}

/// Creates a `WakeUp`, and throws an `HTTPListenerError` if that fails.
private func makeWakeUp() throws(HTTPListenerError) -> WakeUp {
    do {
        return try WakeUp()
    } catch {
        throw HTTPListenerError(
            .systemFailed, "Cannot create a pipe: \(String(cString: strerror(error.code.rawValue))).")
    }
}
