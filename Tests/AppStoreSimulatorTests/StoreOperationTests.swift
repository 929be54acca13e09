import Foundation
import HTTPCore
import Primitives
import StoreKitAdapter
import StoreModel
import Testing

@testable import AppStoreSimulator

/// The table of operations, and what is made of it.
struct StoreOperationTests {
    @Test func `every operation has a name and a path of its own`() {
        let all = StoreOperation.all
        #expect(Set(all.map(\.id)).count == all.count)
        #expect(Set(all.map { "\($0.method) \($0.path)" }).count == all.count)
        for operation in all {
            #expect(!operation.summary.hasSuffix(".") && operation.summary.first?.isUppercase == true)
            for name in operation.pathParameters { #expect(StoreOperation.parameters[name] != nil, "\(name)") }
        }
    }

    @Test func `one name is one schema`() {
        var schemas: [String: JSONValue] = [:]
        var todo = StoreOperation.all.flatMap { operation in
            ([operation.answer] + (operation.body.map { [$0.model] } ?? [])).flatMap { WireSchema.of($0).named }
        }
        while let named = todo.popLast() {
            let schema = named.schema()
            if let other = schemas.updateValue(schema.json, forKey: named.name) {
                #expect(other == schema.json, "\(named.name) is the name of two")
            } else {
                todo += schema.named
            }
        }
        #expect(schemas.count > 30)
    }

    @Test func `an operation refuses what its schemas do not allow`() async throws {
        try await TestStore.with { test in
            let client = StoreRoutesTests.Client(test)
            for operation in StoreOperation.all { try await Self.refuses(operation, client) }
        }
    }

    private static func refuses(_ operation: StoreOperation, _ client: StoreRoutesTests.Client) async throws {
        let path = operation.pathParameters.reduce(operation.path) {
            $0.replacingOccurrences(of: "{\($1)}", with: "nobody")
        }
        if let body = operation.body {
            for text in ["[]", "7", "nonsense", #"{"name":7,"name":8}"#] {
                let answer = try await client.ask(operation.method, path, text)
                #expect(answer.status == 400 && answer.json["code"] == "malformed", "\(text): \(answer.json)")
            }
            let empty = try await client.ask(operation.method, path)
            #expect((empty.status == 400) == !body.isOptional)
        }
        for parameter in operation.query where parameter.schema.json["type"] != "string" {
            for value in ["x", "", "true", "-1", "1e999", "0x1", "%FF", "1&\(parameter.name)=2"] {
                let answer = try await client.ask(operation.method, "\(path)?\(parameter.name)=\(value)")
                #expect(answer.status == 400 && answer.json["code"] == "malformed", "\(value): \(answer.json)")
            }
        }
        for name in operation.pathParameters {
            let broken = operation.path.replacingOccurrences(of: "{\(name)}", with: "%FF")
            let answer = try await client.ask(operation.method, broken)
            #expect(answer.status == 400)
        }
        let taken = StoreOperation.all.filter { $0.path == operation.path }.map(\.method)
        for method: HTTPRequest.Method in [.get, .post, .put, .patch, .delete] where !taken.contains(method) {
            let answer = try await client.ask(method, path)
            #expect(answer.status == 405 && answer.json["code"] == "method_not_allowed")
        }
    }

    @Test func `the document is served and holds every operation with what it refers to`() async throws {
        try await TestStore.with { test in
            let document = try await StoreRoutesTests.Client(test).ask(.get, "/openapi.json").json
            #expect(document["openapi"] == "3.1.0")
            for operation in StoreOperation.all {
                let described = document["paths"]?[operation.path]?[operation.method.rawValue.lowercased()]
                #expect(described?["operationId"]?.stringValue == operation.id)
                #expect(described?["responses"]?["\(operation.status)"] != nil)
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

    @Test func `the documentation lists every operation and no other`() throws {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("Documentation/ControlAPI.md")
        let text = try String(contentsOf: file, encoding: .utf8)
        let rows = text.split(separator: "\n").filter { $0.hasPrefix("| `") && $0.contains("` `/") }.map(String.init)
        #expect(rows == StoreOperation.all.map(\.documentationRow))
    }
}

extension StoreOperation {
    /// Its row in `Documentation/ControlAPI.md`.
    fileprivate var documentationRow: String {
        func name(_ model: any WireModel.Type) -> String { "`\(model.schemaName)`" }
        let asked = query.isEmpty ? "" : "?" + query.map(\.name).joined(separator: "&")
        let question = body.map { name($0.model) + ($0.isOptional ? " or nothing" : "") } ?? ""
        let answered = (200..<300).contains(status) ? "\(status) \(name(answer))" : "\(status)"
        return "| `\(method)` `\(path)\(asked)` | \(summary) | \(question) | \(answered) |"
    }

    func matches(_ path: Substring) -> Bool {
        let (mine, other) = (self.path.split(separator: "/"), path.split(separator: "/"))
        return mine.count == other.count && zip(mine, other).allSatisfy { $0 == $1 || $0.hasPrefix("{") }
    }
}

/// What the store's own kinds of texts allow, beside what they say.
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
    func `a text is what its kind allows, by rule and by pattern`(
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
