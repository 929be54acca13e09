/// A running plugin.
final class Member: Sendable {
    let policy: Policy
    let plugin: any PluginProtocol
    let channel: PluginChannel
    let identity: ObjectIdentifier

    init(policy: Policy, plugin: any PluginProtocol, channel: PluginChannel) {
        self.policy = policy
        self.plugin = plugin
        self.channel = channel
        identity = ObjectIdentifier(plugin)
    }

    var name: String { policy.name }
}

/// The receivers of each message that one plugin may send. It is immutable, and a new value replaces it when a plugin
/// starts or leaves, or when tracing starts or ends. So a call needs one access under a short lock and one dictionary
/// lookup.
final class MessageRoutes: Sendable {
    let owner: Member
    let version: Int
    let isTraced: Bool
    /// The policies of all running plugins, for hints in error messages.
    private let policies: [Policy]
    private let commands: [String: Target]
    private let queries: [String: Target]
    private let viewQueries: [String: Target]
    private let events: [String: [Member]]

    enum Target: Sendable {
        case receiver(Member)
        case noReceiver
    }

    init(owner: Member, members: [Member], policies: [Policy], version: Int, isTraced: Bool) {
        func targets(_ kind: MessageKind) -> [String: Target] {
            Dictionary(
                uniqueKeysWithValues: owner.policy.outgoing(kind).unique.map { message in
                    let receiver = members.first { $0.policy.incoming(kind).contains(message) }
                    return (message, receiver.map(Target.receiver) ?? .noReceiver)
                })
        }
        self.owner = owner
        self.version = version
        self.isTraced = isTraced
        self.policies = policies
        commands = targets(.command)
        queries = targets(.query)
        viewQueries = targets(.viewQuery)
        events = Dictionary(
            uniqueKeysWithValues: owner.policy.outgoing(.event).unique.map { event in
                (event, members.filter { $0.policy.publish.events.contains(event) })
            })
    }

    /// Returns the plugin that receives `message`, if both policies allow it.
    func receiver(of message: Message, _ kind: MessageKind) throws(PluginError) -> Member {
        let targets: [String: Target] =
            switch kind {
            case .command: commands
            case .query: queries
            case .viewQuery: viewQueries
            case .event: [:]
            }
        switch targets[message.name] {
        case .receiver(let member): return member
        case .noReceiver: throw noReceiverError(message, kind)
        case nil: throw notAllowed(message, kind)
        }
    }

    /// Returns all plugins that publish `event`, at least one, if both policies allow it.
    func publishers(of event: Message) throws(PluginError) -> [Member] {
        guard let publishers = events[event.name] else { throw notAllowed(event, .event) }
        guard !publishers.isEmpty else { throw noReceiverError(event, .event) }
        return publishers
    }

    private func notAllowed(_ message: Message, _ kind: MessageKind) -> PluginError {
        let verb = kind == .event ? "subscribe to" : "send"
        return PluginError(
            .notAllowed,
            "The plugin \"\(owner.name)\" may not \(verb) the \(kind.noun) \"\(message.name)\": add it to \(kind.outgoingListName) of its policy.\(senderHint(message.name, kind))",
            plugin: owner.name, message: message.name)
    }

    /// Returns a hint about a mistake of the sender: its policy lists the message as another kind, or its policy or a
    /// receiver's policy lists a similar name.
    private func senderHint(_ name: String, _ kind: MessageKind) -> String {
        let other = MessageKind.allCases.first { $0 != kind && owner.policy.outgoing($0).contains(name) }
        if let other { return " It is listed as \(other.phrase)." }
        let own = NearestName.hint(name, among: owner.policy.outgoing(kind))
        return own.isEmpty ? NearestName.hint(name, among: policies.flatMap { $0.incoming(kind) }) : own
    }

    private func noReceiverError(_ message: Message, _ kind: MessageKind) -> PluginError {
        let what =
            kind == .event
            ? "publishes the event \"\(message.name)\" that \"\(owner.name)\" subscribes to"
            : "receives the \(kind.noun) \"\(message.name)\" that \"\(owner.name)\" sends"
        return PluginError(
            .noReceiver,
            "No running plugin \(what): register one that lists it in \(kind.incomingListName).\(receiverHint(message.name, kind))",
            plugin: owner.name, message: message.name)
    }

    /// Returns a hint about a mistake in a receiver's policy.
    private func receiverHint(_ name: String, _ kind: MessageKind) -> String {
        for policy in policies {
            let other = MessageKind.allCases.first { $0 != kind && policy.incoming($0).contains(name) }
            if let other { return " \"\(policy.name)\" lists it as \(other.phrase), in \(other.incomingListName)." }
        }
        return NearestName.hint(name, among: policies.flatMap { $0.incoming(kind) })
    }
}
