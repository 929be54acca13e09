import HTTPCore
import Primitives

/// A transport that injects a network fault into at most one of its calls.
///
///     let network = FaultyTransport(server, .answerLost, atCall: 3)
public final class FaultyTransport: HTTPTransport {
    /// A fault of a network.
    public enum Fault: Sendable, CaseIterable {
        /// The request does not arrive.
        case unreachable
        /// The request arrives and is processed; its response is lost.
        case answerLost
        /// The request is not processed, and the response has the status 500.
        case serverError
        /// The request arrives and is processed; the response is damaged, with status 200.
        case garbage
        /// The request does not arrive: a captive portal answers with a page and status 200.
        case impostor
    }

    private let inner: any HTTPTransport
    private let fault: Fault?
    private let failingCall: Int
    private let count = Locked(0)

    /// Creates a transport.
    ///
    /// - Parameters:
    ///   - inner: The transport of all requests that arrive.
    ///   - fault: The fault; `nil` for none.
    ///   - call: The number of the call with the fault, from 1.
    public init(_ inner: any HTTPTransport, _ fault: Fault? = nil, atCall call: Int = 0) {
        self.inner = inner
        self.fault = fault
        failingCall = call
    }

    /// The number of calls so far.
    public var calls: Int { count.withLock { $0 } }

    public func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        let number = count.withLock { count in
            count += 1
            return count
        }
        guard let fault, number == failingCall else { return try await inner.send(request) }
        switch fault {
        case .unreachable: throw HTTPError(.connectionFailed, "No server answers.")
        case .serverError: return HTTPResponse(status: 500)
        case .impostor: return HTTPResponse(status: 200, body: .text("<html>Please log in to this network.</html>"))
        case .answerLost:
            _ = try await inner.send(request)
            throw HTTPError(.connectionLost, "The connection ended before the answer.")
        case .garbage:
            _ = try await inner.send(request)
            return HTTPResponse(status: 200, body: .text("{\"half\": "))
        }
    }
}
