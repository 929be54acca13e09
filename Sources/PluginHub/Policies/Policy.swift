import Primitives

/// The messages that a plugin may send, receive, publish and subscribe to. Messages that it does not list are denied.
///
/// The JSON form has these members: `name`; `send` and `receive`, each with `commands`, `queries`,
/// `viewControllerQueries` and `requests`; `publish`, `subscribe` and `subscribeAtAppLaunch`, each with `events`. A
/// missing list is empty, and an unknown member is ignored. `requests` has no effect and causes a warning.
///
///     Policy(name: "Journey", send: .init(commands: ["info.refresh"]), subscribe: ["info"])
public struct Policy: Sendable, Codable, Equatable {
    /// The name of the plugin, which is unique in its hub.
    public var name: String
    /// The messages that the plugin may send.
    public var send: Exchange
    /// The messages that the plugin receives.
    public var receive: Exchange
    /// The events that the plugin publishes.
    public var publish: Events
    /// The events that the plugin may subscribe to with `publisher(forEvent:payload:subscriber:)`.
    public var subscribe: Events
    /// The events whose publishers the hub passes to the plugin once all plugins are created. Includes the permission
    /// to subscribe.
    public var subscribeAtAppLaunch: Events

    /// Creates a policy.
    ///
    /// - Parameters:
    ///   - name: The name of the plugin.
    ///   - send: The messages that the plugin may send.
    ///   - receive: The messages that the plugin receives.
    ///   - publish: The events that the plugin publishes.
    ///   - subscribe: The events that the plugin may subscribe to.
    ///   - subscribeAtAppLaunch: The events whose publishers the plugin receives at launch.
    public init(
        name: String, send: Exchange = .init(), receive: Exchange = .init(), publish: Events = .init(),
        subscribe: Events = .init(), subscribeAtAppLaunch: Events = .init()
    ) {
        self.name = name
        self.send = send
        self.receive = receive
        self.publish = publish
        self.subscribe = subscribe
        self.subscribeAtAppLaunch = subscribeAtAppLaunch
    }

    /// Decodes a policy.
    ///
    /// - Parameter decoder: The decoder.
    /// - Throws: `DecodingError` when a member has the wrong type or the name is missing.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        name = try container.decode(String.self, forKey: .name)
        send = try container.decodeIfPresent(Exchange.self, forKey: .send) ?? Exchange()
        receive = try container.decodeIfPresent(Exchange.self, forKey: .receive) ?? Exchange()
        publish = try container.decodeIfPresent(Events.self, forKey: .publish) ?? Events()
        subscribe = try container.decodeIfPresent(Events.self, forKey: .subscribe) ?? Events()
        subscribeAtAppLaunch =
            try container.decodeIfPresent(Events.self, forKey: .subscribeAtAppLaunch) ?? Events()
    }
}

extension Policy {
    /// The messages of one direction.
    public struct Exchange: Sendable, Codable, Equatable {
        /// The commands.
        public var commands: [String]
        /// The queries.
        public var queries: [String]
        /// The view queries. The JSON of a policy uses this name.
        public var viewControllerQueries: [String]
        /// The requests, which some existing policies contain. They have no effect.
        public var requests: [String]

        /// Creates lists of messages.
        ///
        /// - Parameters:
        ///   - commands: The commands.
        ///   - queries: The queries.
        ///   - viewControllerQueries: The view queries.
        ///   - requests: The requests, which have no effect.
        public init(
            commands: [String] = [], queries: [String] = [], viewControllerQueries: [String] = [],
            requests: [String] = []
        ) {
            self.commands = commands
            self.queries = queries
            self.viewControllerQueries = viewControllerQueries
            self.requests = requests
        }

        /// Decodes the lists.
        ///
        /// - Parameter decoder: The decoder.
        /// - Throws: `DecodingError` when a list has the wrong type.
        public init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            commands = try container.decodeIfPresent([String].self, forKey: .commands) ?? []
            queries = try container.decodeIfPresent([String].self, forKey: .queries) ?? []
            viewControllerQueries = try container.decodeIfPresent([String].self, forKey: .viewControllerQueries) ?? []
            requests = try container.decodeIfPresent([String].self, forKey: .requests) ?? []
        }
    }

    /// A list of events.
    public struct Events: Sendable, Codable, Equatable, ExpressibleByArrayLiteral {
        /// The names of the events.
        public var events: [String]

        /// Creates a list of `events`.
        public init(events: [String] = []) { self.events = events }

        /// Creates a list of `events`.
        public init(arrayLiteral events: String...) { self.events = events }

        /// Decodes the list.
        ///
        /// - Parameter decoder: The decoder.
        /// - Throws: `DecodingError` when the list has the wrong type.
        public init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            events = try container.decodeIfPresent([String].self, forKey: .events) ?? []
        }
    }
}

extension Policy {
    /// Returns the messages of `kind` that the plugin may send, or the events that it may subscribe to.
    func outgoing(_ kind: MessageKind) -> [String] { outgoingLists(kind).flatMap(\.messages) }

    /// Returns the messages of `outgoing(_:)`, with the name of the list in the policy that contains them.
    func outgoingLists(_ kind: MessageKind) -> [(list: String, messages: [String])] {
        switch kind {
        case .command: [(kind.outgoingListName, send.commands)]
        case .query: [(kind.outgoingListName, send.queries)]
        case .viewQuery: [(kind.outgoingListName, send.viewControllerQueries)]
        case .event:
            [(kind.outgoingListName, subscribe.events), ("subscribeAtAppLaunch.events", subscribeAtAppLaunch.events)]
        }
    }

    /// Returns the messages of `kind` that the plugin receives, or the events that it publishes: what it offers to
    /// other plugins.
    func incoming(_ kind: MessageKind) -> [String] {
        switch kind {
        case .command: receive.commands
        case .query: receive.queries
        case .viewQuery: receive.viewControllerQueries
        case .event: publish.events
        }
    }
}

extension MessageKind {
    /// The name of the list in a policy that contains outgoing messages of this kind.
    var outgoingListName: String {
        switch self {
        case .command: "send.commands"
        case .query: "send.queries"
        case .viewQuery: "send.viewControllerQueries"
        case .event: "subscribe.events"
        }
    }

    /// The name of the list in a policy that contains incoming messages of this kind.
    var incomingListName: String {
        switch self {
        case .command: "receive.commands"
        case .query: "receive.queries"
        case .viewQuery: "receive.viewControllerQueries"
        case .event: "publish.events"
        }
    }
}
