import Foundation
import HTTPCore
import HTTPListener
import Primitives

/// The listener of a service, bound before the service changes anything: if the port is in use, nothing was changed.
/// Answers 503 until the service has started. With an inherited socket, connections wait in its queue instead.
final class ServiceListener: Sendable {
    let url: String
    private let listener: HTTPListener
    private let startingHandler: StartingHandler
    /// Whether `open` starts the listener.
    private let startsWhenOpen: Bool

    /// Throws `UsageError` with the address and the reason.
    init(_ configuration: HTTPListener.Configuration) throws {
        startingHandler = StartingHandler()
        listener = HTTPListener(handler: startingHandler, configuration: configuration)
        do {
            startsWhenOpen = configuration.socket != nil
            if let socket = configuration.socket {
                try HTTPListener.check(configuration)
                let isSecure = configuration.tls != nil
                url = HTTPListener.Address(host: socket.host, port: socket.port, isSecure: isSecure).url
            } else {
                url = try listener.start().url
            }
        } catch let error as HTTPListenerError {
            throw UsageError(error.reason)
        }
    }

    /// The number of open connections.
    var connectionCount: Int { listener.connectionCount }

    /// Passes requests to `handler` from now on. Throws `UsageError` when an inherited socket cannot be served.
    func open(to handler: any HTTPHandler) throws {
        startingHandler.handler.withLock { $0 = handler }
        guard startsWhenOpen else { return }
        do { try listener.start() } catch let error as HTTPListenerError { throw UsageError(error.reason) }
    }

    /// Checks the certificate in these files, for `use` or for `discard` of the result. Throws `UsageError`.
    func prepareCertificate(_ files: HTTPListener.TLS) throws -> HTTPListener.PreparedCertificate {
        do { return try listener.prepareCertificate(files) } catch let error as HTTPListenerError {
            throw UsageError(error.reason)
        }
    }

    /// Serves new connections with this certificate. Open connections continue with the former one.
    func use(_ certificate: HTTPListener.PreparedCertificate) { listener.use(certificate) }

    /// Stops accepting connections, waits for requests in progress until the grace period ends, and closes.
    func close() async { await listener.stop() }

    /// Runs `body` while requests are answered 503. Closes the listener when `body` throws.
    func whileStarting<Value>(_ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch {
            await close()
            throw error
        }
    }

    private final class StartingHandler: HTTPHandler {
        let handler = Locked<(any HTTPHandler)?>(nil)

        func respond(to request: HTTPRequest) -> HTTPReply {
            if let handler = handler.withLock({ $0 }) { return handler.respond(to: request) }
            var response = HTTPProblem(
                status: 503, code: "starting", title: "Starting", detail: "The service is starting; ask again.",
                isRetryable: true
            ).response
            response.headers["Retry-After"] = "1"
            return .ready(response)
        }
    }
}
