import Foundation
import Primitives

/// The state of a `PurchaseClient`: its plugins, its user, and the last answer of each plugin. It is a value type, and
/// all its methods are synchronous.
struct PurchaseSession {
    /// A plugin and its index in the order of registration.
    struct Member: Sendable {
        let index: Int
        let plugin: any PurchasePlugin
    }

    /// The number of a request, and the user at that time. Requests are numbered in their order: an answer to an older
    /// request does not replace a newer one. An answer for another user is not stored.
    struct Ticket: Equatable, Sendable {
        /// The number of the user change, or `nil` during a change.
        fileprivate let epoch: Int?
        fileprivate let number: Int
    }

    /// A state of the merged paid features. The higher number is newer.
    struct Revision: Equatable, Sendable {
        let number: Int
        let features: PaidFeatures
    }

    private var registered: [Member]?
    /// The indexes of the plugins that store their answers themselves.
    private var indexesOfStoringPlugins: Set<Int> = []
    private(set) var userId: UserId?
    /// The plugins that have not received the log-in of `userId`, because they could not be reached.
    private(set) var awaitingLogIn: Set<Int> = []
    /// The number of user changes.
    private var epoch = 0
    private var isChangingUser = false
    private var lastTicket = 0
    private var revisions = 0
    var paidFeatures = LastAnswers<PaidFeatures>()
    var features = LastAnswers<Features>()
    /// The number of changes of the answers that the client stores.
    private(set) var changes = 0

    // MARK: - Setup and user

    mutating func setUp(with plugins: [any PurchasePlugin]) throws(PurchaseError) -> [Member] {
        guard registered == nil else { throw PurchaseError(.alreadySetUp) }
        let members = plugins.enumerated().map { Member(index: $0.offset, plugin: $0.element) }
        registered = members
        indexesOfStoringPlugins = Set(members.filter(\.plugin.storesAnswers).map(\.index))
        return members
    }

    func members() throws(PurchaseError) -> [Member] {
        guard let registered else { throw PurchaseError(.notSetUp) }
        return registered
    }

    /// Begins a change of the user. Until `userChanged`, answers to requests belong to no user, and updates that a
    /// plugin sends belong to the new user.
    mutating func userWillChange(to user: UserId?) {
        isChangingUser = true
        awaitingLogIn = []
        if user == nil || user != userId { forgetAnswers() }
        if user == nil { userId = nil }
    }

    /// Completes a change of the user. `earlier` contains the answers that an earlier run stored for this user.
    mutating func userChanged(
        to user: UserId?, unreached: Set<Int> = [], recalling earlier: RecalledAnswers? = nil
    ) -> Revision {
        epoch += 1
        isChangingUser = false
        userId = user
        awaitingLogIn = unreached
        if user == nil { forgetAnswers() }
        if let earlier { recall(earlier) }
        return revise()
    }

    /// Counts a changed answer. Ignores the answers of a plugin that stores them itself.
    private mutating func changed(_ index: Int) {
        if !indexesOfStoringPlugins.contains(index) { changes += 1 }
    }

    private mutating func forgetAnswers() {
        paidFeatures = LastAnswers()
        features = LastAnswers()
        changes += 1
    }

    func isAwaitingLogIn(_ index: Int, as user: UserId) -> Bool { user == userId && awaitingLogIn.contains(index) }

    mutating func loggedIn(_ index: Int, as user: UserId) {
        if user == userId { awaitingLogIn.remove(index) }
    }

    // MARK: - Answers

    mutating func ticket() -> Ticket {
        lastTicket += 1
        return Ticket(epoch: isChangingUser ? nil : epoch, number: lastTicket)
    }

    private func isCurrent(_ ticket: Ticket) -> Bool { !isChangingUser && ticket.epoch == epoch }

    /// Replaces the known paid features of a plugin.
    mutating func record(_ features: PaidFeatures, from index: Int, at now: Date) -> Revision {
        if paidFeatures[index]?.value != features { changed(index) }
        paidFeatures.record(features, from: index, number: ticket().number, asOf: now)
        return revise()
    }

    /// Adds the features that a plugin sold or restored to its known features. An empty result removes none.
    mutating func record(gained features: PaidFeatures, from index: Int, ticket: Ticket, at now: Date) -> Revision {
        guard isCurrent(ticket), !features.features.isEmpty else { return revise() }
        let known = paidFeatures[index]?.value ?? PaidFeatures()
        return record(features.merged(with: known), from: index, at: now)
    }

    mutating func collect(
        paidFeatures answers: [PluginAnswer<PaidFeatures>], ticket: Ticket
    ) -> (collected: Collected<PaidFeatures>, hasNoAnswer: Bool, revision: Revision) {
        let (collected, hasNoAnswer) = collect(answers, ticket: ticket)
        return (collected, hasNoAnswer, revise())
    }

    /// Merges answers in the order of registration. If a plugin failed, its stored last answer for the same user is
    /// used.
    mutating func collect<Value: MergedAnswer>(
        _ answers: [PluginAnswer<Value>], ticket: Ticket
    ) -> (collected: Collected<Value>, hasNoAnswer: Bool) {
        let memory = isCurrent(ticket) ? Value.memory : nil
        var collected = Collected(value: Value())
        var hasNoAnswer = !answers.isEmpty
        for answer in answers {
            let index = answer.member.index
            var report = answer.report
            switch answer.result {
            case .success(let value):
                if let memory, let origin = answer.origin {
                    if self[keyPath: memory][index]?.value != value { changed(index) }
                    self[keyPath: memory].record(value, from: index, number: ticket.number, asOf: origin.asOf)
                }
                collected.value = collected.value.merged(with: value)
                hasNoAnswer = false
            case .failure:
                if let memory, let known = self[keyPath: memory].failed(index, number: ticket.number) {
                    collected.value = collected.value.merged(with: known.value.asLastKnown)
                    report.usedLastKnownAnswer = true
                    report.origin = known.origin
                    hasNoAnswer = false
                }
            }
            collected.reports.append(report)
        }
        return (collected, hasNoAnswer)
    }

    /// Returns a plugin's last answer about the user of the ticket, or `nil` if there is none or the user has changed.
    func paidFeatures(of member: Member, ticket: Ticket) -> PaidFeatures? {
        isCurrent(ticket) ? paidFeatures(of: member) : nil
    }

    private func paidFeatures(of member: Member) -> PaidFeatures? {
        paidFeatures[member.index].map { $0.isFresh ? $0.value : $0.value.asLastKnown }
    }

    private mutating func revise() -> Revision {
        revisions += 1
        let merged = (registered ?? []).reduce(PaidFeatures()) { merged, member in
            paidFeatures(of: member).map { merged.merged(with: $0) } ?? merged
        }
        return Revision(number: revisions, features: merged)
    }

    // MARK: - Storage

    /// The version of the answers to store, or `nil` during a change of the user.
    var answersVersion: StoredAnswers.Version? { isChangingUser ? nil : .init(change: changes, user: userId) }

    /// The answers to store. If two plugins have the same name, those of the first are stored.
    var answersToStore: StoredAnswers? {
        guard let version = answersVersion else { return nil }
        var plugins: [String: StoredAnswers.OfPlugin] = [:]
        for member in registered ?? [] where !indexesOfStoringPlugins.contains(member.index) {
            var answers = StoredAnswers.OfPlugin()
            if let entry = paidFeatures[member.index] {
                answers.paidFeatures = .init(
                    asOf: entry.origin.asOf, value: entry.value.features.map(StoredPaidFeature.init))
            }
            if let entry = features[member.index] {
                answers.features = .init(asOf: entry.origin.asOf, value: entry.value.features.map(StoredFeature.init))
            }
            if answers != StoredAnswers.OfPlugin(), plugins[member.plugin.name] == nil {
                plugins[member.plugin.name] = answers
            }
        }
        return StoredAnswers(version: version, plugins: plugins)
    }

    /// Adds the answers of an earlier run, unless the user has changed.
    mutating func recall(_ earlier: RecalledAnswers, ifStillOf user: UserId?) -> Revision {
        if userId == user, !isChangingUser { recall(earlier) }
        return revise()
    }

    /// Adds the answers of an earlier run, which are used until the plugins answer. The answers that a plugin stores
    /// itself take precedence over those that the client stored for it.
    private mutating func recall(_ earlier: RecalledAnswers) {
        for (index, answers) in earlier.ofPlugins {
            paidFeatures.recall(answers.paidFeatures, from: index, asOf: answers.asOf)
            features.recall(answers.features, from: index, asOf: answers.asOf)
        }
        guard let stored = earlier.stored else { return }
        var named: Set<ExactString> = []
        for member in registered ?? [] where named.insert(ExactString(member.plugin.name)).inserted {
            guard let answers = stored.plugins[exactly: member.plugin.name] else { continue }
            if let known = answers.paidFeatures {
                let value = PaidFeatures(features: known.value.compactMap(\.feature))
                paidFeatures.recall(value, from: member.index, asOf: known.asOf)
            }
            if let known = answers.features {
                let value = Features(features: known.value.map(\.feature))
                features.recall(value, from: member.index, asOf: known.asOf)
            }
        }
    }
}
