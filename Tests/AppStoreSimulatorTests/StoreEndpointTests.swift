import Foundation
import HTTPCore
import Primitives
import StoreKitAdapter
import StoreModel
import Testing

@testable import AppStoreSimulator

/// The table of endpoints, and the documents that are created from it.
struct StoreEndpointTests {
    @Test func `no two endpoints have the same name, or the same method and path`() {
        let all = StoreEndpoints.all
        #expect(Set(all.map(\.id)).count == all.count)
        #expect(Set(all.map { "\($0.method) \($0.path)" }).count == all.count)
        for endpoint in all {
            #expect(!endpoint.summary.hasSuffix(".") && endpoint.summary.first?.isUppercase == true)
            for name in endpoint.pathParameters { #expect(StoreEndpoints.pathParameters[name] != nil, "\(name)") }
        }
    }

    @Test func `each schema name has one definition`() {
        var schemas: [String: JSONValue] = [:]
        var todo = StoreEndpoints.all.flatMap { endpoint in
            [endpoint.answer, endpoint.body?.schema].compactMap(\.self).flatMap(\.named)
        }
        while let named = todo.popLast() {
            let schema = named.schema()
            if let other = schemas.updateValue(schema.json, forKey: named.name) {
                #expect(other == schema.json, "\(named.name) names two schemas")
            } else {
                todo += schema.named
            }
        }
        #expect(schemas.count > 30)
    }

    @Test func `an endpoint refuses values that its schemas do not allow`() async throws {
        try await TestStore.with { test in
            let client = StoreRoutesTests.Client(test)
            for endpoint in StoreEndpoints.all { try await Self.refuses(endpoint, client) }
        }
    }

    private static func refuses(_ endpoint: Endpoint<StoreHandler>, _ client: StoreRoutesTests.Client) async throws {
        let path = endpoint.path { _ in "nobody" }
        if let body = endpoint.body {
            for text in ["[]", "7", "nonsense", #"{"name":7,"name":8}"#] {
                let answer = try await client.ask(endpoint.method, path, text)
                #expect(answer.status == 400 && answer.json["code"] == "malformed", "\(text): \(answer.json)")
            }
            let empty = try await client.ask(endpoint.method, path)
            #expect((empty.status == 400) == !body.isOptional)
        }
        for parameter in endpoint.query where parameter.schema.json["type"] != "string" {
            for value in ["x", "", "true", "-1", "1e999", "0x1", "%FF", "1&\(parameter.name)=2"] {
                let answer = try await client.ask(endpoint.method, "\(path)?\(parameter.name)=\(value)")
                #expect(answer.status == 400 && answer.json["code"] == "malformed", "\(value): \(answer.json)")
            }
        }
        for name in endpoint.pathParameters {
            let broken = endpoint.path.replacingOccurrences(of: "{\(name)}", with: "%FF")
            let answer = try await client.ask(endpoint.method, broken)
            #expect(answer.status == 400)
        }
        let taken = StoreEndpoints.all.filter { $0.path == endpoint.path }.map(\.method)
        for method: HTTPRequest.Method in [.get, .post, .put, .patch, .delete] where !taken.contains(method) {
            let answer = try await client.ask(method, path)
            #expect(answer.status == 405 && answer.json["code"] == "method_not_allowed")
        }
    }

    @Test func `the OpenAPI document is served, with every endpoint and every schema that it refers to`() async throws {
        try await TestStore.with { test in
            let document = try await StoreRoutesTests.Client(test).ask(.get, "/openapi.json").json
            #expect(document["openapi"] == "3.1.0")
            for endpoint in StoreEndpoints.all {
                let described = document["paths"]?[endpoint.path]?[endpoint.method.rawValue.lowercased()]
                #expect(described?["operationId"]?.stringValue == endpoint.id)
                #expect(described?["responses"]?["\(endpoint.status)"] != nil)
            }
            let schemas = try #require(document["components"]?["schemas"])
            for reference in references(in: document) {
                let name = try #require(reference.split(separator: "/").last)
                #expect(reference == "#/components/schemas/\(name)" && schemas[String(name)] != nil, "\(reference)")
            }
        }
    }

    private func references(in value: JSONValue) -> [String] {
        switch value {
        case .object(let members):
            members.flatMap { $0.key == "$ref" ? [$0.value.stringValue ?? ""] : references(in: $0.value) }
        case .array(let elements): elements.flatMap(references)
        default: []
        }
    }
}

extension Endpoint<StoreHandler> {
    func matches(_ path: Substring) -> Bool {
        let (mine, other) = (self.path.split(separator: "/"), path.split(separator: "/"))
        return mine.count == other.count && zip(mine, other).allSatisfy { $0 == $1 || $0.hasPrefix("{") }
    }
}

/// The strings that each kind of text allows, and their descriptions.
struct StoreSchemaTests {
    @Test(
        arguments: [
            (
                WireSchema.period, ["P1M", "PT5M", "P9999D"],
                ["P0D", "P01M", "1M", "P1M\n", "P10000D", "P1H", "PT1D", "P٣M"]
            ),
            (.storefront, ["USA", "XXX"], ["usa", "US", "USAA", "ÄÖÜ", ""]),
            (
                .price, ["0", "0.5", "12.345", "999999"],
                ["-1", "1.", ".5", "1.2345", "1000000", "1e3", "", "01", "1.2.3"]
            ),
            (.name, ["a", "Anna B/ä"], ["", "\u{7}", "\u{85}", String(repeating: "ä", count: 128)]),
        ] as [(WireSchema, [String], [String])])
    func `each kind of text allows the same values by rule and by pattern`(
        schema: WireSchema, good: [String], bad: [String]
    ) throws {
        let pattern = schema.json["pattern"]?.stringValue.map { try? NSRegularExpression(pattern: $0) } ?? nil
        for text in good + bad {
            let isAllowed = schema.violation(.string(text)) == nil
            #expect(isAllowed == good.contains(text), "\(text)")
            guard let pattern, !text.hasSuffix("\n"), text.utf8.count < 255 else { continue }
            let matches = pattern.firstMatch(in: text, range: NSRange(text.startIndex..., in: text)) != nil
            #expect(matches == isAllowed || text.isEmpty, "\(text) and \(schema.json)")
        }
        #expect(schema.violation(7) != nil && schema.violation(nil) != nil)
    }
}
