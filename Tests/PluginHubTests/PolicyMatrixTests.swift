import PluginHub
import Testing

@Suite struct PolicyMatrixTests {
    private let journal = Journal<String>()

    /// Returns a sender in a hub with a receiver. The set is partial, so that a policy without its counterpart runs.
    private func hub(_ sender: Policy, _ receiver: Policy) throws -> ScriptedPlugin {
        let hub = Hub(configuration: .init(isPartialSet: true))
        hub.register(sender, answering(journal))
        hub.register(receiver, answering(journal))
        #expect(!hub.start().hasErrors)
        let plugin = try hub.scripted("Sender")
        hubs.note(hub)
        return plugin
    }

    private let hubs = Journal<Hub>()

    @Test(arguments: MessageKind.allCases)
    func `a message that both policies list is delivered only to the receiver`(kind: MessageKind) throws {
        let sender = try hub(.sending("Sender", kind, "a.b"), .taking("Receiver", kind, "a.b"))
        try sender.sendMessage(kind, "a.b")
        #expect(journal.entries == ["Receiver \(kind.rawValue) a.b"])
    }

    @Test(arguments: MessageKind.allCases)
    func `a message the sender's policy does not list is refused and never delivered`(kind: MessageKind) throws {
        let sender = try hub(.sending("Sender", kind, "a.c"), .taking("Receiver", kind, "a.b", "a.c"))
        let error = #expect(throws: PluginError.self) { try sender.sendMessage(kind, "a.b") }
        #expect(error?.code == .notAllowed)
        #expect(error?.plugin == "Sender")
        #expect(error?.message == "a.b")
        #expect(journal.entries.isEmpty)
    }

    @Test(arguments: MessageKind.allCases)
    func `a message the receiver's policy does not list is never delivered`(kind: MessageKind) throws {
        let sender = try hub(.sending("Sender", kind, "a.b"), .taking("Receiver", kind, "a.c"))
        let error = #expect(throws: PluginError.self) { try sender.sendMessage(kind, "a.b") }
        #expect(error?.code == .noReceiver)
        #expect(error?.message == "a.b")
        #expect(journal.entries.isEmpty)
    }

    @Test(arguments: MessageKind.allCases)
    func `a message that neither policy lists is refused because of the sender's policy`(kind: MessageKind) throws {
        let sender = try hub(Policy(name: "Sender"), Policy(name: "Receiver"))
        #expect(throws: PluginError(.notAllowed, "")) { try sender.sendMessage(kind, "a.b") }
        #expect(journal.entries.isEmpty)
    }

    @Test(arguments: MessageKind.allCases, MessageKind.allCases)
    func `a permission for one kind does not permit another`(listed: MessageKind, used: MessageKind) throws {
        guard listed != used else { return }
        let sender = try hub(.sending("Sender", listed, "a.b"), .taking("Receiver", listed, "a.b"))
        #expect(throws: PluginError(.notAllowed, "")) { try sender.sendMessage(used, "a.b") }

        let other = try hub(.sending("Sender", used, "a.b"), .taking("Receiver", listed, "a.b"))
        #expect(throws: PluginError(.noReceiver, "")) { try other.sendMessage(used, "a.b") }
        #expect(journal.entries.isEmpty)
    }

    @Test func `an id does not change the receiver of a message`() throws {
        let sender = try hub(.sending("Sender", .command, "a.b"), .taking("Receiver", .command, "a.b"))
        try sender.send(command: Message("a.b", id: .unique()))
        #expect(journal.entries == ["Receiver command a.b"])
    }

    @Test func `payload, message and answer pass unchanged`() throws {
        let hub = Hub()
        hub.register(.sending("Sender", .query, "echo"))
        hub.register(
            .taking("Receiver", .query, "echo"),
            .init(onQuery: { _, query, payload in ["id": .string(query.id?.text ?? ""), "got": .object(payload ?? [:])]
            }))
        hub.start()
        let answer = try hub.scripted("Sender").query(Message("echo", id: "x"), ["a": [1, "b"]])
        #expect(answer == ["id": "x", "got": ["a": [1, "b"]]])
    }

    @Test func `the receiver's error reaches the sender unchanged`() throws {
        struct Own: Error, Equatable { let number: Int }
        let hub = Hub()
        hub.register(.sending("Sender", .command, "fail", "refuse"))
        hub.register(
            .taking("Receiver", .command, "fail", "refuse"),
            .init(onCommand: { plugin, command, payload in
                if command.name == "fail" { throw Own(number: 7) }
                _ = try payload.require("productID", as: String.self)
            }))
        hub.start()
        let sender = try hub.scripted("Sender")
        #expect(throws: Own(number: 7)) { try sender.send(command: "fail") }
        #expect(throws: PluginError(.missingField, "")) { try sender.send(command: "refuse") }
    }

    @Test func `a plugin may send to itself if its policy lists both sides`() throws {
        let hub = Hub()
        var policy = Policy.sending("Self", .command, "a")
        policy.receive.commands = ["a"]
        hub.register(policy, answering(journal))
        #expect(hub.start().findings.isEmpty)
        try hub.scripted("Self").send(command: "a")
        #expect(journal.entries == ["Self command a"])
    }
}
