import Foundation
import HTTPCore
import HTTPListener

/// Starts a server on a free port, and sends it a request with the platform's own client.
@main
enum EchoServer {
    static func main() async throws {
        let echo = AnyHTTPHandler { request in .ready(HTTPResponse(status: 200, body: request.body)) }
        let listener = HTTPListener(handler: echo)
        let address = try listener.start()
        let answer = try await URLSessionTransport().send(
            HTTPRequest(method: .post, url: "\(address.url)/echo", body: .bytes([1, 2, 3])))
        let bytes = try await answer.body.collect(upTo: 1024)
        await listener.stop()
        print("\(answer.status), \(bytes.count) bytes")
        exit(bytes == [1, 2, 3] ? 0 : 1)
    }
}
