import Primitives

/// The connection of one plugin to the hub. It belongs to that plugin, so a plugin cannot send in the name of another.
final class PluginChannel: PluginContext {
    private let configuration: Hub.Configuration
    private let trace: TraceReaders
    private let state = Locked(State.waiting)
    let scope = TaskScope()
    let links = LinkSet()

    private enum State: Sendable {
        case waiting
        case running(MessageRoutes)
        case closed(name: String?)
    }

    init(configuration: Hub.Configuration, trace: TraceReaders) {
        self.configuration = configuration
        self.trace = trace
    }

    /// Replaces the routes by newer ones. Ignores older routes, and all routes after the plugin has left.
    func take(_ routes: MessageRoutes) {
        // The old routes are released outside of the lock, because that can release plugins.
        let old: State = state.withLock { state in
            let old = state
            switch old {
            case .running(let present) where present.version >= routes.version: break
            case .closed: break
            default: state = .running(routes)
            }
            return old
        }
        if case .waiting = old { scope.open() }
        withExtendedLifetime(old) {}
    }

    /// Ends the plugin's connection: no further messages, subscriptions or tasks. Wait for cancelled tasks with
    /// `scope.drain()`.
    func close() {
        let old: State = state.withLock { state in
            let old = state
            switch old {
            case .waiting: state = .closed(name: nil)
            case .running(let routes): state = .closed(name: routes.owner.name)
            case .closed: break
            }
            return old
        }
        withExtendedLifetime(old) {}
        links.close()
        scope.close()
    }

    // MARK: - PluginContext

    @discardableResult func run(_ work: @escaping @Sendable () async -> Void) -> Bool { scope.run(work) }

    func keep(_ subscription: EventSubscription) { links.keep(subscription) }

    // MARK: - MessageSending

    func send(command: Message, payload: JSONObject?, sender: any PluginProtocol) throws {
        try call(.command, command, sender) { try $0.onReceive(command: command, payload: payload) }
    }

    func send(query: Message, payload: JSONObject?, sender: any PluginProtocol) throws -> JSONObject {
        try call(.query, query, sender) { try $0.onReceive(query: query, payload: payload) }
    }

    func send(viewQuery: Message, payload: JSONObject?, sender: any PluginProtocol) throws -> ViewDocument {
        try call(.viewQuery, viewQuery, sender) { try $0.onReceive(viewQuery: viewQuery, payload: payload) }
    }

    private func call<Answer>(
        _ kind: MessageKind, _ message: Message, _ sender: any PluginProtocol,
        _ deliver: (any PluginProtocol) throws -> Answer
    ) throws -> Answer {
        guard case .running(let routes) = state.withLock({ $0 }), !routes.isTraced else {
            return try recorded(kind, message, sender, as: .delivered) { routes throws(PluginError) in
                [try routes.receiver(of: message, kind)]
            } deliver: {
                try deliver($0[0].plugin)
            }
        }
        try check(sender, routes, message)
        let receiver = try routes.receiver(of: message, kind)
        return try nested(routes, message) { try deliver(receiver.plugin) }
    }

    func publisher(
        forEvent event: Message, payload: JSONObject?, subscriber: any PluginProtocol
    ) throws -> EventPublisher {
        guard case .running(let routes) = state.withLock({ $0 }), !routes.isTraced else {
            return try recorded(.event, event, subscriber, as: .subscribed) { routes throws(PluginError) in
                try routes.publishers(of: event)
            } deliver: {
                try collect($0, event, payload)
            }
        }
        try check(subscriber, routes, event)
        let publishers = try routes.publishers(of: event)
        return try nested(routes, event) { try collect(publishers, event, payload) }
    }

    /// Merges the publishers of all members that accept the subscription, and records the errors of the others in the
    /// trace. If no member accepts it, throws the error of the first.
    private func collect(_ members: [Member], _ event: Message, _ payload: JSONObject?) throws -> EventPublisher {
        let answers = members.map { ask($0, event, payload) }
        let publishers = answers.compactMap { try? $0.get() }
        guard !publishers.isEmpty else { return try answers[0].get() }
        for (member, answer) in zip(members, answers) {
            if case .failure(let error) = answer { recordFailure(of: member, event, error) }
        }
        return .merge(publishers)
    }

    /// Returns the publishers for a plugin at launch, merged, and the errors of the members that did not accept.
    func collectAtLaunch(
        _ event: Message, from members: [Member]
    ) -> (publisher: EventPublisher?, failures: [(publisher: Member, error: PluginError)]) {
        let began = configuration.elapsed()
        var publishers: [EventPublisher] = []
        var failures: [(publisher: Member, error: PluginError)] = []
        for member in members {
            do {
                publishers.append(try ask(member, event, nil).get())
            } catch {
                let error = PluginError.wrapping(error, plugin: member.name, message: event.name)
                failures.append((member, error))
                recordFailure(of: member, event, error)
            }
        }
        guard !publishers.isEmpty else { return (nil, failures) }
        let accepting = members.filter { member in !failures.contains { $0.publisher === member } }
        record(.event, event, name, accepting.map(\.name), .subscribed, nil, began)
        return (.merge(publishers), failures)
    }

    private func ask(_ member: Member, _ event: Message, _ payload: JSONObject?) -> Result<EventPublisher, any Error> {
        Result {
            let publisher = try member.plugin.publisher(forEvent: event, payload: payload)
            return traced(Link.publisher(publisher, between: [links, member.channel.links]), of: member, event)
        }
    }

    /// Returns the same outputs. While the trace has readers, each output that reaches this plugin is recorded in the
    /// trace.
    private func traced(_ publisher: EventPublisher, of member: Member, _ event: Message) -> EventPublisher {
        let (trace, sender) = (trace, member.name)
        return EventPublisher(subscribe: { observer in
            publisher.subscribe(
                observer.noting(in: trace) { [weak self] output, deliver in
                    guard let self else { return deliver() }
                    let began = configuration.elapsed()
                    deliver()
                    record(
                        .event, event.with(id: output.correlationId), sender, [name].compactMap(\.self), .delivered,
                        nil, began)
                })
        })
    }

    // MARK: - Checks

    private func check(_ sender: any PluginProtocol, _ routes: MessageRoutes, _ message: Message) throws(PluginError) {
        guard ObjectIdentifier(sender) == routes.owner.identity else {
            let name = routes.owner.name
            throw PluginError(
                .senderMismatch,
                "The plugin \"\(name)\" passed another plugin as the sender of \"\(message.name)\": pass `self`.",
                plugin: name, message: message.name)
        }
    }

    private func nested<Answer>(
        _ routes: MessageRoutes, _ message: Message, _ body: () throws -> Answer
    ) throws -> Answer {
        let depth = CallDepth.current
        guard depth < configuration.reentrancyLimit else {
            let limit = configuration.reentrancyLimit
            throw PluginError(
                .reentrancyLimit,
                "\"\(message.name)\" was not sent, because \(limit) calls are already nested: look for plugins that call each other in a loop, or raise reentrancyLimit (\(limit)).",
                plugin: routes.owner.name, message: message.name)
        }
        CallDepth.current = depth + 1
        defer { CallDepth.current = depth }
        return try body()
    }

    // MARK: - Trace

    /// Makes a call and records it in the trace. Used for a plugin that is not running, and while the trace has
    /// readers.
    private func recorded<Answer>(
        _ kind: MessageKind, _ message: Message, _ sender: any PluginProtocol, as verdict: TraceEntry.Verdict,
        find: (MessageRoutes) throws(PluginError) -> [Member], deliver: ([Member]) throws -> Answer
    ) throws -> Answer {
        let began = configuration.elapsed()
        var receivers: [Member] = []
        var wasCalled = false
        do {
            let routes: MessageRoutes
            switch state.withLock({ $0 }) {
            case .running(let present): routes = present
            case .waiting: throw notRunning(message)
            case .closed(let name): throw left(name, message)
            }
            try check(sender, routes, message)
            receivers = try find(routes)
            let answer = try nested(routes, message) {
                wasCalled = true
                return try deliver(receivers)
            }
            record(kind, message, name, receivers.map(\.name), verdict, nil, began)
            return answer
        } catch {
            let reason = PluginError.wrapping(error, plugin: receivers.first?.name ?? "", message: message.name)
            record(kind, message, name, receivers.map(\.name), wasCalled ? .failed : .refused, reason, began)
            throw error
        }
    }

    private func recordFailure(of member: Member, _ event: Message, _ error: any Error) {
        let reason = PluginError.wrapping(error, plugin: member.name, message: event.name)
        record(.event, event, name, [member.name], .failed, reason, configuration.elapsed())
    }

    private func record(
        _ kind: MessageKind, _ message: Message, _ sender: String?, _ receivers: [String],
        _ verdict: TraceEntry.Verdict, _ reason: PluginError?, _ began: Duration
    ) {
        let duration = configuration.elapsed() - began
        let isQuery = kind == .query || kind == .viewQuery
        trace.send(
            TraceEntry(
                kind: kind, message: message, sender: sender, receivers: receivers, verdict: verdict,
                reason: reason, began: began, duration: duration,
                isOverBudget: isQuery && duration > configuration.queryBudget))
    }

    /// The name of the plugin, or `nil` if it has not run.
    private var name: String? {
        switch state.withLock({ $0 }) {
        case .waiting: nil
        case .running(let routes): routes.owner.name
        case .closed(let name): name
        }
    }

    // MARK: - Refusals

    private func notRunning(_ message: Message) -> PluginError {
        PluginError(
            .notRunning,
            "\"\(message.name)\" was sent by a plugin that does not run yet: send after start(), not from an initialiser.",
            message: message.name)
    }

    private func left(_ name: String?, _ message: Message) -> PluginError {
        PluginError(
            .unknownPlugin,
            "\"\(message.name)\" was sent by \(name.map { "the plugin \"\($0)\", which has left" } ?? "a plugin that was refused"): register it again.",
            plugin: name, message: message.name)
    }
}
