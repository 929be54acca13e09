import BaseTestSupport
import Foundation
import PluginHub
import Primitives
import Testing

/// Mistakes and unusual situations that an app can cause with the public interface.
@Suite struct AcceptanceTests {
    private let journal = Journal<String>()

    // MARK: - Release of plugins

    /// Retains a subscription whose callback retains the plugin.
    private final class SelfRetaining: PluginProtocol {
        let policy = Policy(name: "SelfRetaining", subscribeAtAppLaunch: ["a"])
        let count = Locked(0)
        private let subscription = Locked<EventSubscription?>(nil)

        init(messageSender: any MessageSending, configurationFiles: [String: String]) {}

        func subscribe(toPublisher publisher: EventPublisher, forEvent event: Message) {
            let made = publisher.sink { _ in self.count.withLock { $0 += 1 } }
            subscription.withLock { $0 = made }
        }
    }

    private func entangledHub() throws -> (hub: Hub, source: EventSubject) {
        let hub = Hub()
        let source = EventSubject()
        hub.register(.taking("Source", .event, "a"), .init(onEvent: { _, _, _ in source.publisher }))
        hub.register(SelfRetaining.self)
        #expect(hub.start().findings.isEmpty)
        source.send(.number(1))
        return (hub, source)
    }

    @Test(.timeLimit(.minutes(1)), arguments: ["stop", "deregister it", "deregister its source first", "release"])
    func `a plugin that its own callback retains is released when it is deregistered or its hub ends`(end: String)
        async throws
    {
        weak var plugin: SelfRetaining?
        do {
            let (hub, source) = try entangledHub()
            plugin = hub.plugin(named: "SelfRetaining") as? SelfRetaining
            #expect(plugin?.count.withLock { $0 } == 1)
            switch end {
            case "stop": await hub.stop()
            case "deregister it": await hub.deregister("SelfRetaining")
            case "deregister its source first":
                await hub.deregister("Source")
                await hub.deregister("SelfRetaining")
            default: break
            }
            withExtendedLifetime(source) {}
        }
        // An ended task can release its values a moment later.
        try await until("the plugin is released") { plugin == nil }
    }

    // MARK: - Simultaneous removal

    @Test(.timeLimit(.minutes(1)))
    func `two plugins whose work deregisters the other do not wait for each other`() async throws {
        let hub = Hub()
        hub.register(Policy(name: "One"))
        hub.register(Policy(name: "Two"))
        hub.start()
        let arrivals = ["One": Gate(), "Two": Gate()]
        let (done, signal) = AsyncStream.makeStream(of: String.self)
        for (name, other) in [("One", "Two"), ("Two", "One")] {
            try hub.scripted(name).messageSender.context?.run {
                arrivals[name]?.open()
                try? await arrivals[other]?.pass()
                await hub.deregister(other)
                signal.yield(name)
            }
        }
        var names: Set<String> = []
        for await name in done {
            names.insert(name)
            if names.count == 2 { break }
        }
        #expect(hub.report.running.isEmpty)
    }

    @Test(.timeLimit(.minutes(1)))
    @available(macOS 15, iOS 18, *)
    func `work that stops the hub waits for the work of the other plugins`() async throws {
        let hub = Hub()
        hub.register(Policy(name: "One"))
        hub.register(Policy(name: "Two"))
        hub.start()
        let (isCancelled, mayEnd, isStopped) = (Gate(), Gate(), Gate())
        try hub.scripted("Two").messageSender.context?.run { [journal] in
            _ = try? await untilCancelled()
            isCancelled.open()
            try? await Task { try await mayEnd.pass() }.value
            journal.note("ended")
        }
        let executor = ObservedExecutor()
        try hub.scripted("One").messageSender.context?.run { [journal] in
            await withTaskExecutorPreference(executor) {
                await hub.stop()
                journal.note("stopped")
            }
            isStopped.open()
        }
        try await isCancelled.pass()
        // When the executor is idle, the stop has returned or waits.
        await executor.waitUntilIdle()
        #expect(journal.entries.isEmpty)
        mayEnd.open()
        try await isStopped.pass()
        #expect(journal.entries == ["ended", "stopped"])
    }

    // MARK: - Later reports

    @Test func `a refusal is forgotten once a plugin with that name runs or leaves`() async {
        let hub = Hub()
        hub.register(.taking("Server", .command, "a"), answering(journal))
        hub.start()
        hub.register(.sending("Client", .command, "b"))
        #expect(hub.report.findings.map(\.code) == [.noReceiver])
        hub.register(.sending("Client", .command, "a"))
        #expect(hub.report.findings.isEmpty)
        hub.register(.sending("Client", .command, "a"))
        #expect(hub.report.findings.map(\.code) == [.duplicatePlugin])
        await hub.deregister("Client")
        #expect(hub.report.findings.isEmpty)
    }

    /// Reads its file in one of several ways.
    private final class Reader: PluginProtocol {
        struct NoFile: Error {}
        let policy: Policy

        init(messageSender: any MessageSending, configurationFiles: [String: String]) throws {
            let path = configurationFiles["policy"] ?? ""
            let bytes: Data
            switch configurationFiles["way"] {
            case "Data": bytes = try Data(contentsOf: URL(fileURLWithPath: path))
            case "String": bytes = Data(try String(contentsOfFile: path, encoding: .utf8).utf8)
            default:
                guard let contents = FileManager.default.contents(atPath: path) else { throw NoFile() }
                bytes = contents
            }
            policy = try JSONDecoder().decode(Policy.self, from: bytes)
        }
    }

    @Test(arguments: ["Data", "String", "FileManager"], ["nowhere/a.json", "/nowhere/a.json", "/"])
    func `an unreadable file is reported however the plugin reads it`(way: String, path: String) {
        let hub = Hub()
        hub.register(Reader.self, configurationFiles: ["policy": path, "way": way])
        let findings = hub.start().findings
        #expect(findings.map(\.code) == [.unreadableConfiguration])
        #expect(findings.map(\.plugin) == ["Reader"])
        #expect(findings[0].sentence.contains(path))
    }

    @Test func `the finding about a failed initialiser disappears once the initialiser succeeds`() throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).json")
        let hub = Hub()
        hub.start()
        hub.register(Reader.self, configurationFiles: ["policy": file.path])
        #expect(hub.report.findings.map(\.code) == [.unreadableConfiguration])
        try Data(#"{"name": "Reader of files"}"#.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        hub.register(Reader.self, configurationFiles: ["policy": file.path])
        #expect(hub.report.findings.isEmpty)
        #expect(hub.report.running == ["Reader of files"])
    }

    // MARK: - Error messages

    @Test(arguments: [
        (#"{"name": 1}"#, "\"name\" must be a string"), (#"{"name": "a", "send": []}"#, "\"send\" must be an object"),
        (#"{"name": "a", "send": {"commands": "x"}}"#, "\"send.commands\" must be an array"),
        (#"{"name": "a", "publish": {"events": [1]}}"#, "\"publish.events[0]\" must be a string"),
        (#"{"name": null}"#, "\"name\" must be a string"), (#"[]"#, "the document must be an object"),
    ])
    func `an invalid policy is described in terms of JSON`(json: String, words: String) {
        #expect {
            try Policy(json: json.utf8)
        } throws: {
            ($0 as? PluginError)?.code == .invalidPolicy && "\($0)".contains(words)
        }
    }

    @Test func `a field of the wrong type is described in terms of JSON`() {
        let payload: JSONObject = ["count": "x", "list": [true]]
        func sentence<T: Decodable>(_ field: String, _ type: T.Type) -> String? {
            do {
                _ = try payload.require(field, as: type)
                return nil
            } catch { return (error as? PluginError)?.sentence }
        }
        #expect(sentence("count", Int.self) == "The field \"count\" of the payload must be a whole number (Int).")
        #expect(sentence("list", [Bool: Int].self) != nil)
        #expect(sentence("list", [Double].self) == "The field \"list[0]\" of the payload must be a number.")
        #expect(sentence("list", Bool.self) == "The field \"list\" of the payload must be true or false.")
        #expect(sentence("missing", String.self) == "The payload must have the field \"missing\": a string.")
        #expect(
            sentence("count", Date.self) == "The field \"count\" of the payload must be a date and time (RFC 3339).")
    }
}
