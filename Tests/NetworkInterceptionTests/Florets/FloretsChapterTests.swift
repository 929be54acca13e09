import HTTPCore
import NetworkInterception
import Primitives
import Testing

/// Runs the examples of Documentation/Interception.md for the shipped florets.
@Suite struct FloretsChapterTests {
    private let network = InProcessTransport(
        AnyHTTPHandler { request in .ready(HTTPResponse(status: 200, headers: ["X-Target": request.url])) })

    @Test func `the example of several florets sends the mapped request and injects the latency`() async throws {
        let faults = FaultFloret(
            [
                .init(.drop(.afterSending), .path("/v1/purchases"), probability: 0.1),
                .init(.latency(.pareto(minimum: .milliseconds(80), shape: 1.5))),
            ], seed: 7, wait: { _ in })
        let interceptor = Interceptor([
            InspectorFloret(),
            NoCacheFloret(),
            MapRemoteFloret([
                .init(
                    "local", from: .init(host: "api.example.com", path: "/v1/**"),
                    to: .init(protocol: .http, host: "127.0.0.1", port: 8080, path: "/v2/$1"))
            ]),
            faults,
        ])
        let transport = interceptor.transport(wrapping: network)
        interceptor.run()
        let answer = try await transport.send(HTTPRequest(method: .get, url: "https://api.example.com/v1/items"))
        #expect(answer.headers["X-Target"] == "/v2/items")
        #expect(faults.counts.map(\.hit) == [0, 1])
    }

    @Test func `the example of recording replays the recorded response, and rejects another request`() async throws {
        let scratch = try ScratchFolder()
        let folder = scratch.path
        try await FloretScene([try MockFloret(.record, folder: folder)]).send(.get, "https://api.example.com/v1/items")
        let mock = try MockFloret(
            .mock(forced: true), folder: folder,
            rules: [
                .init(.path("/v1/orders/*"), [Response(json: ["state": "pending"]), Response(json: ["state": "done"])])
            ])
        let scene = FloretScene([mock])
        #expect(try await scene.send(.get, "https://api.example.com/v1/items").status == 200)
        await #expect(throws: InterceptionError(.noMock, "")) {
            try await scene.send(.get, "https://api.example.com/v1")
        }
    }
}
