import BaseTestSupport
import Foundation
import Primitives
import Testing

@testable import Purchases

/// `Documentation/Purchases.md` says who is asked and how answers merge, and the client does what it says.
@Suite(.timeLimit(.minutes(1))) struct MergeTableTests {
    private static func client(_ plugins: [StubPlugin], clock: ManualClock? = nil) async throws -> PurchaseClient {
        var configuration = PurchaseClient.Configuration.patient
        if let clock {
            configuration.sleep = {
                try await clock.sleep(until: clock.now().addingTimeInterval(TimeInterval($0.components.seconds)))
            }
        }
        let client = PurchaseClient(configuration: configuration)
        try await client.setup(with: plugins)
        return client
    }

    private static func withoutPlugins(_ rule: MergeRule) -> String {
        switch rule.asked {
        case .inOrder: "`noSuitablePlugin`"
        case .whoAnnounced: "–"
        case .everybody: rule.joined == .nothing ? "done" : "nothing"
        }
    }

    @Test func `the document has the table that the client executes`() throws {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../Documentation/Purchases.md")
        let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
        let rows = lines.drop { !$0.hasPrefix("| operation |") }.dropFirst(2).prefix { $0.hasPrefix("|") }
        let expected = PurchaseOperation.all.map { operation in
            let rule = operation.rule
            let deadline = rule.hasDeadline ? "yes" : "no"
            let mode = rule.joined == .nothing ? "–" : rule.mode == .strict ? "strict" : "best effort"
            let cells = [
                "`\(operation.name)`", rule.asked.rawValue, rule.joined.rawValue, rule.failure.rawValue, mode,
                deadline, rule.after.rawValue, Self.withoutPlugins(rule),
            ]
            return "| " + cells.joined(separator: " | ") + " |"
        }
        #expect(rows.map(String.init) == expected)
        #expect(Performance.all.map(\.operation) == PurchaseOperation.all)
    }

    @Test(arguments: Performance.all.indices) func `without plugins nobody waits`(row: Int) async throws {
        let (operation, perform) = (Performance.all[row].operation, Performance.all[row].perform)
        guard operation.rule.asked != .whoAnnounced else { return }
        let client = try await Self.client([])
        if operation.rule.asked == .inOrder {
            await #expect(throws: PurchaseError(.noSuitablePlugin)) { try await perform(client, []) }
        } else {
            #expect(try await perform(client, []).isEmpty)
        }
    }

    @Test(arguments: Performance.all.indices)
    func `when nobody takes an operation of one plugin there is no suitable one`(row: Int) async throws {
        let (operation, perform) = (Performance.all[row].operation, Performance.all[row].perform)
        guard operation.rule.asked != .everybody else { return }
        let plugins = [StubPlugin("a"), StubPlugin("b")]
        let client = try await Self.client(plugins)
        await #expect(throws: PurchaseError(.noSuitablePlugin)) { try await perform(client, plugins) }
        #expect(plugins.map(\.calls.count) == [1, operation.rule.asked == .inOrder ? 1 : 0])
    }

    @Test(arguments: Performance.all.indices)
    func `values are joined in the order of registration`(row: Int) async throws {
        let (rule, perform) = (Performance.all[row].operation.rule, Performance.all[row].perform)
        let (a, b) = (StubPlugin.sound("a"), StubPlugin.sound("b"))
        let names = try await perform(try await Self.client([a, b]), [a, b])
        if rule.joined != .nothing {
            #expect(Set(names) == ["a", "both", "b"] && names.count == 3)
            if Performance.all[row].operation != .getProductsAndPricePoints { #expect(names == ["a", "both", "b"]) }
        }
        #expect(a.calls.count == 1, "who is asked is asked once")
        switch (rule.asked, rule.after) {
        case (.everybody, _): #expect(b.calls.count == 1)
        case (_, .nothing): #expect(b.calls.isEmpty)
        case (_, .othersFeatures):
            #expect(b.calls == ["invalidate", "paidFeatures"])
            #expect(names == ["a", "both", "b"])
        }
    }

    @Test(arguments: Performance.all.indices)
    func `of two errors the first by registration is thrown`(row: Int) async throws {
        let (rule, perform) = (Performance.all[row].operation.rule, Performance.all[row].perform)
        let plugins = [
            StubPlugin.failing("a", with: Refusal(1)), .failing("b", with: Refusal(2)), .failing("c", with: Refusal(3)),
        ]
        let client = try await Self.client(plugins)
        if rule.failure == .isReported {
            _ = try await perform(client, plugins)
        } else {
            await #expect(throws: Refusal(1)) { try await perform(client, plugins) }
        }
    }

    @Test(arguments: Performance.all.indices)
    func `an error does to the others what its row says`(row: Int) async throws {
        let (rule, perform) = (Performance.all[row].operation.rule, Performance.all[row].perform)
        let (broken, sound) = (StubPlugin.failing("a", with: Refusal(1)), StubPlugin.sound("b"))
        let client = try await Self.client([broken, sound])
        switch rule.failure {
        case .lastAnswerCounts, .othersStand: #expect(try await perform(client, [broken]) == ["b", "both"])
        case .passesOn:
            _ = try await perform(client, [broken])
            #expect(sound.calls.count == 1)
        case .isReported:
            _ = try await perform(client, [broken])
            #expect(sound.calls.count == 1)
        case .failsAll:
            await #expect(throws: Refusal(1)) { try await perform(client, [broken]) }
            #expect(sound.calls.count == 1)
        case .decides:
            await #expect(throws: Refusal(1)) { try await perform(client, [broken]) }
            #expect(sound.calls.isEmpty)
        case .rollsBack:
            await #expect(throws: Refusal(1)) { try await perform(client, [broken]) }
            #expect(broken.calls.last == "logOut" && sound.calls.last == "logOut")
            #expect(client.userId == nil)
        }
    }

    @Test(arguments: Performance.all.indices)
    func `a plugin that failed is represented by what it said last where the row says so`(row: Int) async throws {
        let (rule, perform) = (Performance.all[row].operation.rule, Performance.all[row].perform)
        guard rule.failure == .lastAnswerCounts else { return }
        let (a, b) = (StubPlugin.sound("a"), StubPlugin.sound("b"))
        let client = try await Self.client([a, b])
        _ = try await perform(client, [a])
        a.change {
            $0.features = { throw Refusal(1) }
            $0.paidFeatures = { throw Refusal(1) }
        }
        #expect(try await perform(client, [a]) == ["a", "both", "b"])
    }

    @Test(arguments: Performance.all.indices)
    func `a plugin that never answers holds nobody up for longer than its row says`(row: Int) async throws {
        let (operation, perform) = (Performance.all[row].operation, Performance.all[row].perform)
        let (clock, gate) = (ManualClock(), Gate())
        let deaf = StubPlugin.sound("a") { await gate.pass() }
        let client = try await Self.client([deaf], clock: clock)
        let caller = Task { try? await perform(client, [deaf]) }
        await gate.arrivals()
        if operation.rule.hasDeadline {
            await clock.waiters(atLeast: 1)
            clock.advance(by: 30)
            _ = await caller.value
            gate.open()
        } else {
            clock.advance(by: 86_400)
            gate.open()
            #expect(await caller.value != nil)
        }
    }

    @Test(arguments: Performance.all.indices) func `before setup nothing is asked`(row: Int) async throws {
        let (operation, perform) = (Performance.all[row].operation, Performance.all[row].perform)
        guard operation.rule.asked != .whoAnnounced else { return }
        let client = PurchaseClient()
        if [.logOut, .invalidatePaidFeaturesCache].contains(operation) {
            #expect(try await perform(client, []).isEmpty)
        } else {
            await #expect(throws: PurchaseError(.notSetUp)) { try await perform(client, []) }
        }
    }
}
