import PluginHub
import Testing

@Suite struct RegistrationTests {
    private let journal = Journal<String>()

    @Test func `a second plugin with the same name is refused`() throws {
        let hub = Hub()
        hub.register(.taking("Same", .command, "a"), answering(journal))
        hub.register(.taking("Same", .command, "b"))
        hub.register(.sending("Other", .command, "a"))
        let report = hub.start()
        #expect(report.findings.map(\.code) == [.duplicatePlugin])
        #expect(report.findings.map(\.severity) == [.error])
        #expect(report.hasErrors)
        #expect(report.running == ["Same", "Other"])
        try hub.scripted("Other").send(command: "a")
        #expect(journal.entries == ["Same command a"])
    }

    @Test(arguments: [MessageKind.command, .query, .viewQuery])
    func `the second receiver of a message is refused`(kind: MessageKind) throws {
        let hub = Hub()
        hub.register(.taking("One", kind, "a", "b"), answering(journal))
        hub.register(.taking("Two", kind, "c", "b"))
        hub.register(.sending("Sender", kind, "b"))
        let report = hub.start()
        #expect(report.findings.map(\.code) == [.ambiguousReceiver])
        #expect(report.findings.map(\.plugin) == ["Two"])
        #expect(report.findings.map(\.message) == ["b"])
        #expect(report.running == ["One", "Sender"])
        try hub.scripted("Sender").sendMessage(kind, "b")
        #expect(journal.entries == ["One \(kind.rawValue) b"])
    }

    @Test func `two plugins may publish the same event`() throws {
        let hub = Hub()
        hub.register(.taking("One", .event, "a"), answering(journal))
        hub.register(.taking("Two", .event, "a"), answering(journal))
        hub.register(.sending("Reader", .event, "a"))
        #expect(hub.start().findings.isEmpty)
        _ = try hub.scripted("Reader").events("a")
        #expect(journal.entries == ["One event a", "Two event a"])
    }

    @Test(arguments: MessageKind.allCases)
    func `a sender without a receiver is refused in a complete set`(kind: MessageKind) {
        let hub = Hub()
        hub.register(.sending("Lonely", kind, "a"))
        hub.register(Policy(name: "Other"))
        let report = hub.start()
        #expect(report.findings.map(\.code) == [.noReceiver])
        #expect(report.findings.map(\.severity) == [.error])
        #expect(report.findings.map(\.message) == ["a"])
        #expect(report.running == ["Other"])
        #expect(hub.plugin(named: "Lonely") == nil)
    }

    @Test(arguments: MessageKind.allCases)
    func `a sender without a receiver runs in a partial set, with a warning`(kind: MessageKind) throws {
        let hub = Hub(configuration: .init(isPartialSet: true))
        hub.register(.sending("Lonely", kind, "a"))
        let report = hub.start()
        #expect(report.findings.map(\.code) == [.noReceiver])
        #expect(report.findings.map(\.severity) == [.warning])
        #expect(!report.hasErrors)
        #expect(report.running == ["Lonely"])
        hub.register(.taking("Partner", kind, "a"), answering(journal))
        #expect(hub.report.findings.isEmpty)
        try hub.scripted("Lonely").sendMessage(kind, "a")
        #expect(journal.entries.count == 1)
    }

    @Test func `a plugin that cannot be created is reported, and the others run`() throws {
        struct NoFile: Error {}
        final class Failing: PluginProtocol {
            init(messageSender: any MessageSending, configurationFiles: [String: String]) throws { throw NoFile() }
            var policy: Policy { Policy(name: "never") }
        }
        let hub = Hub()
        hub.register(Failing.self)
        hub.register(.sending("Client", .command, "a"))
        hub.register { _, _ in throw PluginError(.invalidPolicy, "The file x is missing.") }
        let report = hub.start()
        #expect(report.running == ["Client"])
        let errors = report.findings.filter { $0.severity == .error }
        #expect(errors.map(\.code) == [.initializationFailed, .initializationFailed])
        #expect(errors.map(\.plugin) == ["Failing", nil])
        #expect(errors[1].sentence.contains("The file x is missing."))
        // The refused plugin may have been the receiver, so the client is only warned.
        #expect(report.findings.filter { $0.severity == .warning }.map(\.code) == [.noReceiver])
        #expect(throws: PluginError(.noReceiver, "")) { try hub.scripted("Client").send(command: "a") }
    }

    @Test func `a plugin whose partner is refused runs with a warning`() throws {
        let hub = Hub()
        hub.register(Policy(name: "Client", send: .init(commands: ["a"])))
        hub.register(Policy(name: "Broken", send: .init(commands: ["nobody's"]), receive: .init(commands: ["a"])))
        let report = hub.start()
        #expect(report.running == ["Client"])
        #expect(report.findings.map(\.plugin) == ["Broken", "Client"])
        #expect(report.findings.map(\.severity) == [.error, .warning])
    }

    @Test func `the report has all findings, not only the first`() {
        let hub = Hub()
        hub.register(.taking("One", .query, "q", "r"))
        hub.register(
            Policy(
                name: "One", send: .init(commands: ["a", "b"], requests: ["x"]), receive: .init(queries: ["r", "q"]),
                subscribe: ["e"]))
        let codes = hub.start().findings.map(\.code)
        #expect(
            codes == [
                .duplicatePlugin, .ambiguousReceiver, .ambiguousReceiver, .noReceiver, .noReceiver, .noReceiver,
                .unsupportedMessage,
            ])
    }

    @Test func `a policy with requests gets a warning, and its plugin runs`() {
        let hub = Hub()
        hub.register(Policy(name: "Old", send: .init(requests: ["a"]), receive: .init(requests: ["b"])))
        let report = hub.start()
        #expect(report.findings.map(\.code) == [.unsupportedMessage, .unsupportedMessage])
        #expect(!report.hasErrors)
        #expect(report.running == ["Old"])
    }

    @Test func `invalid names are refused`() {
        let hub = Hub()
        hub.register(Policy(name: ""))
        hub.register(Policy(name: "Bell", receive: .init(commands: ["a\u{7}"])))
        hub.register(Policy(name: "Long", publish: [String(repeating: "a", count: 256)]))
        let report = hub.start()
        #expect(report.findings.map(\.code) == [.invalidPolicy, .invalidPolicy, .invalidPolicy])
        #expect(report.running.isEmpty)
    }

    @Test func `a plugin registered after the start joins at once, under the same rules`() throws {
        let hub = Hub()
        hub.register(.taking("One", .command, "a"), answering(journal))
        hub.start()
        hub.register(.sending("Two", .command, "a"))
        try hub.scripted("Two").send(command: "a")
        #expect(journal.entries == ["One command a"])
        hub.register(.taking("Three", .command, "a"))
        hub.register(.taking("One", .command, "b"))
        hub.register(.sending("Four", .query, "nobody's"))
        #expect(hub.report.running == ["One", "Two"])
        #expect(hub.report.findings.map(\.code) == [.ambiguousReceiver, .duplicatePlugin, .noReceiver])
    }

    @Test func `a plugin that an initialiser registers during the start runs after the start`() {
        let hub = Hub()
        hub.register { [weak hub] sender, _ in
            hub?.register(.taking("Child", .command, "a"))
            return ScriptedPlugin(.sending("Parent", .command, "a"), sender)
        }
        let report = hub.start()
        #expect(report.findings.isEmpty)
        #expect(report.running == ["Parent", "Child"])
    }

    @Test func `starting again changes nothing`() {
        let hub = Hub()
        hub.register { [journal] sender, _ in
            journal.note("made")
            return ScriptedPlugin(Policy(name: "One"), sender)
        }
        hub.start()
        #expect(hub.start().running == ["One"])
        #expect(journal.entries == ["made"])
    }

    @Test func `configuration files reach the plugin`() throws {
        let hub = Hub()
        hub.register(configurationFiles: ["policy": "/a/b.json"]) { [journal] sender, files in
            journal.note(files["policy"] ?? "none")
            return ScriptedPlugin(Policy(name: "One"), sender)
        }
        hub.start()
        #expect(journal.entries == ["/a/b.json"])
    }

    @Test func `the linter finds what the hub finds`() {
        let policies = [
            Policy.taking("One", .command, "a"), .taking("Two", .command, "a"), .sending("Three", .query, "q"),
        ]
        for isPartialSet in [false, true] {
            let hub = Hub(configuration: .init(isPartialSet: isPartialSet))
            for policy in policies { hub.register(policy) }
            #expect(hub.start().findings == Policy.findings(among: policies, isPartialSet: isPartialSet))
        }
        #expect(Policy.findings(among: policies).count == 2)
    }
}
