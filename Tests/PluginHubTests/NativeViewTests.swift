import Foundation
import Testing

@testable import PluginHub

/// The part of the SwiftUI and UIKit adapters that needs neither framework: a plugin's own view passes through the hub.
@Suite struct NativeViewTests {
    private struct Drawn: Sendable, Equatable { let number: Int }

    /// In apps the main actor runs on the main thread, but not under the test runner on Linux.
    private func screen(isOnMainActor: Bool) throws -> (Hub, ScriptedPlugin) {
        let hub = Hub()
        hub.register(.sending("Screen", .viewQuery, "info.show"))
        hub.register(
            .taking("Artist", .viewQuery, "info.show"),
            .init(onViewQuery: { _, query, payload in
                try NativeView.document(for: query, isOnMainActor: isOnMainActor) {
                    Drawn(number: try payload.require("n", as: Int.self))
                }
            }))
        #expect(hub.start().findings.isEmpty)
        return (hub, try hub.scripted("Screen"))
    }

    @MainActor @Test func `a plugin's own view travels with the document and is not part of its value`() throws {
        let (hub, screen) = try screen(isOnMainActor: true)
        let document = try screen.viewQuery("info.show", ["n": 3])
        #expect(document.native.view as? Drawn == Drawn(number: 3))
        #expect(document == ViewDocument(title: "info.show"))
        #expect(document.hashValue == ViewDocument(title: "info.show").hashValue)
        #expect(try JSONValue(encoding: document) == ["title": "info.show", "sections": []])
        withExtendedLifetime(hub) {}
    }

    @MainActor @Test func `an error of the plugin's view reaches the sender`() throws {
        let (hub, screen) = try screen(isOnMainActor: true)
        #expect(throws: PluginError(.missingField, "")) { _ = try screen.viewQuery("info.show") }
        withExtendedLifetime(hub) {}
    }

    @Test func `off the main actor there is no view`() throws {
        let (hub, screen) = try screen(isOnMainActor: false)
        #expect(throws: PluginError(.viewUnavailable, "")) { _ = try screen.viewQuery("info.show", ["n": 3]) }
        withExtendedLifetime(hub) {}
    }

    @Test func `an action is sent as the command that it names, if the policies permit the command`() throws {
        let hub = Hub(configuration: .init(isPartialSet: true))
        let got = Journal<String>()
        hub.register(.sending("Screen", .command, "mock.configure"))
        hub.register(
            .taking("Mock", .command, "mock.configure", "mock.clear"),
            .init(onCommand: { _, command, payload in got.note("\(command) \(payload ?? ["none": true])") }))
        hub.start()
        let screen = try hub.scripted("Screen")
        let document = ViewDocument(
            title: "Mock",
            sections: [
                .init(rows: [.toggle(id: "on", label: "On", isOn: true, action: .init("mock.configure"))])
            ])
        try screen.messageSender.perform(document.action(setting: "on", to: false), id: "x", as: screen)
        try screen.messageSender.perform(.init("mock.configure"), as: screen)
        #expect(
            got.entries == [
                "mock.configure#x \(["on": false] as JSONObject)", "mock.configure \(["none": true] as JSONObject)",
            ])
        #expect(throws: PluginError(.notAllowed, "")) {
            try screen.messageSender.perform(.init("mock.clear"), as: screen)
        }
        #expect(throws: PluginError(.invalidName, "")) { try screen.messageSender.perform(.init(""), as: screen) }
        #expect(got.entries.count == 2)
    }
}
