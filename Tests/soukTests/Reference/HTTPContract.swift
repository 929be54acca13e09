import CurlTransport
import Foundation
import HTTPCore
import Primitives
import Testing

/// The contract of a running program, from its OpenAPI document.
struct HTTPContract {
    typealias TableRow = (name: String, cells: [String?])

    private let document: JSONValue

    /// Requests the document from the program that listens at `url`.
    init(url: String) async throws {
        let response = try await CurlTransport.platformDefault().send(
            HTTPRequest(method: .get, url: url + "/openapi.json"))
        document = try await response.body.json(upTo: 4 << 20)
        try #require(!operations.isEmpty, "the OpenAPI document has no operation")
    }

    // MARK: - Operations

    private struct Operation {
        let name: String
        let json: JSONValue

        var parameters: [JSONValue] { json["parameters"]?.arrayValue ?? [] }

        var responses: [(status: Int, json: JSONValue)] {
            members(of: json["responses"]).compactMap { status, json in Int(status).map { ($0, json) } }
        }

        /// The codes of each status of a refusal.
        var codes: [(status: Int, codes: [String])] {
            responses.filter { $0.status >= 400 }.map { status, json in
                (status, (json["description"]?.stringValue ?? "").components(separatedBy: ", "))
            }.sorted { $0.0 < $1.0 }
        }

        func names(_ place: String) -> [String] {
            parameters.filter { $0["in"]?.stringValue == place }.compactMap { $0["name"]?.stringValue }
        }
    }

    private var operations: [Operation] {
        members(of: document["paths"]).flatMap { path, item in
            members(of: item).compactMap { method, json in
                method == "parameters" ? nil : Operation(name: "`\(method.uppercased()) \(path)`", json: json)
            }
        }
    }

    /// Headers with their own section on the page, because most operations have them.
    private static let commonHeaders: Set<String> = ["Souk-Environment", "Souk-Request-Id", "Retry-After"]

    /// The row of each operation: a handwritten description, then its request, its response and its errors.
    ///
    /// - Parameter common: the codes that the rows omit.
    func operationRows(leavingOut common: Set<String>) -> [TableRow] {
        operations.map { operation in
            let who = document["components"]?["securitySchemes"].map { _ in Self.caller(of: operation.json) }
            let cells: [String?] = [
                nil, who, Self.taken(by: operation), Self.answer(of: operation), Self.refusals(of: operation, common),
            ]
            return (operation.name, who == nil ? cells.enumerated().filter { $0.offset != 1 }.map(\.element) : cells)
        }
    }

    private static func caller(of operation: JSONValue) -> String {
        let ways = operation["security"]?.arrayValue?.map { Set(members(of: $0).map(\.key)) }
        return switch ways {
        case nil: "open"
        case [["secretKey"]]: "secret"
        case [["secretKey"], ["key", "customerToken"]]: "customer"
        case [["key"], ["key", "customerToken"]]: "public"
        case [["apiKey"], ["key"], ["key", "customerToken"]]: "public, `x-api-key`"
        case let other?: "\(other)"
        }
    }

    private static func taken(by operation: Operation) -> String {
        var parts: [String] = []
        let body = operation.json["requestBody"]
        for (_, content) in members(of: body?["content"]) {
            parts.append("`\(schemaText(content["schema"]))`" + (body?["required"] == false ? " or nothing" : ""))
        }
        let query = operation.names("query")
        if !query.isEmpty { parts.append("`?\(query.joined(separator: "&"))`") }
        parts += operation.names("header").filter { !commonHeaders.contains($0) }.map { "`\($0)`" }
        return parts.isEmpty ? "–" : parts.joined(separator: ", ")
    }

    private static func answer(of operation: Operation) -> String {
        operation.responses.filter { $0.status < 400 }.map { status, json in
            var text = "\(status)"
            for (type, content) in members(of: json["content"]) {
                text += type == "application/json" ? " `\(schemaText(content["schema"]))`" : " `\(type)`"
            }
            let headers = members(of: json["headers"]).map(\.key).filter { !commonHeaders.contains($0) }
            return ([text] + headers.map { "`\($0)`" }).joined(separator: ", ")
        }.joined(separator: "; ")
    }

    private static func refusals(of operation: Operation, _ common: Set<String>) -> String {
        let parts = operation.codes.compactMap { status, codes -> String? in
            let own = codes.map { isCode($0) ? "`\($0)`" : $0 }.filter { !common.contains($0) }
            return own.isEmpty ? nil : "\(status) \(own.joined(separator: ", "))"
        }
        return parts.isEmpty ? "–" : parts.joined(separator: "; ")
    }

    private static func isCode(_ text: String) -> Bool { !text.contains(" ") }

    // MARK: - Codes, headers and schemas

    /// The codes of all operations, each with its statuses.
    var codes: [String: Set<Int>] {
        var all: [String: Set<Int>] = [:]
        for (status, codes) in operations.flatMap(\.codes) {
            for code in codes where Self.isCode(code) { all[code, default: []].insert(status) }
        }
        return all
    }

    /// The names of all headers of requests and answers.
    var headers: Set<String> {
        Set(
            operations.flatMap { operation in
                operation.names("header")
                    + operation.responses.flatMap { members(of: $0.json["headers"]).map(\.key) }
            })
    }

    /// The row of each named schema.
    var schemaRows: [TableRow] {
        members(of: document["components"]?["schemas"]).map { ("`\($0.key)`", [Self.summary(of: $0.value)]) }
    }

    private static func summary(of schema: JSONValue) -> String {
        let alternatives = (schema["properties"] == nil ? [] : schema["oneOf"]?.arrayValue ?? []).compactMap {
            $0["required"]?.arrayValue?.first?.stringValue
        }
        let rule =
            alternatives.isEmpty ? "" : ", exactly one of " + alternatives.map { "`\($0)`" }.joined(separator: ", ")
        return "`\(schemaText(schema))`\(rule)"
    }

    /// A schema in short: `{name: text, until?: date, products: [Product]}`.
    private static func schemaText(_ schema: JSONValue?) -> String {
        guard let schema else { return "any" }
        if let reference = schema["$ref"]?.stringValue { return reference.components(separatedBy: "/").last ?? "" }
        if let choices = schema["anyOf"]?.arrayValue
            ?? (schema["properties"] == nil ? schema["oneOf"]?.arrayValue : nil)
        {
            return choices.map(schemaText).joined(separator: " or ")
        }
        if let values = schema["enum"]?.arrayValue {
            return values.map { $0.stringValue ?? $0.text() }.joined(separator: "/")
        }
        if let types = schema["type"]?.arrayValue {
            return types.map { schemaText(["type": $0]) }.joined(separator: " or ")
        }
        switch schema["type"]?.stringValue {
        case "array": return "[\(schemaText(schema["items"]))]"
        case "string": return ["date-time": "date", "byte": "base64"][schema["format"]?.stringValue] ?? "text"
        case "object":
            let required = Set(schema["required"]?.arrayValue?.compactMap(\.stringValue) ?? [])
            guard schema["properties"] != nil else {
                return schema["additionalProperties"].map { "{name: \(schemaText($0))}" } ?? "object"
            }
            let texts = members(of: schema["properties"]).map { name, value in
                "\(name)\(required.contains(name) ? "" : "?"): \(schemaText(value))"
            }
            return "{\(texts.joined(separator: ", "))}"
        default: return schema["type"]?.stringValue ?? "any"
        }
    }
}

/// The members of an object in their order; none for anything else.
private func members(of value: JSONValue?) -> JSONMembers {
    if case .object(let members)? = value { members } else { [:] }
}
