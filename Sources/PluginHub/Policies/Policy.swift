import Primitives

/// What a plugin may say and hear. Whatever it does not list is denied.
///
/// As JSON it has the seed's shape: `name`; `send` and `receive`, each with `commands`, `queries`,
/// `viewControllerQueries`, `requests`; `publish`, `subscribe` and `subscribeAtAppLaunch`, each with `events`. A missing
/// list is empty, an unknown key is ignored. `requests` is read and warned about: there are none.
///
///     Policy(name: "Journey", send: .init(commands: ["info.refresh"]), subscribe: ["info"])
public struct Policy: Sendable, Codable, Equatable {
    /// The plugin's name, unique in its hub.
    public var name: String
    public var send: Exchange
    public var receive: Exchange
    public var publish: Events
    /// Events the plugin may ask for with `publisher(forEvent:payload:subscriber:)`.
    public var subscribe: Events
    /// Events the hub hands to the plugin once all are made; implies `subscribe`.
    public var subscribeAtAppLaunch: Events

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
        public var commands: [String]
        public var queries: [String]
        /// The view queries; the key is the seed's.
        public var viewControllerQueries: [String]
        /// Read because the seed's policies have it; never acted on.
        public var requests: [String]

        public init(
            commands: [String] = [], queries: [String] = [], viewControllerQueries: [String] = [],
            requests: [String] = []
        ) {
            self.commands = commands
            self.queries = queries
            self.viewControllerQueries = viewControllerQueries
            self.requests = requests
        }

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
        public var events: [String]

        public init(events: [String] = []) { self.events = events }

        public init(arrayLiteral events: String...) { self.events = events }

        public init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            events = try container.decodeIfPresent([String].self, forKey: .events) ?? []
        }
    }
}

extension Policy {
    /// The messages of `kind` the plugin may send, for an event ask for.
    func outgoing(_ kind: MessageKind) -> [String] { outgoingLists(kind).flatMap(\.messages) }

    /// The same, list by list.
    func outgoingLists(_ kind: MessageKind) -> [(list: String, messages: [String])] {
        switch kind {
        case .command: [(kind.outgoingList, send.commands)]
        case .query: [(kind.outgoingList, send.queries)]
        case .viewQuery: [(kind.outgoingList, send.viewControllerQueries)]
        case .event:
            [(kind.outgoingList, subscribe.events), ("subscribeAtAppLaunch.events", subscribeAtAppLaunch.events)]
        }
    }

    /// The messages of `kind` the plugin takes, for an event publishes.
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
    /// Where a policy lists what may be sent.
    var outgoingList: String {
        switch self {
        case .command: "send.commands"
        case .query: "send.queries"
        case .viewQuery: "send.viewControllerQueries"
        case .event: "subscribe.events"
        }
    }

    /// Where a policy lists what is taken.
    var incomingList: String {
        switch self {
        case .command: "receive.commands"
        case .query: "receive.queries"
        case .viewQuery: "receive.viewControllerQueries"
        case .event: "publish.events"
        }
    }
}
