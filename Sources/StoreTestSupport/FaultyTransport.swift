import HTTPCore
import Primitives

/// A transport one of whose calls goes wrong, as networks do.
///
///     let network = FaultyTransport(server, .answerLost, atCall: 3)
public final class FaultyTransport: HTTPTransport {
    public enum Fault: Sendable, CaseIterable {
        /// Nothing arrived.
        case unreachable
        /// It arrived and was done; the answer did not come back.
        case answerLost
        /// Answered with 500, nothing done.
        case serverError
        /// It arrived and was done; the answer came back damaged, with status 200.
        case garbage
        /// It did not arrive: somebody on the way answered with a page, status 200.
        case impostor
    }

    private let inner: any HTTPTransport
    private let fault: Fault?
    private let failing: Int
    private let count = Locked(0)

    /// - Parameters:
    ///   - inner: sends what does not go wrong.
    ///   - fault: what goes wrong; nothing does when `nil`.
    ///   - call: which call goes wrong, from 1.
    public init(_ inner: any HTTPTransport, _ fault: Fault? = nil, atCall call: Int = 0) {
        self.inner = inner
        self.fault = fault
        failing = call
    }

    /// How many calls were made.
    public var calls: Int { count.withLock { $0 } }

    public func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        let number = count.withLock { count in
            count += 1
            return count
        }
        guard let fault, number == failing else { return try await inner.send(request) }
        switch fault {
        case .unreachable: throw HTTPError(.connectionFailed, "Nobody is there.")
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
