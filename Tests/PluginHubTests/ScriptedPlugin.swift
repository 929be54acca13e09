import PluginHub
import Primitives
import Testing

/// A plugin with scripted methods. A method without a script throws `unsupportedMessage`.
final class ScriptedPlugin: PluginProtocol {
    struct Script: Sendable {
        var onCommand: (@Sendable (ScriptedPlugin, Message, JSONObject?) throws -> Void)?
        var onQuery: (@Sendable (ScriptedPlugin, Message, JSONObject?) throws -> JSONObject)?
        var onViewQuery: (@Sendable (ScriptedPlugin, Message, JSONObject?) throws -> ViewDocument)?
        var onEvent: (@Sendable (ScriptedPlugin, Message, JSONObject?) throws -> EventPublisher)?
        var onLaunch: (@Sendable (ScriptedPlugin, Message, EventPublisher) -> Void)?
    }

    let policy: Policy
    let messageSender: any MessageSending
    private let script: Script

    init(_ policy: Policy, _ messageSender: any MessageSending, _ script: Script = Script()) {
        self.policy = policy
        self.messageSender = messageSender
        self.script = script
    }

    init(messageSender: any MessageSending, configurationFiles: [String: String]) throws {
        throw PluginError(.unsupportedMessage, "A scripted plugin is made by a closure.")
    }

    func publisher(forEvent event: Message, payload: JSONObject?) throws -> EventPublisher {
        guard let handle = script.onEvent else { throw unsupported(.event, event) }
        return try handle(self, event, payload)
    }

    func subscribe(toPublisher publisher: EventPublisher, forEvent event: Message) {
        script.onLaunch?(self, event, publisher)
    }

    func onReceive(command: Message, payload: JSONObject?) throws {
        guard let handle = script.onCommand else { throw unsupported(.command, command) }
        try handle(self, command, payload)
    }

    func onReceive(query: Message, payload: JSONObject?) throws -> JSONObject {
        guard let handle = script.onQuery else { throw unsupported(.query, query) }
        return try handle(self, query, payload)
    }

    func onReceive(viewQuery: Message, payload: JSONObject?) throws -> ViewDocument {
        guard let handle = script.onViewQuery else { throw unsupported(.viewQuery, viewQuery) }
        return try handle(self, viewQuery, payload)
    }

    // MARK: - Sending as itself

    func send(command: Message, _ payload: JSONObject? = nil) throws {
        try messageSender.send(command: command, payload: payload, sender: self)
    }

    func query(_ query: Message, _ payload: JSONObject? = nil) throws -> JSONObject {
        try messageSender.send(query: query, payload: payload, sender: self)
    }

    func viewQuery(_ viewQuery: Message, _ payload: JSONObject? = nil) throws -> ViewDocument {
        try messageSender.send(viewQuery: viewQuery, payload: payload, sender: self)
    }

    func events(_ event: Message, _ payload: JSONObject? = nil) throws -> EventPublisher {
        try messageSender.publisher(forEvent: event, payload: payload, subscriber: self)
    }

    /// Sends `message` as a message of `kind` and ignores the answer.
    func sendMessage(_ kind: MessageKind, _ message: Message) throws {
        switch kind {
        case .command: try send(command: message)
        case .query: _ = try query(message)
        case .viewQuery: _ = try viewQuery(message)
        case .event: _ = try events(message)
        }
    }
}

extension Hub {
    func register(_ policy: Policy, _ script: ScriptedPlugin.Script = .init()) {
        register { sender, _ in ScriptedPlugin(policy, sender, script) }
    }

    func scripted(_ name: String) throws -> ScriptedPlugin {
        try #require(plugin(named: name) as? ScriptedPlugin)
    }
}

extension Policy {
    /// Returns a policy that sends or subscribes to `messages` of `kind`.
    static func sending(_ name: String, _ kind: MessageKind, _ messages: String...) -> Policy {
        var policy = Policy(name: name)
        switch kind {
        case .command: policy.send.commands = messages
        case .query: policy.send.queries = messages
        case .viewQuery: policy.send.viewControllerQueries = messages
        case .event: policy.subscribe.events = messages
        }
        return policy
    }

    /// Returns a policy that receives or publishes `messages` of `kind`.
    static func taking(_ name: String, _ kind: MessageKind, _ messages: String...) -> Policy {
        var policy = Policy(name: name)
        switch kind {
        case .command: policy.receive.commands = messages
        case .query: policy.receive.queries = messages
        case .viewQuery: policy.receive.viewControllerQueries = messages
        case .event: policy.publish.events = messages
        }
        return policy
    }
}

/// A thread-safe list of events, in order.
final class Journal<Entry: Sendable>: Sendable {
    private let state = Locked<[Entry]>([])

    func note(_ entry: Entry) { state.withLock { $0.append(entry) } }
    var entries: [Entry] { state.withLock { $0 } }
}

extension EventOutput {
    /// The number in the payload's field "n", or -1 for a failure.
    var number: Int { (try? payload()["n"]?.intValue) ?? -1 }

    static func number(_ number: Int, _ id: MessageID? = nil) -> EventOutput {
        .success(["n": .number(number)], correlationId: id)
    }
}

/// Returns a script that answers every message and records it.
func answering(_ journal: Journal<String>, _ subject: EventSubject = EventSubject()) -> ScriptedPlugin.Script {
    ScriptedPlugin.Script(
        onCommand: { plugin, message, _ in journal.note("\(plugin.policy.name) command \(message.name)") },
        onQuery: { plugin, message, _ in
            journal.note("\(plugin.policy.name) query \(message.name)")
            return ["by": .string(plugin.policy.name)]
        },
        onViewQuery: { plugin, message, _ in
            journal.note("\(plugin.policy.name) viewQuery \(message.name)")
            return ViewDocument(title: plugin.policy.name)
        },
        onEvent: { plugin, message, _ in
            journal.note("\(plugin.policy.name) event \(message.name)")
            return subject.publisher
        })
}
