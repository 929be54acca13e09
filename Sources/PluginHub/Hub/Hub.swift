import Primitives

/// Carries messages between plugins that do not know each other, as far as both their policies allow.
///
///     let hub = Hub()
///     hub.register(JourneyPlugin.self, configurationFiles: ["policy": "journey.policy.json"])
///     hub.register { sender, _ in StorePlugin(messageSender: sender, store: store) }
///     let report = hub.start()
///     for finding in report.findings { print(finding) }
///
/// A command, query or view query goes to the one plugin that receives it, an event comes from all that publish it.
/// Calls run on the caller's thread; the hub holds no lock while a plugin's code runs. The hub keeps its plugins until
/// they are deregistered, it is stopped, or it is released; releasing it cancels their tasks without waiting for them,
/// `stop()` waits.
public final class Hub: Sendable {
    private let configuration: Configuration
    private let state: Locked<HubState>
    private let traceReaders = TraceReaders()

    public init(configuration: Hub.Configuration = .init()) {
        self.configuration = configuration
        state = Locked(HubState(isPartialSet: configuration.isPartialSet))
    }

    deinit {
        for member in state.withLock({ $0.removeAll() }) { member.channel.close() }
        traceReaders.finish()
    }

    // MARK: - Plugins come

    /// Registers a plugin made by its initialiser with its own sender and `configurationFiles`: logical name → path.
    ///
    /// Before `start()` it is made there; after, at once, and then those it sends to and subscribes to must run already
    /// unless the configuration says `isPartialSet`. What is wrong with it stands in `report`.
    public func register<Plugin: PluginProtocol>(_ type: Plugin.Type, configurationFiles: [String: String] = [:]) {
        register(
            HubState.Registration(typeName: String(describing: type), configurationFiles: configurationFiles) {
                try Plugin(messageSender: $0, configurationFiles: $1)
            })
    }

    /// Registers a plugin made by `make`, for one that needs more than its initialiser is given.
    public func register(
        configurationFiles: [String: String] = [:],
        _ make: @escaping @Sendable (any MessageSending, [String: String]) throws -> any PluginProtocol
    ) {
        register(HubState.Registration(typeName: nil, configurationFiles: configurationFiles, make: make))
    }

    private func register(_ registration: HubState.Registration) {
        guard let era = state.withLock({ $0.register(registration) }) else { return }
        var newcomers: [Member] = []
        var failures: [Finding] = []
        make(registration, &newcomers, &failures)
        settle(state.withLock { $0.admit(newcomers, failures: failures, era: era) })
    }

    /// Makes the registered plugins in their order, checks their policies against each other, lets those run that have
    /// no error, and then hands out the events of `subscribeAtAppLaunch`: to one subscriber after the other in the order
    /// registered, each its events in the order of its list, each event from its publishers in the order registered.
    ///
    /// Policies and configuration files are read once, here or where the plugin is made: what changes in them later
    /// has no effect before the plugin is registered again.
    /// A plugin registered meanwhile, as by another's initialiser, belongs to the start. Starting again changes nothing.
    /// - Returns: all findings, as `report` does.
    @discardableResult public func start() -> Hub.Report {
        guard let era = state.withLock({ $0.beginStarting() }) else { return report }
        var newcomers: [Member] = []
        var failures: [Finding] = []
        while true {
            for registration in state.withLock({ $0.takePending(era: era) }) {
                make(registration, &newcomers, &failures)
            }
            let change = state.withLock { $0.finishStarting(newcomers, failures: failures, era: era) }
            guard let change else { continue }
            settle(change)
            return report
        }
    }

    private func make(_ registration: HubState.Registration, _ made: inout [Member], _ failures: inout [Finding]) {
        let channel = PluginChannel(configuration: configuration, trace: traceReaders)
        do {
            let plugin = try registration.make(channel, registration.configurationFiles)
            made.append(Member(policy: plugin.policy, plugin: plugin, channel: channel))
        } catch {
            channel.close()
            failures.append(registration.finding(error, isReadableFile: configuration.isReadableFile))
        }
    }

    /// Carries out what was decided under the lock.
    private func settle(_ change: HubState.Change) {
        for member in change.refused { member.channel.close() }
        publish(change)
        subscribeAtLaunch(change)
    }

    private func publish(_ change: HubState.Change) {
        for routes in change.routes { routes.owner.channel.take(routes) }
    }

    /// Gives each subscriber what its `subscribeAtAppLaunch` names: a newcomer from all publishers, one that runs
    /// already from the newcomers.
    private func subscribeAtLaunch(_ change: HubState.Change) {
        let newcomers = Set(change.admitted.map(\.identity))
        for subscriber in change.members {
            for name in subscriber.policy.subscribeAtAppLaunch.events.unique {
                let publishers = change.members.filter {
                    $0.policy.publish.events.contains(name)
                        && (newcomers.contains(subscriber.identity) || newcomers.contains($0.identity))
                }
                guard !publishers.isEmpty else { continue }
                let event = Message(checked: name, id: nil)
                let collected = subscriber.channel.collectAtLaunch(event, from: publishers)
                for (publisher, error) in collected.failures {
                    let finding = FindingRule.launchRefused.finding(
                        code: error.code, plugin: publisher.name, message: name,
                        "\"\(publisher.name)\" gave \"\(subscriber.name)\" no publisher of \"\(name)\" at launch: \(error.sentence)"
                    )
                    state.withLock { $0.warn(finding) }
                }
                guard let publisher = collected.publisher else { continue }
                subscriber.plugin.subscribe(toPublisher: publisher, forEvent: event)
            }
        }
    }

    // MARK: - Plugins go

    /// Takes the plugin out. No call begins for it any more, its subscriptions and those to its events end, its tasks are
    /// cancelled; returns when they have ended. Called from one of those tasks, it does not wait for that one; called from
    /// a task of a plugin that is leaving itself, it waits for none, so that no two wait for each other. A call that is
    /// just being handled on another thread ends on its own. An unknown name changes nothing.
    public func deregister(_ name: String) async {
        let (removed, isLeaving) = state.withLock { state in
            let isLeaving = TaskScope.callerIsLeaving
            return (state.remove(name), isLeaving)
        }
        guard let (member, change) = removed else { return }
        publish(change)
        member.channel.close()
        if !isLeaving { await member.channel.scope.drain() }
    }

    /// Takes all plugins out, in the opposite of the order registered, and waits for their tasks as `deregister` does.
    /// The hub then is as new: register and start again.
    public func stop() async {
        let (leaving, isLeaving) = state.withLock { state in
            let isLeaving = TaskScope.callerIsLeaving
            return (state.removeAll(), isLeaving)
        }
        for member in leaving.reversed() { member.channel.close() }
        if isLeaving { return }
        for member in leaving.reversed() { await member.channel.scope.drain() }
    }

    // MARK: - Looking

    /// The running plugin called `named`.
    public func plugin(named: String) -> (any PluginProtocol)? {
        state.withLock { state in state.members.first { $0.name.hasSameBytes(as: named) } }?.plugin
    }

    /// What runs and what is wrong, now.
    public var report: Hub.Report { state.withLock { $0.report } }

    /// Who says what to whom among the plugins that run, now; as text in several formats, see `HubGraph`.
    public var graph: HubGraph {
        HubGraph(policies: state.withLock { $0.members.map(\.policy) }, isPartialSet: configuration.isPartialSet)
    }

    /// Every decision, from the moment somebody reads; costs nothing while nobody does.
    public var trace: HubTrace {
        HubTrace { [weak self, traceReaders] observer in
            guard let self else {
                observer.finish()
                return EventSubscription()
            }
            let detach = traceReaders.attach(observer)
            publish(state.withLock { $0.countTraceReaders(1) })
            return EventSubscription { [weak self] in
                detach()
                guard let self else { return }
                publish(state.withLock { $0.countTraceReaders(-1) })
            }
        }
    }
}
