import PluginHub
import Testing

/// For each kind of message, only certain lists of the sender's policy and one list of the receiver's policy permit it.
@Suite struct PolicyTableTests {
    enum Side: String, CaseIterable, Sendable { case sender, receiver }

    private static let lists = [
        "send.commands", "send.queries", "send.viewControllerQueries", "send.requests",
        "receive.commands", "receive.queries", "receive.viewControllerQueries", "receive.requests",
        "publish.events", "subscribe.events", "subscribeAtAppLaunch.events",
    ]

    /// The lists that allow a message of a kind to be sent, and to be received. For an event the message is the
    /// subscription: the subscriber sends it, and the publisher receives it.
    private static let permitting: [MessageKind: [Side: [String]]] = [
        .command: [.sender: ["send.commands"], .receiver: ["receive.commands"]],
        .query: [.sender: ["send.queries"], .receiver: ["receive.queries"]],
        .viewQuery: [.sender: ["send.viewControllerQueries"], .receiver: ["receive.viewControllerQueries"]],
        .event: [.sender: ["subscribe.events", "subscribeAtAppLaunch.events"], .receiver: ["publish.events"]],
    ]

    /// A policy whose only entry is "a.b" in `list`.
    private func policy(_ name: String, _ list: String?) throws -> Policy {
        let parts = (list ?? "send.commands").split(separator: ".")
        let entry = list == nil ? "" : "\"a.b\""
        return try Policy(json: Array(#"{"name": "\#(name)", "\#(parts[0])": {"\#(parts[1])": [\#(entry)]}}"#.utf8))
    }

    private struct Outcome: Equatable {
        var code: PluginError.Code?
        var delivered: [String]
    }

    private func outcome(_ kind: MessageKind, _ sender: String?, _ receiver: String?) throws -> Outcome {
        let journal = Journal<String>()
        let hub = Hub(configuration: .init(isPartialSet: true))
        hub.register(try policy("Sender", sender), answering(journal))
        hub.register(try policy("Receiver", receiver), answering(journal))
        hub.start()
        let plugin = try hub.scripted("Sender")
        let before = journal.entries.count
        var code: PluginError.Code?
        do { try plugin.sendMessage(kind, "a.b") } catch let error as PluginError { code = error.code }
        return Outcome(code: code, delivered: Array(journal.entries.dropFirst(before)))
    }

    @Test(arguments: MessageKind.allCases, lists)
    func `only the lists for its kind in the sender's policy permit a message`(kind: MessageKind, list: String) throws {
        let permitting = try #require(Self.permitting[kind])
        let receiver = try #require(permitting[.receiver]?.first)
        let isAllowed = try #require(permitting[.sender]).contains(list)
        let found = try outcome(kind, list, receiver)
        #expect(
            found
                == (isAllowed
                    ? Outcome(delivered: ["Receiver \(kind.rawValue) a.b"])
                    : Outcome(code: .notAllowed, delivered: [])))
    }

    @Test(arguments: MessageKind.allCases, lists)
    func `only the list for its kind in the receiver's policy permits a message`(kind: MessageKind, list: String)
        throws
    {
        let permitting = try #require(Self.permitting[kind])
        let isAllowed = try #require(permitting[.receiver]).contains(list)
        for sender in try #require(permitting[.sender]) {
            let found = try outcome(kind, sender, list)
            #expect(
                found
                    == (isAllowed
                        ? Outcome(delivered: ["Receiver \(kind.rawValue) a.b"])
                        : Outcome(code: .noReceiver, delivered: [])))
        }
    }

    @Test(arguments: MessageKind.allCases)
    func `an empty policy of the sender, the receiver or both denies every message`(kind: MessageKind) throws {
        let permitting = try #require(Self.permitting[kind])
        for sender in try #require(permitting[.sender]) {
            #expect(try outcome(kind, sender, nil) == Outcome(code: .noReceiver, delivered: []))
        }
        for receiver in [permitting[.receiver]?.first, nil] {
            #expect(try outcome(kind, nil, receiver) == Outcome(code: .notAllowed, delivered: []))
        }
    }
}
