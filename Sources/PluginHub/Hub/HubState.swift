import Primitives

/// The registered and running plugins. The hub's lock protects this value, so its methods call no code of plugins.
struct HubState: Sendable {
    /// A registered plugin: the function that creates it, and its configuration files.
    struct Registration: Sendable {
        /// The name of the type, if known. Findings use it if the plugin cannot be created.
        let typeName: String?
        let configurationFiles: [String: String]
        let make: @Sendable (any MessageSending, [String: String]) throws -> any PluginProtocol

        /// Returns the finding for an error of the plugin's initialiser.
        func finding(_ error: any Error, isReadableFile: (String) -> Bool) -> Hub.Finding {
            let subject = typeName.map { "The plugin \($0)" } ?? "A plugin"
            func finding(_ rule: FindingRule, _ reason: String) -> Hub.Finding {
                rule.finding(plugin: typeName, "\(subject) could not be created and does not run: \(reason)")
            }
            if let error = error as? PluginError {
                let isFile = error.code == .unreadableConfiguration
                return finding(isFile ? .unreadableConfiguration : .creationFailed, error.sentence)
            }
            // A missing file can cause any error, so the hub checks the files themselves.
            let unreadable = configurationFiles.sorted { $0.key < $1.key }.filter { !isReadableFile($0.value) }
            let reason = "\(error)"
            guard let file = unreadable.first(where: { reason.contains($0.value) }) ?? unreadable.first else {
                return finding(.creationFailed, reason)
            }
            return finding(
                .unreadableConfiguration,
                "its configuration file \"\(file.key)\" cannot be read; check that \(file.value) exists and may be read. The initialiser threw: \(reason)"
            )
        }
    }

    /// A change of the running plugins, with the routes to publish after the lock is released.
    struct Change: Sendable {
        var routes: [MessageRoutes] = []
        /// The plugins that run from now on.
        var admitted: [Member] = []
        /// The new plugins that were not admitted.
        var refused: [Member] = []
        /// All running plugins, in the order of registration.
        var members: [Member] = []
    }

    enum Phase: Sendable { case idle, starting, running }

    private(set) var phase = Phase.idle
    /// The number of calls of `stop()`. A start or registration that began before `stop()` admits no plugins.
    private(set) var generation = 0
    private var pending: [Registration] = []
    private(set) var members: [Member] = []
    private var refusals: [Hub.Finding] = []
    private var warnings: [Hub.Finding] = []
    private var version = 0
    private var traceReaders = 0

    var report: Hub.Report {
        Hub.Report(
            findings: refusals + warnings + PolicyReview.gaps(among: members.map(\.policy), isPartialSet: isPartialSet),
            running: members.map(\.name))
    }

    /// Registers a plugin. Returns the current generation if the hub is running and must create the plugin now.
    /// Otherwise returns `nil`, and the current or next start creates the plugin.
    mutating func register(_ registration: Registration) -> Int? {
        if phase == .running { return generation }
        pending.append(registration)
        return nil
    }

    /// Returns the generation of the start, or `nil` if the start has begun already.
    mutating func beginStarting() -> Int? {
        guard phase == .idle else { return nil }
        phase = .starting
        return generation
    }

    /// Returns the pending registrations, and removes them. Returns none if `stop()` was called since `generation`.
    mutating func takePending(generation: Int) -> [Registration] {
        guard generation == self.generation else { return [] }
        let taken = pending
        pending = []
        return taken
    }

    /// Admits the new plugins and ends the start. Returns `nil`, and changes nothing, if more registrations are
    /// pending. Refuses all new plugins if `stop()` was called since `generation`.
    mutating func finishStarting(_ newMembers: [Member], failures: [Hub.Finding], generation: Int) -> Change? {
        guard generation == self.generation else { return Change(refused: newMembers) }
        guard pending.isEmpty else { return nil }
        phase = .running
        return admit(newMembers, failures: failures, generation: generation)
    }

    mutating func admit(_ newMembers: [Member], failures: [Hub.Finding], generation: Int) -> Change {
        guard generation == self.generation else { return Change(refused: newMembers) }
        // A missing receiver or publisher may be a plugin that could not be created. The others run without it.
        let review = PolicyReview(
            candidates: newMembers.map(\.policy), members: members.map(\.policy),
            allowsMissingPlugins: isPartialSet || !failures.isEmpty)
        var change = Change()
        forgetRefusals(of: newMembers.indices.filter { review.errors[$0].isEmpty }.map { newMembers[$0] })
        addRefusals(failures)
        for (index, member) in newMembers.enumerated() {
            if review.errors[index].isEmpty {
                change.admitted.append(member)
                members.append(member)
                warnings += review.warnings[index]
            } else {
                change.refused.append(member)
                addRefusals(review.errors[index] + review.warnings[index])
            }
        }
        addRoutes(to: &change)
        return change
    }

    /// Removes a plugin. Returns the plugin and the change for the others, or `nil` if no plugin with this name runs.
    mutating func remove(_ name: String) -> (Member, Change)? {
        guard let index = members.firstIndex(where: { $0.name.hasSameBytes(as: name) }) else { return nil }
        let member = members.remove(at: index)
        member.channel.scope.markRemoved()
        warnings.removeAll { $0.plugin == name }
        refusals.removeAll { $0.plugin == name }
        var change = Change()
        addRoutes(to: &change)
        return (member, change)
    }

    /// Removes all plugins. The hub is then empty and can be started again.
    mutating func removeAll() -> [Member] {
        let removed = members
        for member in removed { member.channel.scope.markRemoved() }
        generation += 1
        phase = .idle
        pending = []
        members = []
        refusals = []
        warnings = []
        return removed
    }

    /// Records a problem of a running plugin. The problem is reported until the plugin is removed.
    mutating func warn(_ finding: Hub.Finding) {
        guard members.contains(where: { $0.name == finding.plugin }), !warnings.contains(finding) else { return }
        warnings.append(finding)
    }

    /// Changes the number of readers of the trace. New routes are published when the first reader begins or the last
    /// ends.
    mutating func countTraceReaders(_ difference: Int) -> Change {
        let wasTraced = traceReaders > 0
        traceReaders += difference
        var change = Change()
        if wasTraced != (traceReaders > 0) { addRoutes(to: &change) }
        return change
    }

    /// Removes the findings about earlier refusals of the admitted plugins, by name or by type.
    private mutating func forgetRefusals(of admitted: [Member]) {
        let names = Set(admitted.flatMap { [$0.name, String(describing: type(of: $0.plugin))] })
        refusals.removeAll { names.contains($0.plugin ?? "") }
    }

    private mutating func addRefusals(_ findings: [Hub.Finding]) {
        for finding in findings where !refusals.contains(finding) { refusals.append(finding) }
    }

    private mutating func addRoutes(to change: inout Change) {
        version += 1
        change.members = members
        let policies = members.map(\.policy)
        change.routes = members.map {
            MessageRoutes(
                owner: $0, members: members, policies: policies, version: version, isTraced: traceReaders > 0)
        }
    }

    private let isPartialSet: Bool

    init(isPartialSet: Bool) { self.isPartialSet = isPartialSet }
}
