/// A part of an app that talks to the others through the hub only.
///
/// `init` and `policy` are required. The rest have defaults that throw `unsupportedMessage`, so a plugin writes only the
/// methods its policy needs. The hub calls on the thread the sender called on and holds no lock meanwhile; several
/// threads may call at once.
public protocol PluginProtocol: AnyObject, Sendable {
    /// Made by the hub in `start()`, or at registration when the hub runs already.
    ///
    /// - Parameters:
    ///   - messageSender: the plugin's own way into the hub; it is also a `PluginContext`. It works once the plugin runs,
    ///     so not yet inside the initialiser.
    ///   - configurationFiles: logical name → path, as given at registration.
    /// - Throws: whatever keeps the plugin from working, such as a missing file. The plugin is then left out and
    ///   reported; the others run.
    init(messageSender: any MessageSending, configurationFiles: [String: String]) throws

    /// What the plugin may send, receive, publish and subscribe to. Read once, at registration.
    var policy: Policy { get }

    /// The outputs of an event the policy publishes. A payload the plugin cannot use is refused by throwing; whatever
    /// goes wrong later is a failure value.
    func publisher(forEvent event: Message, payload: JSONObject?) throws -> EventPublisher

    /// Takes the publisher of an event of `subscribeAtAppLaunch`, after every plugin was made. The default ignores it.
    func subscribe(toPublisher publisher: EventPublisher, forEvent event: Message)

    /// Does something. Throwing means: not accepted. After accepting, results and failures are events with the
    /// command's id.
    func onReceive(command: Message, payload: JSONObject?) throws

    /// Reads what is known now: quick, without side effects.
    func onReceive(query: Message, payload: JSONObject?) throws -> JSONObject

    /// Describes a screen.
    func onReceive(viewQuery: Message, payload: JSONObject?) throws -> ViewDocument
}

extension PluginProtocol {
    public func publisher(forEvent event: Message, payload: JSONObject?) throws -> EventPublisher {
        throw unsupported(.event, event)
    }

    public func subscribe(toPublisher publisher: EventPublisher, forEvent event: Message) {}

    public func onReceive(command: Message, payload: JSONObject?) throws { throw unsupported(.command, command) }

    public func onReceive(query: Message, payload: JSONObject?) throws -> JSONObject {
        throw unsupported(.query, query)
    }

    public func onReceive(viewQuery: Message, payload: JSONObject?) throws -> ViewDocument {
        throw unsupported(.viewQuery, viewQuery)
    }

    /// The refusal for the `default:` of a plugin's own `switch` over message names.
    public func unsupported(_ kind: MessageKind, _ message: Message) -> PluginError {
        let name = policy.name
        return PluginError(
            .unsupportedMessage,
            "The plugin \"\(name)\" does not handle the \(kind.noun) \"\(message.name)\": implement it or take it out of its policy.",
            plugin: name, message: message.name)
    }
}

/// The way into the hub. Each plugin has its own, and only that plugin may be the `sender` or `subscriber`.
///
/// Every call is checked against both policies, default deny, and throws `PluginError`: `senderMismatch`, `notAllowed`
/// (the sender's policy), `noReceiver` (nobody's policy takes it), `reentrancyLimit`, `notRunning`, `unknownPlugin`; or
/// what the receiver threw. Calls run on the caller's thread and return when the receiver has.
public protocol MessageSending: AnyObject, Sendable {
    /// The outputs of an event. Several plugins that publish it are merged, each in its own order.
    func publisher(
        forEvent event: Message, payload: JSONObject?, subscriber: any PluginProtocol
    ) throws -> EventPublisher
    /// Returning means: accepted.
    func send(command: Message, payload: JSONObject?, sender: any PluginProtocol) throws
    func send(query: Message, payload: JSONObject?, sender: any PluginProtocol) throws -> JSONObject
    func send(viewQuery: Message, payload: JSONObject?, sender: any PluginProtocol) throws -> ViewDocument
}

/// What the hub's own `MessageSending` can do besides: keep work and subscriptions for as long as the plugin stays.
///
///     messageSender.context?.run { [infos] in
///         infos.send(.success(await fetch(), correlationId: command.id))
///     }
public protocol PluginContext: MessageSending {
    /// Runs `work` as a task of the plugin's scope, called from the initialiser once the plugin runs. When the plugin
    /// leaves, the task is cancelled and waited for. Returns `false`, and runs nothing, once the plugin has left.
    @discardableResult func run(_ work: @escaping @Sendable () async -> Void) -> Bool

    /// Keeps `subscription` until the plugin leaves, then cancels it; at once if it has left.
    func keep(_ subscription: EventSubscription)
}

extension MessageSending {
    /// This sender as a context; `nil` for one that is not the hub's own, such as one a test wrote. `context?.run { … }`
    /// then runs nothing: in tests, register the plugin with a `Hub`.
    public var context: (any PluginContext)? { self as? any PluginContext }
}
