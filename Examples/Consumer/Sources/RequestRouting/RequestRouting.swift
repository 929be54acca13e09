import Foundation
import HTTPCore

/// Calls a router in the process, without a socket.
@main
enum RequestRouting {
    static func main() async throws {
        var router = Router()
        router.on(.get, "/v1/customers/{customer}") { _, path in
            .ready(HTTPResponse(status: 200, body: .bytes(Array("Hello \(path["customer"])".utf8))))
        }
        let found = await router.respond(to: HTTPRequest(method: .get, url: "/v1/customers/a%20b")).response()
        let missing = await router.respond(to: HTTPRequest(method: .get, url: "/nowhere")).response()
        let text = String(decoding: try await found.body.collect(upTo: 1024), as: UTF8.self)
        print("\(found.status) \(text), then \(missing.status)")
        exit(text == "Hello a b" && missing.status == 404 ? 0 : 1)
    }
}
