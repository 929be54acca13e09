import NetworkInterception
import Testing

/// The example of Documentation/Interception.md about secrets of one's own, run.
@Suite struct CarefulExampleTests {
    @Test func `a configuration takes out what it names`() async throws {
        let interceptor = Interceptor([], configuration: careful())
        interceptor.run()
        let network = InProcessTransport(AnyHTTPHandler { _ in .ready(HTTPResponse(status: 204)) })
        let request = HTTPRequest(
            method: .put, url: "http://a.example/v1/passport?invite=hush", headers: ["X-Session": "hush"],
            body: .text("hush"))
        _ = try await interceptor.transport(wrapping: network).send(request)
        let record = try #require(await interceptor.storage.records(1, after: nil).first)
        #expect(record.designatedRequest.body.length == 0)
        #expect(!"\(record.designatedRequest)".contains("hush"))
    }
}
