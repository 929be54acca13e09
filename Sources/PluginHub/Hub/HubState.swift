import Primitives

/// Which plugins are registered and which run: a value, changed under the hub's lock, that calls nobody.
struct HubState: Sendable {
    /// How a plugin is made.
    struct Registration: Sendable {
        /// The name of its type, if known, for when it cannot be made.
        let typeName: String?
        let configurationFiles: [String: String]
        let make: @Sendable (any MessageSending, [String: String]) throws -> any PluginProtocol

        /// What to report when making it threw `error`.
        func finding(_ error: any Error, isReadableFile: (String) -> Bool) -> Hub.Finding {
            let subject = typeName.map { "The plugin \($0)" } ?? "A plugin"
            func finding(_ rule: FindingRule, _ reason: String) -> Hub.Finding {
                rule.finding(plugin: typeName, "\(subject) could not be made and is left out: \(reason)")
            }
            if let error = error as? PluginError {
                let isFile = error.code == .unreadableConfiguration
                return finding(isFile ? .unreadableConfiguration : .cannotBeMade, error.sentence)
            }
            // Whatever it threw: there are many ways to read a file, and as many errors.
            let unreadable = configurationFiles.sorted { $0.key < $1.key }.filter { !isReadableFile($0.value) }
            let reason = "\(error)"
            guard let file = unreadable.first(where: { reason.contains($0.value) }) ?? unreadable.first else {
                return finding(.cannotBeMade, reason)
            }
            return finding(
                .unreadableConfiguration,
                "its configuration file \"\(file.key)\" cannot be read; check that \(file.value) exists and may be read. It threw: \(reason)"
            )
        }
    }

    /// Routes to publish once the lock is free.
    struct Change: Sendable {
        var routes: [RouteTable] = []
        /// Those who run from now on.
        var admitted: [Member] = []
        /// Those who do not.
        var refused: [Member] = []
        /// All who run, in the order registered.
        var members: [Member] = []
    }

    enum Phase: Sendable { case idle, starting, running }

    private(set) var phase = Phase.idle
    /// Counts the calls of `stop()`, so that a start or a registration under way when it comes admits nobody.
    private(set) var era = 0
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

    /// The era to make the plugin in at once; `nil` if it waits for the start.
    mutating func register(_ registration: Registration) -> Int? {
        if phase == .running { return era }
        pending.append(registration)
        return nil
    }

    /// The era that begins; `nil` if it has begun already.
    mutating func beginStarting() -> Int? {
        guard phase == .idle else { return nil }
        phase = .starting
        return era
    }

    /// What is to be made; empty once nothing waits.
    mutating func takePending(era: Int) -> [Registration] {
        guard era == self.era else { return [] }
        let taken = pending
        pending = []
        return taken
    }

    /// Lets those of `newcomers` run that fit; `nil`, changing nothing, if more was registered meanwhile.
    mutating func finishStarting(_ newcomers: [Member], failures: [Hub.Finding], era: Int) -> Change? {
        guard era == self.era else { return Change(refused: newcomers) }
        guard pending.isEmpty else { return nil }
        phase = .running
        return admit(newcomers, failures: failures, era: era)
    }

    mutating func admit(_ newcomers: [Member], failures: [Hub.Finding], era: Int) -> Change {
        guard era == self.era else { return Change(refused: newcomers) }
        // One that could not be made may be the partner others lack: that is no reason to stop them too.
        let review = PolicyReview(
            candidates: newcomers.map(\.policy), members: members.map(\.policy),
            mayLackPartners: isPartialSet || !failures.isEmpty)
        var change = Change()
        forgetRefusals(of: newcomers.indices.filter { review.errors[$0].isEmpty }.map { newcomers[$0] })
        note(failures)
        for (index, newcomer) in newcomers.enumerated() {
            if review.errors[index].isEmpty {
                change.admitted.append(newcomer)
                members.append(newcomer)
                warnings += review.warnings[index]
            } else {
                change.refused.append(newcomer)
                note(review.errors[index] + review.warnings[index])
            }
        }
        publish(into: &change)
        return change
    }

    /// The plugin that leaves, and what changes for the others.
    mutating func remove(_ name: String) -> (Member, Change)? {
        guard let index = members.firstIndex(where: { $0.name.hasSameBytes(as: name) }) else { return nil }
        let member = members.remove(at: index)
        member.channel.scope.leave()
        warnings.removeAll { $0.plugin == name }
        refusals.removeAll { $0.plugin == name }
        var change = Change()
        publish(into: &change)
        return (member, change)
    }

    /// Everyone leaves; the hub is as new, and may be started again.
    mutating func removeAll() -> [Member] {
        let leaving = members
        for member in leaving { member.channel.scope.leave() }
        era += 1
        phase = .idle
        pending = []
        members = []
        refusals = []
        warnings = []
        return leaving
    }

    /// Something a running plugin did not manage; forgotten when it leaves.
    mutating func warn(_ finding: Hub.Finding) {
        guard members.contains(where: { $0.name == finding.plugin }), !warnings.contains(finding) else { return }
        warnings.append(finding)
    }

    /// One reader of the trace more or less.
    mutating func countTraceReaders(_ difference: Int) -> Change {
        let wasTraced = traceReaders > 0
        traceReaders += difference
        var change = Change()
        if wasTraced != (traceReaders > 0) { publish(into: &change) }
        return change
    }

    /// Those who run at last are not what was refused before, under their name or, when it could not be made, their type.
    private mutating func forgetRefusals(of admitted: [Member]) {
        let names = Set(admitted.flatMap { [$0.name, String(describing: type(of: $0.plugin))] })
        refusals.removeAll { names.contains($0.plugin ?? "") }
    }

    private mutating func note(_ findings: [Hub.Finding]) {
        for finding in findings where !refusals.contains(finding) { refusals.append(finding) }
    }

    private mutating func publish(into change: inout Change) {
        version += 1
        change.members = members
        let policies = members.map(\.policy)
        change.routes = members.map {
            RouteTable(
                owner: $0, members: members, policies: policies, version: version, isTraced: traceReaders > 0)
        }
    }

    private let isPartialSet: Bool

    init(isPartialSet: Bool) { self.isPartialSet = isPartialSet }
}
