import Foundation
import Primitives

/// What a `PurchaseClient` knows: its plugins, whose questions they answer, and what each said last. Pure: every change
/// is one call, and nothing waits.
struct PurchaseSession {
    /// A plugin and its place in the order of registration.
    struct Member: Sendable {
        let index: Int
        let plugin: any PurchasePlugin
    }

    /// When something was asked: answers to older questions do not replace younger ones, and those of another user's
    /// time are not kept at all.
    struct Ticket: Equatable, Sendable {
        /// `nil` between two users.
        fileprivate let epoch: Int?
        fileprivate let number: Int
    }

    /// A state of everybody's paid features; of two, the one with the higher number is newer.
    struct Revision: Equatable, Sendable {
        let number: Int
        let features: PaidFeatures
    }

    private var registered: [Member]?
    /// Plugins that keep their answers from run to run themselves.
    private var keepingThemselves: Set<Int> = []
    private(set) var userId: UserId?
    /// Plugins that have not heard of `userId` yet, because they could not be reached.
    private(set) var awaitingLogIn: Set<Int> = []
    /// Grows with every change of user.
    private var epoch = 0
    private var isChangingUser = false
    private var lastTicket = 0
    private var revisions = 0
    var paidFeatures = LastAnswers<PaidFeatures>()
    var features = LastAnswers<Features>()
    /// Grows with every change of what is kept.
    private(set) var changes = 0

    // MARK: - Setup and user

    mutating func setUp(with plugins: [any PurchasePlugin]) throws(PurchaseError) -> [Member] {
        guard registered == nil else { throw PurchaseError(.alreadySetUp) }
        let members = plugins.enumerated().map { Member(index: $0.offset, plugin: $0.element) }
        registered = members
        keepingThemselves = Set(members.filter(\.plugin.keepsItsAnswers).map(\.index))
        return members
    }

    /// The plugins; this is seed 000's `checkSetupFinished`.
    func members() throws(PurchaseError) -> [Member] {
        guard let registered else { throw PurchaseError(.notSetUp) }
        return registered
    }

    /// From here until `userChanged` the plugins are between two users: answers to questions are nobody's, while what
    /// they tell by themselves is of the new one.
    mutating func userWillChange(to user: UserId?) {
        isChangingUser = true
        awaitingLogIn = []
        if user == nil || user != userId { forgetAnswers() }
        if user == nil { userId = nil }
    }

    /// - Parameter kept: what an earlier run kept of this user.
    mutating func userChanged(
        to user: UserId?, unreached: Set<Int> = [], recalling kept: RecalledAnswers? = nil
    ) -> Revision {
        epoch += 1
        isChangingUser = false
        userId = user
        awaitingLogIn = unreached
        if user == nil { forgetAnswers() }
        if let kept { recall(kept) }
        return revise()
    }

    /// A plugin's answer differs from its last; nothing has to be stored of a plugin that keeps its answers itself.
    private mutating func changed(_ index: Int) {
        if !keepingThemselves.contains(index) { changes += 1 }
    }

    private mutating func forgetAnswers() {
        paidFeatures = LastAnswers()
        features = LastAnswers()
        changes += 1
    }

    func isAwaitingLogIn(_ index: Int, as user: UserId) -> Bool { user == userId && awaitingLogIn.contains(index) }

    /// A plugin heard of the user after all; `user` is whom it was told.
    mutating func loggedIn(_ index: Int, as user: UserId) {
        if user == userId { awaitingLogIn.remove(index) }
    }

    // MARK: - Answers

    mutating func ticket() -> Ticket {
        lastTicket += 1
        return Ticket(epoch: isChangingUser ? nil : epoch, number: lastTicket)
    }

    private func isCurrent(_ ticket: Ticket) -> Bool { !isChangingUser && ticket.epoch == epoch }

    /// A plugin told all its paid features by itself.
    mutating func record(_ features: PaidFeatures, from index: Int, at now: Date) -> Revision {
        if paidFeatures[index]?.value != features { changed(index) }
        paidFeatures.record(features, from: index, number: ticket().number, asOf: now)
        return revise()
    }

    /// A plugin sold or restored something; what it gave is added to what was known of it. Who gave nothing has not said
    /// that there is nothing.
    mutating func record(gained features: PaidFeatures, from index: Int, ticket: Ticket, at now: Date) -> Revision {
        guard isCurrent(ticket), !features.features.isEmpty else { return revise() }
        let known = paidFeatures[index]?.value ?? PaidFeatures()
        return record(features.merged(with: known), from: index, at: now)
    }

    mutating func collect(
        paidFeatures answers: [PluginAnswer<PaidFeatures>], ticket: Ticket
    ) -> (collected: Collected<PaidFeatures>, nobodyAnswered: Bool, revision: Revision) {
        let (collected, nobodyAnswered) = collect(answers, ticket: ticket)
        return (collected, nobodyAnswered, revise())
    }

    /// Merges in the order of registration; who failed is represented by what it said last to the same user, where that
    /// is kept.
    mutating func collect<Value: MergedAnswer>(
        _ answers: [PluginAnswer<Value>], ticket: Ticket
    ) -> (collected: Collected<Value>, nobodyAnswered: Bool) {
        let memory = isCurrent(ticket) ? Value.memory : nil
        var collected = Collected(value: Value())
        var nobodyAnswered = !answers.isEmpty
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
                nobodyAnswered = false
            case .failure:
                if let memory, let known = self[keyPath: memory].failed(index, number: ticket.number) {
                    collected.value = collected.value.merged(with: known.value.asLastKnown)
                    report.usedLastKnownAnswer = true
                    report.origin = known.origin
                    nobodyAnswered = false
                }
            }
            collected.reports.append(report)
        }
        return (collected, nobodyAnswered)
    }

    /// Returns what a plugin said last to the user of a ticket. `nil` if it said nothing, or if the user has changed.
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

    // MARK: - What outlives the run

    /// Of what is worth keeping for another run; `nil` between two users, when it is not certain whose it is.
    var keptVersion: KeptAnswers.Version? { isChangingUser ? nil : .init(change: changes, user: userId) }

    /// What is worth keeping for another run.
    var kept: KeptAnswers? {
        guard let version = keptVersion else { return nil }
        var plugins: [String: KeptAnswers.OfPlugin] = [:]
        for member in registered ?? [] where !keepingThemselves.contains(member.index) {
            var said = KeptAnswers.OfPlugin()
            if let entry = paidFeatures[member.index] {
                said.paidFeatures = .init(
                    asOf: entry.origin.asOf, value: entry.value.features.map(KeptPaidFeature.init))
            }
            if let entry = features[member.index] {
                said.features = .init(asOf: entry.origin.asOf, value: entry.value.features.map(KeptFeature.init))
            }
            // Of two plugins with one name the first is kept.
            if said != KeptAnswers.OfPlugin(), plugins[member.plugin.name] == nil { plugins[member.plugin.name] = said }
        }
        return KeptAnswers(version: version, plugins: plugins)
    }

    /// What an earlier run kept, unless another user is there by now.
    mutating func recall(_ kept: RecalledAnswers, ifStillOf user: UserId?) -> Revision {
        if userId == user, !isChangingUser { recall(kept) }
        return revise()
    }

    /// It counts until the plugins say something.
    private mutating func recall(_ kept: RecalledAnswers) {
        for (index, said) in kept.ofPlugins {
            paidFeatures.recall(said.paidFeatures, from: index, asOf: said.asOf)
            features.recall(said.features, from: index, asOf: said.asOf)
        }
        // Of a plugin that keeps its answers an earlier version may have stored one here; it counts where the plugin has none.
        guard let kept = kept.stored else { return }
        var named: Set<ExactString> = []
        for member in registered ?? [] where named.insert(ExactString(member.plugin.name)).inserted {
            guard let said = kept.plugins[exactly: member.plugin.name] else { continue }
            if let known = said.paidFeatures {
                let value = PaidFeatures(features: known.value.compactMap(\.feature))
                paidFeatures.recall(value, from: member.index, asOf: known.asOf)
            }
            if let known = said.features {
                let value = Features(features: known.value.map(\.feature))
                features.recall(value, from: member.index, asOf: known.asOf)
            }
        }
    }
}
