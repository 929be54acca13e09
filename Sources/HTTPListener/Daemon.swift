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

/// The running microhttpd: a daemon for each thread, and the acceptor that distributes connections to them.
final class Daemon: Sendable {
    let address: HTTPListener.Address
    private let workers: [MHDDaemon]
    private let acceptor: Acceptor
    private let service: Service
    /// The time for clients to read the error response of a request that outlived the grace period, and for tasks to
    /// end.
    private static let refusalPeriod = Duration.seconds(1)

    init(handler: any HTTPHandler, configuration: HTTPListener.Configuration) throws {
        let pem = try configuration.tls.map { try PEM($0) }
        let wakeUp = try makeWakeUp()
        let listening = try ListeningSocket(host: configuration.host, port: configuration.port)
        let service = Service(handler: handler, limits: configuration) { wakeUp.signal() }
        var workers: [MHDDaemon] = []
        while workers.count < max(1, configuration.threads) {
            guard let started = Self.start(service, configuration, pem) else {
                let number = errno
                close(listening.descriptor)
                for worker in workers { MHD_stop_daemon(worker.pointer) }
                service.connections.stop()
                throw Self.failure(number, isSecure: pem != nil)
            }
            workers.append(MHDDaemon(pointer: started))
        }
        self.workers = workers
        self.service = service
        acceptor = Acceptor(listening, service.connections, wakeUp, daemons: workers)
        address = .init(host: configuration.host, port: listening.port, isSecure: pem != nil)
    }

    private static func failure(_ errorNumber: Int32, isSecure: Bool) -> HTTPListenerError {
        guard !isSecure else {
            return HTTPListenerError(
                .tlsFailed, "The certificate and the private key do not match. Configure matching PEM files.")
        }
        return HTTPListenerError(
            .systemFailed, "The HTTP daemon did not start: \(String(cString: strerror(errorNumber))).")
    }

    private static func start(
        _ service: Service, _ configuration: HTTPListener.Configuration, _ pem: PEM?
    ) -> OpaquePointer? {
        var settings = souk_mhd_settings()
        settings.flags = souk_mhd_flags(pem == nil ? 0 : 1)
        // The acceptor enforces the limit. microhttpd needs one more: it still counts a connection that just closed.
        settings.connections = UInt32(clamping: UInt(max(1, configuration.maximumConnections)) + 1)
        settings.idle_seconds = UInt32(max(1, configuration.idleTimeout.components.seconds))
        settings.memory_per_connection = max(32 << 10, configuration.maximumHeaderBytes * 2)  // Also for responses.
        settings.context = Unmanaged.passUnretained(service).toOpaque()
        settings.request_line = Callbacks.requestLine
        settings.access = Callbacks.access
        settings.completed = Callbacks.completed
        settings.connection = Callbacks.connection
        guard let pem else { return souk_mhd_start(&settings) }
        return pem.privateKey.withCString { key in
            pem.certificate.withCString { certificate in
                tlsPriorities.withCString { priorities in
                    settings.private_key = key
                    settings.certificate = certificate
                    settings.tls_priorities = priorities
                    return souk_mhd_start(&settings)
                }
            }
        }
    }

    /// GnuTLS's normal algorithms with TLS 1.2 and 1.3 only. Its default still includes TLS 1.0 and 1.1 (RFC 8996).
    private static let tlsPriorities = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"

    /// Stops all threads of the daemon and returns when they have ended.
    func stop(grace: Duration) {
        acceptor.stop()
        service.connections.drain()
        let clock = service.limits.clock
        if service.requestsInProgress.wait(atMost: grace, clock) == .timedOut {
            service.connections.forbidParking()
            _ = service.requestsInProgress.wait(atMost: Self.refusalPeriod, clock)
        }
        service.connections.forbidParking()
        for worker in workers { MHD_stop_daemon(worker.pointer) }
        service.connections.stop()
        _ = service.runningTasks.wait(atMost: Self.refusalPeriod, clock)
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
private struct PEM {
    let certificate: String
    let privateKey: String

    init(_ files: HTTPListener.TLS) throws {
        guard souk_mhd_tls_available() == .YES else {
            throw HTTPListenerError(.tlsFailed, "The system's libmicrohttpd is built without TLS.")
        }
        certificate = try Self.read(files.certificateFile, "CERTIFICATE")
        privateKey = try Self.read(files.privateKeyFile, "PRIVATE KEY")
    }

    private static func read(_ path: String, _ kind: String) throws -> String {
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

/// The callbacks of microhttpd. `context` is the `Service`, which outlives the daemon.
private enum Callbacks {
    typealias RequestLine =
        @convention(c) (
            UnsafeMutableRawPointer?, UnsafePointer<CChar>?, OpaquePointer?
        ) -> UnsafeMutableRawPointer?

    static let connection: MHD_NotifyConnectionCallback = { context, connection, slot, event in
        guard let context, let connection, let slot else { return }
        let service = Unmanaged<Service>.fromOpaque(context).takeUnretainedValue()
        if event == .CONNECTION_NOTIFY_STARTED {
            let opened = service.connections.open(souk_mhd_connection_socket(connection))
            slot.pointee = Unmanaged.passRetained(opened).toOpaque()
        } else if let stored = slot.pointee {
            service.connections.close(Unmanaged<Connection>.fromOpaque(stored).takeRetainedValue())
            slot.pointee = nil
        }
    }

    /// Creates the exchange and returns a handle to it. microhttpd calls this before it changes the request target.
    static let requestLine: RequestLine = { context, target, connection in
        guard let context, let connection, let stored = souk_mhd_connection_context(connection) else { return nil }
        let service = Unmanaged<Service>.fromOpaque(context).takeUnretainedValue()
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
        let service = Unmanaged<Service>.fromOpaque(context).takeUnretainedValue()
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
