import NetworkInterception

/// Records a request to a server in this process.
@main
enum TrafficRecording {
    static func main() async throws {
        let server = AnyHTTPHandler { _ in .ready(HTTPResponse(status: 204)) }
        let interceptor = Interceptor([])
        interceptor.run()
        let transport = interceptor.transport(wrapping: InProcessTransport(server))
        _ = try await transport.send(HTTPRequest(method: .get, url: "http://shop.example/plans"))
        for record in await interceptor.storage.records(10, after: nil) {
            print("\(record.originalRequest.method) \(record.originalRequest.url) \(record.response?.status ?? 0)")
        }
    }
}
