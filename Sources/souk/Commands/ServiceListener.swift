import Foundation
import HTTPCore
import HTTPListener
import Primitives

/// The listener of a service, bound before the service changes anything: if the port is in use, nothing was changed.
/// Answers 503 until the service has started.
final class ServiceListener: Sendable {
    let url: String
    private let listener: HTTPListener
    private let startingHandler: StartingHandler

    /// Throws `UsageError` with the address and the reason.
    init(_ configuration: HTTPListener.Configuration) throws {
        startingHandler = StartingHandler()
        listener = HTTPListener(handler: startingHandler, configuration: configuration)
        do {
            url = try listener.start().url
        } catch let error as HTTPListenerError {
            throw UsageError(error.reason)
        }
    }

    /// Passes requests to `handler` from now on.
    func open(to handler: any HTTPHandler) { startingHandler.handler.withLock { $0 = handler } }

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
