import Foundation
import HTTPCore
import Primitives
import Testing

@testable import EntitlementServer

/// The descriptions of the endpoints in the document.
@Suite struct DocumentTests {
    private func endpoints(_ bench: ServerBench) async throws -> [(method: String, path: String, operation: JSONValue)]
    {
        let document = try await bench.send(.get, "/openapi.json", as: .none).json
        guard case .object(let paths)? = document["paths"] else { return [] }
        return paths.flatMap { path, item -> [(String, String, JSONValue)] in
            guard case .object(let operations) = item else { return [] }
            return operations.filter { $0.key != "parameters" }.map { ($0.key, path, $0.value) }
        }
    }

    @Test func `the document describes every endpoint once, and no other`() async throws {
        let bench = try await ServerBench { $0.servesMetrics = true }
        let described = try await endpoints(bench).compactMap { $0.operation["operationId"]?.stringValue }
        #expect(described.count > 25 && Set(described).count == described.count)
        #expect(Set(described) == Set(bench.service.endpoints.map(\.id)))
        await bench.close()
    }

    @Test func `the document has the access rules of the endpoints`() async throws {
        let bench = try await ServerBench()
        for (method, path, operation) in try await endpoints(bench) {
            let method = HTTPRequest.Method(rawValue: method.uppercased())
            let url = path.replacingOccurrences(of: "{", with: "").replacingOccurrences(of: "}", with: "")
            let answer = try await bench.send(method, url, as: .none)
            let isOpen = operation["security"] == nil
            #expect((answer.code == "missing_key") == !isOpen, "\(method) \(path)")
            guard !isOpen, operation["security"]?.arrayValue == [["secretKey": []]] else { continue }
            #expect(try await bench.send(method, url).code == "secret_key_required", "\(method) \(path)")
        }
        await bench.close()
    }

    @Test func `every reference resolves, and every link leads to an operation and its parameters`() async throws {
        let bench = try await ServerBench()
        let document = try await bench.send(.get, "/openapi.json", as: .none).json
        let schemas = try #require(document["components"]?["schemas"])
        for reference in Self.references(in: document) {
            let name = try #require(reference.split(separator: "/").last.map(String.init))
            #expect(reference == "#/components/schemas/\(name)" && schemas[name] != nil, "\(reference)")
        }
        let all = try await endpoints(bench)
        var links = 0
        for (_, _, operation) in all {
            for response in operation["responses"]?.objectValue?.values.map({ $0 }) ?? [] {
                for link in response["links"]?.objectValue?.values.map({ $0 }) ?? [] {
                    let target = all.first { $0.operation["operationId"] == link["operationId"] }
                    let path = try #require(target?.path)
                    for name in link["parameters"]?.objectValue?.keys.map({ $0 }) ?? [] {
                        #expect(path.contains("{\(name)}"), "\(path)")
                    }
                    links += 1
                }
            }
        }
        #expect(links > 10)
        await bench.close()
    }

    private static func references(in value: JSONValue) -> [String] {
        switch value {
        case .object(let members):
            members.flatMap { $0.key == "$ref" ? [$0.value.stringValue ?? ""] : references(in: $0.value) }
        case .array(let elements): elements.flatMap(references)
        default: []
        }
    }

    @Test func `the document is served as YAML too`() async throws {
        let bench = try await ServerBench()
        let answer = try await bench.send(.get, "/openapi.yaml", as: .none)
        #expect(answer.headers["Content-Type"] == "application/yaml")
        #expect(String(decoding: answer.bytes, as: UTF8.self).hasPrefix("openapi: \"3.1.0\"\n"))
        let shown = try await bench.send(.get, "/openapi.yaml", as: .none, headers: ["Accept": "text/html,*/*;q=0.8"])
        #expect(shown.headers["Content-Type"] == "text/plain; charset=utf-8" && shown.bytes == answer.bytes)
        #expect(shown.headers["Content-Disposition"] == "inline")
        await bench.close()
    }
}
