import HTTPCore
import Primitives

/// Sends requests that were written or edited on the page.
extension InspectorPage {
    private static let requestLimit = 8 << 20
    private static let answerLimit = 256 << 20

    /// `POST api/records/{id}/resend` `{method?, url?, headers?, body?}`: absent members keep their recorded values,
    /// including a binary body. Redacted headers are left out.
    func resend(_ request: HTTPRequest, _ path: PathParameters) async throws -> HTTPResponse {
        let record = try await record(path)
        let change = try await Self.change(in: request)
        if change["body"] == nil, record.bodies.original?.isCut == true {
            throw HTTPProblem(
                status: 409, code: "body_cut", title: "Body cut",
                detail: "Only the first bytes of this request's body were recorded. Write another body.")
        }
        return try await send(Self.request(change, from: record.originalRequest))
    }

    /// `POST api/requests` `{method, url, headers?, body?}`.
    func sendNew(_ request: HTTPRequest) async throws -> HTTPResponse {
        try await send(Self.request(try await Self.change(in: request), from: HTTPRequest(method: .get, url: "")))
    }

    /// Returns `{id, status?, error?}` after the response was read, up to `answerLimit`.
    private func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        guard let transport = configuration.transport else {
            throw HTTPProblem(
                status: 409, code: "no_transport", title: "No transport",
                detail: "This inspector has no transport, so it cannot send requests.")
        }
        let record = Record(request)
        guard interceptor.isRunning, let florets = interceptor.florets(for: record) else {
            throw HTTPProblem(
                status: 409, code: "not_recorded", title: "Not recorded",
                detail: "The request would not be recorded: the interceptor is paused or does not select it.")
        }
        var answer: JSONValue = ["id": .string(record.id.uuidString)]
        do {
            let response = try await Exchange(florets, interceptor).run(record, over: transport)
            answer["status"] = .number(response.status)
            if case .stream(let stream) = response.body {
                var read = 0
                while read < Self.answerLimit, let chunk = try await stream.next() { read += chunk.count }
                stream.cancel()
            }
        } catch {
            answer["error"] = .string(interceptor.configuration.redaction.redacted("\(error)"))
        }
        await interceptor.settled()
        return HTTPResponse(json: answer)
    }

    private static func change(in request: HTTPRequest) async throws -> JSONValue {
        guard let json = try? await request.body.json(upTo: requestLimit), json.objectValue != nil else {
            throw HTTPProblem.invalid("body", "The body is a JSON object with method, url, headers and body.")
        }
        return json
    }

    /// Returns the request with the members of `change`. Throws an `HTTPProblem` that names the field.
    private static func request(_ change: JSONValue, from original: HTTPRequest) throws -> HTTPRequest {
        var request = HTTPRequest(
            method: .init(try text("method", change) ?? original.method.rawValue),
            url: try text("url", change) ?? original.url, headers: original.headers, body: original.body)
        guard request.method.rawValue.isHTTPToken else {
            throw HTTPProblem.invalid("method", "method is a word such as GET or POST.")
        }
        let scheme = request.url.prefix { $0 != ":" }.lowercased()
        guard ["http", "https"].contains(scheme), !(request.authority ?? "").isEmpty,
            request.url.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F })
        else {
            throw HTTPProblem.invalid("url", "url is an http or https URL with a host, percent-encoded.")
        }
        guard !Redaction.isRedacted(request.url) else {
            throw HTTPProblem.invalid("url", "A part of the URL was redacted; write its value.")
        }
        if let headers = change["headers"] { request.headers = try Self.headers(headers) }
        // The transport computes these headers; redacted values are unknown.
        for name in ["Content-Length", "Transfer-Encoding", "Host", "Connection"] { request.headers[name] = nil }
        request.headers.fields.removeAll { Redaction.isRedacted($0.value) }
        if let body = try text("body", change) { request.body = .text(body) }
        return request
    }

    private static func headers(_ json: JSONValue) throws -> HTTPHeaders {
        let fields = (json.arrayValue ?? [nil]).map { line -> HTTPHeaders.Field? in
            guard let name = line[0]?.stringValue, let value = line[1]?.stringValue else { return nil }
            return HTTPHeaders.Field(name: name, value: value)
        }
        guard !fields.contains(nil) else {
            throw HTTPProblem.invalid("headers", "headers is an array of pairs of name and value.")
        }
        let headers = HTTPHeaders(fields.compactMap { $0 })
        do { try headers.validate() } catch { throw HTTPProblem.invalid("headers", error.reason) }
        return headers
    }

    /// An optional member that must be a string.
    private static func text(_ field: String, _ json: JSONValue) throws -> String? {
        guard let value = json[field], !value.isNull else { return nil }
        guard let text = value.stringValue else { throw HTTPProblem.invalid(field, "\(field) must be a string.") }
        return text
    }
}
