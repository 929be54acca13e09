import Foundation
import HTTPCore
import Primitives

/// Records as a Postman collection (format 2.1). Each request has its response, if there is one.
///
///     let file = PostmanCollection(records, name: "Checkout").encoded()
public struct PostmanCollection: Sendable {
    /// The collection as JSON.
    public let json: JSONValue

    /// Creates a collection.
    ///
    /// - Parameters:
    ///   - records: The records, in the order of the collection.
    ///   - name: The name that Postman shows.
    ///   - id: The id of the collection. Postman treats two collections with the same id as one.
    public init(_ records: [Record], name: String, id: UUID = UUID()) {
        json = [
            "info": [
                "_postman_id": .string(id.uuidString.lowercased()), "name": .string(name),
                "schema": "https://schema.getpostman.com/json/collection/v2.1.0/collection.json",
            ],
            "item": .array(records.map(Self.item)),
        ]
    }

    /// Returns the content of the file.
    public func encoded() -> [UInt8] { Array((json.text(pretty: true) + "\n").utf8) }

    private static func item(_ record: Record) -> JSONValue {
        let request = request(record.designatedRequest)
        let title = "\(record.designatedRequest.method) \(record.designatedRequest.path)"
        var responses: [JSONValue] = []
        if let response = record.response {
            var members: JSONMembers = [
                "name": .string("\(response.status)"), "originalRequest": request, "code": .number(response.status),
                "header": headers(response.headers),
            ]
            if let body = response.body.buffered.flatMap({ String(utf8: $0) }) {
                members["body"] = .string(body)
            }
            responses.append(.object(members))
        }
        return ["name": .string(title), "request": request, "response": .array(responses)]
    }

    private static func request(_ request: HTTPRequest) -> JSONValue {
        var members: JSONMembers = [
            "method": .string(request.method.rawValue), "header": headers(request.headers), "url": url(request),
        ]
        if let body = request.body.buffered, !body.isEmpty { members["body"] = self.body(body, request.headers) }
        return .object(members)
    }

    private static func headers(_ headers: HTTPHeaders) -> JSONValue {
        .array(headers.fields.map { ["key": .string($0.name), "value": .string($0.value)] })
    }

    /// The parts of the URL without decoding, as in Postman's format. The colons of an IPv6 address do not begin a
    /// port.
    private static func url(_ request: HTTPRequest) -> JSONValue {
        var members: JSONMembers = ["raw": .string(request.url)]
        if let mark = request.url.firstRange(of: "://") {
            members["protocol"] = .string(String(request.url[..<mark.lowerBound]))
        }
        if let authority = request.authority {
            let port = authority.hasSuffix("]") ? nil : authority.lastIndex(of: ":")
            let host = port.map { String(authority[..<$0]) } ?? authority
            members["host"] = .array(
                (host.hasPrefix("[") ? [host] : host.split(separator: ".").map(String.init)).map(JSONValue.string))
            if let port { members["port"] = .string(String(authority[authority.index(after: port)...])) }
        }
        members["path"] = .array(
            request.path.dropFirst().split(separator: "/", omittingEmptySubsequences: false).map { .string(String($0)) }
        )
        if let mark = request.target.firstIndex(of: "?") {
            let query = request.target[request.target.index(after: mark)...]
            members["query"] = .array(
                query.split(separator: "&").map { item in
                    let halves = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                    return [
                        "key": .string(String(halves[0])),
                        "value": halves.count == 2 ? .string(String(halves[1])) : .null,
                    ]
                })
        }
        return .object(members)
    }

    private static func body(_ body: [UInt8], _ headers: HTTPHeaders) -> JSONValue {
        guard let text = String(utf8: body) else {
            return ["mode": "file", "file": ["src": .null]]
        }
        let type = (headers["Content-Type"] ?? "").lowercased()
        if type.hasPrefix("application/x-www-form-urlencoded"), let form = HTTPQuery(parsing: text) {
            return [
                "mode": "urlencoded",
                "urlencoded": .array(form.items.map { ["key": .string($0.name), "value": .string($0.value)] }),
            ]
        }
        var members: JSONMembers = ["mode": "raw", "raw": .string(text)]
        if type.contains("json") { members["options"] = ["raw": ["language": "json"]] }
        return .object(members)
    }
}
