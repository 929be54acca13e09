import Foundation
import HTTPCore
import NetworkInterception
import PluginHub
import Primitives
import Testing

@Suite struct InspectorFloretTests {
    private let inspector = InspectorFloret()

    private func rows(_ scene: FloretScene) -> [String] {
        inspector.view(scene.interceptor)?.sections.last?.rows.map { "\($0.label)" } ?? []
    }

    @Test func `records are shown page by page, newest first`() async throws {
        let scene = FloretScene([inspector])
        for number in 1...45 { try await scene.send(.get, "http://a/\(number)") }
        try await scene.perform(inspector, "inspector.refresh")
        #expect(rows(scene) == (26...45).reversed().map { "GET http://a/\($0)" })
        try await scene.perform(inspector, "inspector.older")
        try await scene.perform(inspector, "inspector.older")
        #expect(rows(scene) == (1...5).reversed().map { "GET http://a/\($0)" })
        #expect(inspector.view(scene.interceptor)?.sections.last?.actions.map(\.id) == ["inspector.refresh"])
    }

    @Test func `a query selects records, and it applies to the next page too`() async throws {
        let scene = FloretScene([inspector]) { request in Response(status: request.method == .put ? 418 : 200) }
        try await scene.send(.get, "http://a/Apples", headers: ["X-Own": "one two"])
        try await scene.send(.put, "http://a/pears")
        let view = try #require(inspector.view(scene.interceptor))
        let queries = [
            ("aPPLE", ["GET http://a/Apples"]), ("418", ["PUT http://a/pears"]), ("none", []),
            ("method:put status:4xx host:a pears", ["PUT http://a/pears"]), ("method:put apples", []),
            ("\"x-own: one two\"", ["GET http://a/Apples"]), ("", ["PUT http://a/pears", "GET http://a/Apples"]),
        ]
        for (text, found) in queries {
            try await inspector.perform(view.action(setting: "search", to: .string(text)), in: scene.interceptor)
            #expect(rows(scene) == found)
        }
        for number in 1...25 { try await scene.send(.put, "http://a/\(number)") }
        try await inspector.perform(view.action(setting: "search", to: "status:200"), in: scene.interceptor)
        #expect(rows(scene) == ["GET http://a/Apples"])
        try await inspector.perform(view.action(setting: "search", to: "status:418"), in: scene.interceptor)
        try await scene.perform(inspector, "inspector.older")
        #expect(rows(scene) == (1...5).reversed().map { "PUT http://a/\($0)" } + ["PUT http://a/pears"])
    }

    @Test func `a record is shown in detail, and the list can be shown again`() async throws {
        let mapping = MapRemoteFloret([.init("m", from: .init(), to: .init(host: "b"))])
        let scene = FloretScene([mapping, inspector]) { _ in Response(json: ["name": "anna"]) }
        try await scene.send(.post, "http://a/x", headers: ["X-Own": "1"], body: .text("hello"))
        try await scene.perform(inspector, "inspector.refresh")
        let list = try #require(inspector.view(scene.interceptor))
        let action = try #require(list.sections.last?.rows.first?.action)
        try await inspector.perform(action, in: scene.interceptor)
        let detail = try #require(inspector.view(scene.interceptor)).sections
        #expect(detail[0].rows.contains(.text("URL", "http://b/x")))
        #expect(detail[0].rows.contains(.text("Original URL", "http://a/x")))
        #expect(detail[0].rows.contains(.text("X-Own", "1")) && detail[0].rows.contains(.text("Content", "hello")))
        #expect(detail[1].rows.contains(.text("Outcome", "200")))
        #expect(detail[1].rows.contains(.text("Content", "{\n  \"name\": \"anna\"\n}")))
        #expect(detail[1].rows.contains(.text("MapRemoteFloret", "changedRequest")))
        try await scene.perform(inspector, "inspector.list")
        #expect(rows(scene) == ["POST http://b/x"])
    }

    @Test func `a failure is shown with its error code, and an unknown record is rejected`() async throws {
        let scene = FloretScene([FaultFloret([.init(.drop(.beforeSending))]), inspector])
        _ = try? await scene.send()
        try await scene.perform(inspector, "inspector.refresh")
        let row = try #require(inspector.view(scene.interceptor)?.sections.last?.rows.first)
        #expect(row == .text(row.label, "connectionFailed", id: row.id, action: row.action))
        for id in ["nothing", UUID().uuidString] {
            await #expect(throws: InterceptionError(.invalidSetting, "")) {
                try await scene.perform(inspector, "inspector.show", ["record": .string(id)])
            }
        }
    }
}
