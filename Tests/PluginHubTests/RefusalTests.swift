import PluginHub
import Testing

/// Every refusal names the plugin, the message and the list that lacks it, and suggests a similar name.
@Suite struct RefusalTests {
    private func refusal(_ kind: MessageKind, _ message: Message, _ policies: Policy...) throws -> PluginError {
        let hub = Hub(configuration: .init(isPartialSet: true))
        for policy in policies { hub.register(policy) }
        #expect(!hub.start().hasErrors)
        let sender = try hub.scripted("Sender")
        let error = #expect(throws: PluginError.self) { try sender.sendMessage(kind, message) }
        return try #require(error)
    }

    private let lists: [MessageKind: (outgoing: String, incoming: String)] = [
        .command: ("send.commands", "receive.commands"), .query: ("send.queries", "receive.queries"),
        .viewQuery: ("send.viewControllerQueries", "receive.viewControllerQueries"),
        .event: ("subscribe.events", "publish.events"),
    ]

    @Test(arguments: MessageKind.allCases)
    func `a refusal names the plugin, the message and the list that lacks it`(kind: MessageKind) throws {
        let lists = try #require(lists[kind])
        let denied = try refusal(kind, "store.purchase", Policy(name: "Sender"))
        #expect(denied.sentence.contains("\"Sender\"") && denied.sentence.contains("\"store.purchase\""))
        #expect(denied.sentence.contains(lists.outgoing))
        let unheard = try refusal(kind, "store.purchase", .sending("Sender", kind, "store.purchase"))
        #expect(unheard.sentence.contains("\"Sender\"") && unheard.sentence.contains("\"store.purchase\""))
        #expect(unheard.sentence.contains(lists.incoming))
        for error in [denied, unheard] {
            #expect(error.plugin == "Sender")
            #expect(error.message == "store.purchase")
            #expect(!error.sentence.contains("Did you mean"))
        }
    }

    @Test(arguments: MessageKind.allCases, ["store.purchse", "store.prucahse", "Store.Purchase", "storepurchase"])
    func `a misspelt name gets a suggestion from the sender's policy`(kind: MessageKind, slip: String) throws {
        let error = try refusal(
            kind, Message(slip), .sending("Sender", kind, "store.restore", "store.purchase"))
        #expect(error.code == .notAllowed)
        #expect(error.sentence.hasSuffix(" Did you mean \"store.purchase\"?"), "\(error.sentence)")
    }

    @Test(arguments: MessageKind.allCases)
    func `a misspelt name gets a suggestion from a receiver's policy`(kind: MessageKind) throws {
        let receiver = Policy.taking("Receiver", kind, "store.purchase")
        let denied = try refusal(kind, "store.purchas", Policy(name: "Sender"), receiver)
        #expect(denied.sentence.hasSuffix(" Did you mean \"store.purchase\"?"))
        let unheard = try refusal(kind, "store.purchas", .sending("Sender", kind, "store.purchas"), receiver)
        #expect(unheard.code == .noReceiver)
        #expect(unheard.sentence.hasSuffix(" Did you mean \"store.purchase\"?"))
    }

    @Test func `a refusal names the other kind as which the sender or a receiver lists the message`() throws {
        let denied = try refusal(.command, "store.features", .sending("Sender", .query, "store.features"))
        #expect(denied.sentence.hasSuffix(" It is listed as a query."))
        let unheard = try refusal(
            .query, "store.changed", .sending("Sender", .query, "store.changed"),
            .taking("Store", .event, "store.changed"))
        #expect(unheard.sentence.hasSuffix(" \"Store\" lists it as an event, in publish.events."))
    }

    @Test(arguments: ["user.logOut", "store", "a", "store.subscribe"])
    func `a name that is not similar to a listed one gets no suggestion`(name: String) throws {
        let error = try refusal(.command, Message(name), .sending("Sender", .command, "store.purchase", "b.cd"))
        #expect(!error.sentence.contains("Did you mean"), "\(error.sentence)")
    }

    @Test func `the nearest of several names is suggested`() throws {
        let error = try refusal(
            .command, "item.10", .sending("Sender", .command, "item.100", "item.1", "items.1000", "item.11"))
        #expect(error.sentence.hasSuffix(" Did you mean \"item.1\"?"))
    }

    @Test func `findings suggest names too`() {
        let findings = Policy.findings(among: [
            .sending("One", .command, "store.purchse"), .taking("Two", .command, "store.purchase"),
        ])
        #expect(findings.map(\.code) == [.noReceiver])
        #expect(findings[0].sentence.hasSuffix(" Did you mean \"store.purchase\"?"))
    }
}
