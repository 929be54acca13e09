import CurlTransport
import HTTPCore
import HTTPListener
import NetworkInterception

@main
enum Florets {
    static func main() async throws {
        let server = HTTPListener(
            handler: AnyHTTPHandler { request in
                .ready(HTTPResponse(status: 200, body: .text("run \(request.headers["X-Run"] ?? "unknown")")))
            })
        let address = try server.start()

        let chart = LatencyChart()
        let interceptor = Interceptor([HeaderStamp(run: "7"), ResponseCache(lifetime: 60), chart])
        let transport = interceptor.transport(wrapping: CurlTransport())
        interceptor.run()

        for path in ["/a", "/a", "/b"] {
            let answer = try await transport.send(HTTPRequest(method: .get, url: address.url + path))
            print("\(path): \(String(decoding: try await answer.body.collect(upTo: 1000), as: UTF8.self))")
        }
        for record in await interceptor.storage.records(10, after: nil).reversed() {
            let changes = record.changes.map { "\($0.floret) \($0.kind)" }.joined(separator: ", ")
            print("\(record.originalRequest.path): \(changes)")
        }
        print(chart.view(interceptor)?.text() ?? "")
        await server.stop()
    }
}
