import HTTPCore
import Primitives
import Testing

/// A transport that answers from a script, in the order of requests, and records the requests.
///
///     let transport = ScriptedTransport([.answer(status: 503), .answer(json: ["features": []])])
///
/// The test fails if a request arrives after the end of the script, or if steps are left when the transport is
/// deallocated.
public final class ScriptedTransport: HTTPTransport {
    /// The answer to one request.
    public struct Step: Sendable {
        fileprivate let perform: @Sendable (HTTPRequest) async throws -> HTTPResponse

        /// A step that answers with a response.
        public static func answer(_ response: HTTPResponse) -> Step { Step { _ in response } }

        /// A step that answers with a status, headers and JSON.
        public static func answer(status: Int = 200, headers: HTTPHeaders = [:], json: JSONValue? = nil) -> Step {
            guard let json else { return .answer(HTTPResponse(status: status, headers: headers)) }
            return .answer(HTTPResponse(status: status, headers: headers, json: json))
        }

        /// A step that throws an error.
        public static func fail(_ error: any Error) -> Step { Step { _ in throw error } }

        /// A step that calls a function.
        public static func perform(_ body: @escaping @Sendable (HTTPRequest) async throws -> HTTPResponse) -> Step {
            Step(perform: body)
        }
    }

    private struct State {
        var script: [Step]
        var requests: [HTTPRequest] = []
    }

    private let state: Locked<State>
    private let location: SourceLocation

    /// Creates a transport with a script. Without a script, any request fails the test.
    public init(_ script: [Step] = [], sourceLocation: SourceLocation = #_sourceLocation) {
        state = Locked(State(script: script))
        location = sourceLocation
    }

    deinit {
        let left = state.withLock { $0.script.count }
        if left > 0 { Issue.record("\(left) answers of the script were not used", sourceLocation: location) }
    }

    /// The requests so far.
    public var requests: [HTTPRequest] { state.withLock { $0.requests } }

    public func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        let step = state.withLock { state -> Step? in
            state.requests.append(request)
            return state.script.isEmpty ? nil : state.script.removeFirst()
        }
        guard let step else {
            Issue.record("unexpected \(request.method) \(request.url)", sourceLocation: location)
            throw HTTPError(.connectionFailed, "The script has no answer for this request.")
        }
        return try await step.perform(request)
    }
}
