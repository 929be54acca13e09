import Primitives

/// A router of messages between plugins that do not depend on each other. It passes a message only if the policies of
/// its sender and its receiver allow it.
///
///     let hub = Hub()
///     hub.register(JourneyPlugin.self, configurationFiles: ["policy": "journey.policy.json"])
///     hub.register { sender, _ in StorePlugin(messageSender: sender, store: store) }
///     let report = hub.start()
///     for finding in report.findings { print(finding) }
///
/// A command, query or view query goes to the one plugin that receives it. An event comes from all plugins that publish
/// it. Calls run on the thread of the caller, and the hub holds no lock while the code of a plugin runs.
///
/// The hub keeps its plugins until they are deregistered, or the hub is stopped or released. Releasing it cancels their
/// tasks without waiting for them; `stop()` waits.
public final class Hub: Sendable {
    private let configuration: Configuration
    private let state: Locked<HubState>
    private let traceReaders = TraceReaders()

    /// Creates a hub without plugins.
    ///
    /// - Parameter configuration: The settings.
    public init(configuration: Hub.Configuration = .init()) {
        self.configuration = configuration
        state = Locked(HubState(isPartialSet: configuration.isPartialSet))
    }

    deinit {
        for member in state.withLock({ $0.removeAll() }) { member.channel.close() }
        traceReaders.finish()
    }

    /// Registers a plugin by its type. The hub creates it with the initialiser of `PluginProtocol`.
    ///
    /// Before `start()` the plugin is only recorded; `start()` creates it. After `start()` it is created at once. The
    /// plugins to which it sends or subscribes must then be running, unless `isPartialSet` is set. Problems appear in
    /// `report`.
    ///
    /// - Parameters:
    ///   - type: The type of the plugin.
    ///   - configurationFiles: The paths of the configuration files by logical name.
    public func register<Plugin: PluginProtocol>(_ type: Plugin.Type, configurationFiles: [String: String] = [:]) {
        register(
            HubState.Registration(typeName: String(describing: type), configurationFiles: configurationFiles) {
                try Plugin(messageSender: $0, configurationFiles: $1)
            })
    }

    /// Registers a plugin that a function creates, for example to pass it more values than the initialiser of
    /// `PluginProtocol` takes.
    ///
    /// - Parameters:
    ///   - configurationFiles: The paths of the configuration files by logical name.
    ///   - make: A function that creates the plugin from its connection and the paths.
    public func register(
        configurationFiles: [String: String] = [:],
        _ make: @escaping @Sendable (any MessageSending, [String: String]) throws -> any PluginProtocol
    ) {
        register(HubState.Registration(typeName: nil, configurationFiles: configurationFiles, make: make))
    }

    private func register(_ registration: HubState.Registration) {
        guard let generation = state.withLock({ $0.register(registration) }) else { return }
        var newMembers: [Member] = []
        var failures: [Finding] = []
        make(registration, &newMembers, &failures)
        apply(state.withLock { $0.admit(newMembers, failures: failures, generation: generation) })
    }

    /// Creates the registered plugins in their order, checks their policies together, and runs those without errors.
    ///
    /// Then it passes the publishers of the `subscribeAtAppLaunch` events to the plugins. It does so for each
    /// subscriber in the order of registration, and for each event in the order of the subscriber's list. The
    /// publishers of an event are merged in the order of registration.
    ///
    /// Policies and configuration files are read once. Later changes have no effect until the plugin is registered
    /// again. A plugin that is registered during the start, for example by another plugin's initialiser, is started
    /// too. A second call changes nothing.
    ///
    /// - Returns: The same as `report`.
    @discardableResult public func start() -> Hub.Report {
        guard let generation = state.withLock({ $0.beginStarting() }) else { return report }
        var newMembers: [Member] = []
        var failures: [Finding] = []
        while true {
            for registration in state.withLock({ $0.takePending(generation: generation) }) {
                make(registration, &newMembers, &failures)
            }
            let change = state.withLock { $0.finishStarting(newMembers, failures: failures, generation: generation) }
            guard let change else { continue }
            apply(change)
            return report
        }
    }

    private func make(_ registration: HubState.Registration, _ newMembers: inout [Member], _ failures: inout [Finding])
    {
        let channel = PluginChannel(configuration: configuration, trace: traceReaders)
        do {
            let plugin = try registration.make(channel, registration.configurationFiles)
            newMembers.append(Member(policy: plugin.policy, plugin: plugin, channel: channel))
        } catch {
            channel.close()
            failures.append(registration.finding(error, isReadableFile: configuration.isReadableFile))
        }
    }

    /// Applies a change that was decided under the lock.
    private func apply(_ change: HubState.Change) {
        for member in change.refused { member.channel.close() }
        publish(change)
        subscribeAtLaunch(change)
    }

    private func publish(_ change: HubState.Change) {
        for routes in change.routes { routes.owner.channel.take(routes) }
    }

    /// Passes the publishers of `subscribeAtAppLaunch` events. A new plugin gets the publishers of all plugins. A
    /// plugin that ran before gets only those of the new plugins.
    private func subscribeAtLaunch(_ change: HubState.Change) {
        let newMembers = Set(change.admitted.map(\.identity))
        for subscriber in change.members {
            for name in subscriber.policy.subscribeAtAppLaunch.events.unique {
                let publishers = change.members.filter {
                    $0.policy.publish.events.contains(name)
                        && (newMembers.contains(subscriber.identity) || newMembers.contains($0.identity))
                }
                guard !publishers.isEmpty else { continue }
                let event = Message(checked: name, id: nil)
                let collected = subscriber.channel.collectAtLaunch(event, from: publishers)
                for (publisher, error) in collected.failures {
                    let finding = FindingRule.launchRefused.finding(
                        code: error.code, plugin: publisher.name, message: name,
                        "\"\(publisher.name)\" refused the subscription of \"\(subscriber.name)\" to \"\(name)\" at launch: \(error.sentence)"
                    )
                    state.withLock { $0.warn(finding) }
                }
                guard let publisher = collected.publisher else { continue }
                subscriber.plugin.subscribe(toPublisher: publisher, forEvent: event)
            }
        }
    }

    /// Removes a plugin and waits for its tasks. An unknown name has no effect.
    ///
    /// No new call reaches the plugin. Its subscriptions and the subscriptions to its events end, and its tasks are
    /// cancelled. A call that runs on another thread continues to its end.
    ///
    /// If one of those tasks calls this function, the function waits only for the other tasks. If the caller is a task
    /// of a plugin that was removed earlier, the function waits for no task. Otherwise two tasks could wait for each
    /// other.
    ///
    /// - Parameter name: The name of the plugin.
    public func deregister(_ name: String) async {
        let (removed, callerWasRemoved) = state.withLock { state in
            let callerWasRemoved = TaskScope.callerWasRemoved
            return (state.remove(name), callerWasRemoved)
        }
        guard let (member, change) = removed else { return }
        publish(change)
        member.channel.close()
        if !callerWasRemoved { await member.channel.scope.drain() }
    }

    /// Removes all plugins, in the reverse order of registration, and waits for their tasks like `deregister`.
    /// Afterwards the hub is empty and can be used again.
    public func stop() async {
        let (removed, callerWasRemoved) = state.withLock { state in
            let callerWasRemoved = TaskScope.callerWasRemoved
            return (state.removeAll(), callerWasRemoved)
        }
        for member in removed.reversed() { member.channel.close() }
        if callerWasRemoved { return }
        for member in removed.reversed() { await member.channel.scope.drain() }
    }

    /// Returns a running plugin.
    ///
    /// - Parameter named: The name of the plugin.
    /// - Returns: The plugin, or `nil` if none with this name is running.
    public func plugin(named: String) -> (any PluginProtocol)? {
        state.withLock { state in state.members.first { $0.name.hasSameBytes(as: named) } }?.plugin
    }

    /// The running plugins and the current problems.
    public var report: Hub.Report { state.withLock { $0.report } }

    /// The running plugins and the messages between them. `HubGraph` converts it to text in several formats.
    public var graph: HubGraph {
        HubGraph(policies: state.withLock { $0.members.map(\.policy) }, isPartialSet: configuration.isPartialSet)
    }

    /// The decisions that the hub makes while the trace is read. Without readers, the hub records nothing.
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
