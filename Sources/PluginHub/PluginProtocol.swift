/// A part of an app that communicates with other parts only through the hub.
///
/// Only `init` and `policy` are required. The other methods have default implementations, so a plugin implements only
/// the methods that its policy needs. By default, `subscribe(toPublisher:forEvent:)` does nothing, and the others throw
/// `unsupportedMessage`. The hub calls a plugin on the thread of the sender and holds no lock during the call. Several
/// threads can call a plugin at the same time.
public protocol PluginProtocol: AnyObject, Sendable {
    /// Creates the plugin. The hub calls it in `start()`, or at registration if the hub is running.
    ///
    /// - Parameters:
    ///   - messageSender: The plugin's own connection to the hub, which is also a `PluginContext`. It works once the
    ///     plugin is running, so not yet inside the initialiser.
    ///   - configurationFiles: The paths of the configuration files by logical name, as given at registration.
    /// - Throws: Any error that keeps the plugin from working, such as a missing file. The hub then omits the plugin
    ///   and reports the error. Other plugins run.
    init(messageSender: any MessageSending, configurationFiles: [String: String]) throws

    /// The messages that the plugin may send, receive, publish and subscribe to. The hub reads it once, after it
    /// created the plugin.
    var policy: Policy { get }

    /// Returns a publisher of an event that the policy lists under `publish`. Later errors are outputs with a failure.
    ///
    /// - Parameters:
    ///   - event: The event.
    ///   - payload: The parameters of the event, or `nil`.
    /// - Returns: A publisher of the outputs.
    /// - Throws: An error when the plugin cannot use the payload.
    func publisher(forEvent event: Message, payload: JSONObject?) throws -> EventPublisher

    /// Receives the publisher of an event of `subscribeAtAppLaunch`, after all plugins were created. If another plugin
    /// starts later and publishes the event, receives that plugin's publisher too. The default implementation ignores
    /// it.
    ///
    /// - Parameters:
    ///   - publisher: The publisher, merged from the plugins that publish the event.
    ///   - event: The event.
    func subscribe(toPublisher publisher: EventPublisher, forEvent event: Message)

    /// Executes a command.
    ///
    /// The plugin accepts the command by returning. Results and later failures are events with the id of the command.
    ///
    /// - Parameters:
    ///   - command: The command.
    ///   - payload: The parameters of the command, or `nil`.
    /// - Throws: An error when the plugin does not accept the command.
    func onReceive(command: Message, payload: JSONObject?) throws

    /// Returns known data, quickly and without side effects.
    ///
    /// - Parameters:
    ///   - query: The query.
    ///   - payload: The parameters of the query, or `nil`.
    /// - Returns: The answer.
    /// - Throws: An error when the plugin cannot answer.
    func onReceive(query: Message, payload: JSONObject?) throws -> JSONObject

    /// Returns the description of a screen.
    ///
    /// - Parameters:
    ///   - viewQuery: The view query.
    ///   - payload: The parameters of the query, or `nil`.
    /// - Returns: The screen.
    /// - Throws: An error when the plugin cannot show the screen.
    func onReceive(viewQuery: Message, payload: JSONObject?) throws -> ViewDocument
}

extension PluginProtocol {
    /// Throws `unsupportedMessage`.
    ///
    /// - Parameters:
    ///   - event: The event.
    ///   - payload: The parameters of the event.
    /// - Returns: Nothing; the function always throws.
    /// - Throws: `PluginError` with the code `unsupportedMessage`.
    public func publisher(forEvent event: Message, payload: JSONObject?) throws -> EventPublisher {
        throw unsupported(.event, event)
    }

    /// Ignores the publisher.
    ///
    /// - Parameters:
    ///   - publisher: The publisher.
    ///   - event: The event.
    public func subscribe(toPublisher publisher: EventPublisher, forEvent event: Message) {}

    /// Throws `unsupportedMessage`.
    ///
    /// - Parameters:
    ///   - command: The command.
    ///   - payload: The parameters of the command.
    /// - Throws: `PluginError` with the code `unsupportedMessage`.
    public func onReceive(command: Message, payload: JSONObject?) throws { throw unsupported(.command, command) }

    /// Throws `unsupportedMessage`.
    ///
    /// - Parameters:
    ///   - query: The query.
    ///   - payload: The parameters of the query.
    /// - Returns: Nothing; the function always throws.
    /// - Throws: `PluginError` with the code `unsupportedMessage`.
    public func onReceive(query: Message, payload: JSONObject?) throws -> JSONObject {
        throw unsupported(.query, query)
    }

    /// Throws `unsupportedMessage`.
    ///
    /// - Parameters:
    ///   - viewQuery: The view query.
    ///   - payload: The parameters of the query.
    /// - Returns: Nothing; the function always throws.
    /// - Throws: `PluginError` with the code `unsupportedMessage`.
    public func onReceive(viewQuery: Message, payload: JSONObject?) throws -> ViewDocument {
        throw unsupported(.viewQuery, viewQuery)
    }

    /// Returns the error for the `default:` case of a plugin's `switch` over message names.
    ///
    /// - Parameters:
    ///   - kind: The kind of the message.
    ///   - message: The message.
    /// - Returns: An error with the code `unsupportedMessage`.
    public func unsupported(_ kind: MessageKind, _ message: Message) -> PluginError {
        let name = policy.name
        return PluginError(
            .unsupportedMessage,
            "The plugin \"\(name)\" does not handle the \(kind.noun) \"\(message.name)\": implement it or remove it from the plugin's policy.",
            plugin: name, message: message.name)
    }
}

/// A connection to the hub. Each plugin has its own, and only that plugin may be the `sender` or `subscriber`.
///
/// The hub checks each call against the policies of both sides and denies messages that they do not list. A call throws
/// the error of the receiver, or `PluginError` with one of these codes:
///
/// - `senderMismatch`: the sender is another plugin.
/// - `notAllowed`: the policy of the sender does not list the message.
/// - `noReceiver`: no running plugin receives the command, query or view query, or publishes the event.
/// - `reentrancyLimit`, `notRunning` or `unknownPlugin`, as `PluginError.Code` describes.
///
/// Calls run on the thread of the caller and return when the receiver has returned.
public protocol MessageSending: AnyObject, Sendable {
    /// Returns a publisher of an event. Merges the outputs of several plugins, and keeps the order of each plugin.
    ///
    /// - Parameters:
    ///   - event: The event, with the id for its outputs.
    ///   - payload: The parameters of the event, or `nil`.
    ///   - subscriber: The plugin that calls.
    /// - Returns: A publisher of the outputs.
    /// - Throws: `PluginError`, or the error of the publishing plugin.
    func publisher(
        forEvent event: Message, payload: JSONObject?, subscriber: any PluginProtocol
    ) throws -> EventPublisher
    /// Sends a command. When the function returns, the receiver has accepted the command.
    ///
    /// - Parameters:
    ///   - command: The command, with the id for its events.
    ///   - payload: The parameters of the command, or `nil`.
    ///   - sender: The plugin that calls.
    /// - Throws: `PluginError`, or the error of the receiver.
    func send(command: Message, payload: JSONObject?, sender: any PluginProtocol) throws
    /// Sends a query and returns its answer.
    ///
    /// - Parameters:
    ///   - query: The query.
    ///   - payload: The parameters of the query, or `nil`.
    ///   - sender: The plugin that calls.
    /// - Returns: The answer.
    /// - Throws: `PluginError`, or the error of the receiver.
    func send(query: Message, payload: JSONObject?, sender: any PluginProtocol) throws -> JSONObject
    /// Sends a view query and returns the screen.
    ///
    /// - Parameters:
    ///   - viewQuery: The view query.
    ///   - payload: The parameters of the query, or `nil`.
    ///   - sender: The plugin that calls.
    /// - Returns: The screen.
    /// - Throws: `PluginError`, or the error of the receiver.
    func send(viewQuery: Message, payload: JSONObject?, sender: any PluginProtocol) throws -> ViewDocument
}

/// A connection to the hub that also owns the tasks and subscriptions of a plugin until the plugin leaves.
///
///     messageSender.context?.run { [infos] in
///         infos.send(.success(await fetch(), correlationId: command.id))
///     }
public protocol PluginContext: MessageSending {
    /// Runs a task in the scope of the plugin. A task from the initialiser starts once the plugin is running. When the
    /// plugin leaves, the hub cancels the task and waits for it.
    ///
    /// - Parameter work: The work of the task.
    /// - Returns: `false`, without running the task, when the plugin has left.
    @discardableResult func run(_ work: @escaping @Sendable () async -> Void) -> Bool

    /// Keeps a subscription until the plugin leaves, and then cancels it. Cancels it at once if the plugin has left.
    ///
    /// - Parameter subscription: The subscription to keep.
    func keep(_ subscription: EventSubscription)
}

extension MessageSending {
    /// This connection as a context, or `nil` for other implementations, such as that of a test. `context?.run { … }`
    /// then runs nothing. To test a plugin that needs its context, register it with a `Hub`.
    public var context: (any PluginContext)? { self as? any PluginContext }
}
