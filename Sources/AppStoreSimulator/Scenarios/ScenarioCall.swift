import Foundation
import HTTPCore
import Primitives
import SignedData
import StoreModel

/// A request of a step: to an endpoint of the store, or to Apple's App Store Server API.
struct ScenarioCall: Sendable {
    private let method: HTTPRequest.Method
    /// The path. A placeholder `{name}` is a path parameter of the endpoint or, in Apple's API, the name of a step.
    private let path: String
    private let values: [String: String]
    private let body: JSONValue?
    /// Whether the request has the token of the app's server.
    let isOfServer: Bool
    /// Whether the response has the id of a transaction, an order or a device.
    let returnsID: Bool

    /// The members of a response that can be named.
    static let named = ["transactionID", "deviceID", "purchaseToken"]
    /// The members of a body that can be the name of a step.
    private static let namedMembers = ["oldPurchaseToken"]

    // MARK: - Endpoints of the store

    /// Reads a request to an endpoint. `place` has the members of the body and of the path. If exactly one member is
    /// required, `place` can be its value.
    init(_ endpoint: Endpoint<StoreHandler>, _ place: JSONPlace, names: Set<String>) throws {
        let shape = Shape(endpoint)
        let members: JSONMembers
        let isAlone: Bool
        if case .object(let given) = place.value {
            (members, isAlone) = (given, false)
        } else if shape.required.count == 1 {
            (members, isAlone) = ([shape.required[0]: place.value], true)
        } else {
            throw place.finding("\(endpoint.id) takes a JSON object with \(shape.words)")
        }
        var (values, body): ([String: String], JSONMembers) = ([:], [:])
        for (name, value) in members {
            let here = isAlone ? place : place.member(name)
            guard shape.path.contains(name) else {
                guard shape.takes(name) else {
                    throw here.finding("\(endpoint.id) has no member \"\(name)\"; it takes \(shape.words)")
                }
                body[name] = value
                continue
            }
            guard let text = value.stringValue, AccountName.isValid(text) else {
                throw here.finding("the \(name) should have \(AccountName.rule)")
            }
            if Self.isNamed(name) { try Self.check(text, at: here, names) }
            values[name] = text
        }
        for name in shape.path where values[name] == nil {
            throw place.member(name).finding("\(endpoint.id) needs the \(name)")
        }
        if let violation = endpoint.body?.schema.violation(.object(body)) {
            let path = isAlone ? [] : violation.path
            throw ScenarioFinding(
                pointer: path.reduce(place.pointer) { "\($0)/\(JSONPointer.escaped($1))" },
                reason: "it should be \(violation.rule)")
        }
        method = endpoint.method
        path = endpoint.path
        self.values = values
        self.body = endpoint.body == nil ? nil : .object(body)
        isOfServer = false
        returnsID = Self.named.contains { endpoint.answer?.definition.json["properties"]?[$0] != nil }
    }

    /// The members of the path and the body of an endpoint, as one object.
    private struct Shape {
        let path: [String]
        private let body: [String]
        private let isOpen: Bool
        let required: [String]

        init(_ endpoint: Endpoint<StoreHandler>) {
            path = endpoint.pathParameters
            let schema = endpoint.body?.schema.definition.json
            let properties: [String]? =
                if case .object(let members) = schema?["properties"] { members.keys } else { nil }
            body = properties ?? []
            isOpen = schema != nil && properties == nil
            required = path + (schema?["required"]?.arrayValue ?? []).compactMap(\.stringValue)
        }

        func takes(_ name: String) -> Bool { isOpen || body.contains(name) }

        var words: String {
            let all = path + body
            return all.isEmpty ? "nothing" : all.joined(separator: ", ")
        }
    }

    /// Whether a path parameter can be the name of a step.
    static func isNamed(_ parameter: String) -> Bool { ["transaction", "device", "purchase"].contains(parameter) }

    /// Throws for a string that is not the name of an earlier step and cannot be an id of the store.
    static func check(_ text: String, at place: JSONPlace, _ names: Set<String>) throws {
        guard !names.contains(text), text.first?.isLetter ?? true, UUID(text: text) == nil else { return }
        throw place.finding("no earlier step gave the name \"\(text)\"")
    }

    // MARK: - Apple's App Store Server API

    private init(
        server method: HTTPRequest.Method, _ path: String, _ body: JSONValue?, names: Set<String>,
        at place: JSONPlace
    ) throws {
        for name in Self.placeholders(in: path) where !names.contains(name) {
            throw place.finding("no earlier step gave the name \"\(name)\"")
        }
        self.method = method
        self.path = path
        self.body = body
        values = [:]
        isOfServer = true
        returnsID = false
    }

    /// Reads a request of the app's server with the members `method` (GET by default), `path` and `body`. In the path,
    /// `{name}` is the id of a named transaction.
    static func serverAPI(_ place: JSONPlace, names: Set<String>) throws -> ScenarioCall {
        try place.checkMembers(["method", "path", "body"], of: "serverAPI")
        let (method, path) = (place["method"], try place.require("path"))
        let text = try path.text(1...2000)
        guard ServerRoutes.prefixes.contains(where: { text.hasPrefix($0) }),
            text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F })
        else {
            throw path.finding("this should be a path of Apple's API, such as /inApps/v1/subscriptions/{first}")
        }
        let methods = ["GET", "POST", "PUT", "DELETE"]
        let word = method.map { $0.value.stringValue ?? "" } ?? "GET"
        guard methods.contains(word) else {
            throw place.member("method").finding("this should be one of \(methods.joined(separator: ", "))")
        }
        return try ScenarioCall(server: .init(word), text, place["body"]?.value, names: names, at: path)
    }

    /// Reads the extension of a subscription's renewal date by the app's server.
    static func extendRenewal(_ place: JSONPlace, names: Set<String>) throws -> ScenarioCall {
        try place.checkMembers(["transaction", "days", "reason"], of: "extendRenewal")
        let (transaction, days) = (try place.require("transaction"), try place.require("days"))
        let text = try transaction.text(1...64)
        try check(text, at: transaction, names)
        guard let count = days.value.intValue, (1...90).contains(count) else {
            throw days.finding("this should be a number of days from 1 to 90")
        }
        let reason = place["reason"]
        let code = reason == nil ? 0 : reason?.value.intValue
        guard let code, (0...3).contains(code) else {
            throw place.member("reason").finding("this should be Apple's extendReasonCode, 0 to 3")
        }
        return try ScenarioCall(
            server: .put, "/inApps/v1/subscriptions/extend/" + (names.contains(text) ? "{\(text)}" : text),
            [
                "extendByDays": .number(count), "extendReasonCode": .number(code),
                "requestIdentifier": .string("\(place.pointer)"),
            ], names: names, at: transaction)
    }

    private static func placeholders(in path: String) -> [String] {
        path.split(separator: "{").dropFirst().filter { $0.contains("}") }.map { part in
            String(part.prefix { $0 != "}" })
        }
    }

    // MARK: - Request

    /// Replaces the names of steps by their ids.
    private static func naming(_ body: JSONValue, _ names: [String: String]) -> JSONValue {
        guard case .object(var members) = body else { return body }
        for member in namedMembers {
            if let id = members[member]?.stringValue.flatMap({ names[$0] }) { members[member] = .string(id) }
        }
        return .object(members)
    }

    /// Creates the request. `names` has the ids by the names of steps; `token` returns the app server's bearer token.
    func request(_ names: [String: String], token: () throws -> String) throws -> HTTPRequest {
        var url = path
        for name in Self.placeholders(in: path) {
            let value = isOfServer ? name : values[name] ?? ""
            let known = isOfServer || Self.isNamed(name) ? names[value] ?? value : value
            url = url.replacingOccurrences(of: "{\(name)}", with: PercentEncoding.encode(known))
        }
        var request = HTTPRequest(method: method, url: url)
        if let body {
            request.headers["Content-Type"] = "application/json"
            request.body = .json(isOfServer ? body : Self.naming(body, names))
        }
        if isOfServer { request.headers["Authorization"] = "Bearer \(try token())" }
        return request
    }
}
