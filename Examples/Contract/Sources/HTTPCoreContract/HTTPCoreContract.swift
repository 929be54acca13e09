import HTTPCore

struct Echo: HTTPTransport {
    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        HTTPResponse(status: 200, headers: request.headers, body: request.body)
    }
}

func http(through transport: any HTTPTransport) async throws {
    var request = HTTPRequest(method: .post, url: "http://127.0.0.1/a?b", headers: ["A": "1"], body: .bytes([1, 2]))
    request.method = .get
    request.url += "&c"
    request.headers["Accept"] = "application/json"
    request.body = .empty
    let plain = HTTPRequest(method: .get, url: "/")
    let method: HTTPRequest.Method = plain.method

    var response: HTTPResponse = try await transport.send(request)
    response.status = 404
    response.headers.add("Set-Cookie", "a=1")
    response.body = .bytes([3])
    let bare = HTTPResponse(status: 204)

    let headers: HTTPHeaders = ["Accept": "a", "accept": "b"]
    let first: String? = headers["ACCEPT"]
    let all: [String] = headers.values("accept")

    switch response.body {
    case .bytes(let bytes): requireSendable(bytes)
    case .stream(let stream):
        let stream: HTTPBodyStream = stream
        requireSendable(stream)
    }
    let collected: [UInt8] = try await response.body.collect(upTo: 1024)
    let empty: HTTPBody = .empty
    requireSendable(request, response, bare, method, first, all, collected, empty)
}

func requireSendable<each Value: Sendable>(_ values: repeat each Value) {}
