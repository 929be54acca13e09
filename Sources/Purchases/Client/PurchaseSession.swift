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
    private(set) var userId: UserId?
    /// Plugins that have not heard of `userId` yet, because they could not be reached.
    private(set) var awaitingLogIn: Set<Int> = []
    /// Grows with every change of user.
    private var epoch = 0
    private var isChangingUser = false
    private var lastTicket = 0
    private var revisions = 0
    private var paidFeatures = LastAnswers<PaidFeatures>()
    private var features = LastAnswers<Features>()

    // MARK: - Setup and user

    mutating func setUp(with plugins: [any PurchasePlugin]) throws(PurchaseError) -> [Member] {
        guard registered == nil else { throw PurchaseError(.alreadySetUp) }
        let members = plugins.enumerated().map { Member(index: $0.offset, plugin: $0.element) }
        registered = members
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

    mutating func userChanged(to user: UserId?, unreached: Set<Int> = []) -> Revision {
        epoch += 1
        isChangingUser = false
        userId = user
        awaitingLogIn = unreached
        if user == nil { forgetAnswers() }
        return revise()
    }

    private mutating func forgetAnswers() {
        paidFeatures = LastAnswers()
        features = LastAnswers()
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
    mutating func record(_ features: PaidFeatures, from index: Int) -> Revision {
        paidFeatures.record(features, from: index, number: ticket().number)
        return revise()
    }

    /// A plugin sold or restored something; what it gave is added to what was known of it.
    mutating func record(gained features: PaidFeatures, from index: Int, ticket: Ticket) -> Revision {
        guard isCurrent(ticket) else { return revise() }
        let known = paidFeatures[index]?.value ?? PaidFeatures()
        return record(features.merged(with: known), from: index)
    }

    mutating func collect(
        paidFeatures answers: [PluginAnswer<PaidFeatures>], ticket: Ticket
    ) -> (collected: Collected<PaidFeatures>, nobodyAnswered: Bool, revision: Revision) {
        let (collected, nobodyAnswered) = collect(answers, at: \.paidFeatures, ticket: ticket)
        return (collected, nobodyAnswered, revise())
    }

    mutating func collect(
        features answers: [PluginAnswer<Features>], ticket: Ticket
    ) -> (collected: Collected<Features>, nobodyAnswered: Bool) {
        collect(answers, at: \.features, ticket: ticket)
    }

    /// Merges in the order of registration; who failed is represented by what it said last to the same user.
    private mutating func collect<Value: MergedAnswer>(
        _ answers: [PluginAnswer<Value>], at answersSoFar: WritableKeyPath<PurchaseSession, LastAnswers<Value>>,
        ticket: Ticket
    ) -> (collected: Collected<Value>, nobodyAnswered: Bool) {
        let isCurrent = isCurrent(ticket)
        var collected = Collected(value: Value())
        var nobodyAnswered = !answers.isEmpty
        for answer in answers {
            let index = answer.member.index
            var report = PluginReport(pluginName: answer.member.plugin.name)
            switch answer.result {
            case .success(let value):
                if isCurrent { self[keyPath: answersSoFar].record(value, from: index, number: ticket.number) }
                collected.value = collected.value.merged(with: value)
                nobodyAnswered = false
            case .failure(let error):
                report.error = error
                if isCurrent, let known = self[keyPath: answersSoFar].failed(index, number: ticket.number) {
                    collected.value = collected.value.merged(with: known.asLastKnown)
                    report.usedLastKnownAnswer = true
                    nobodyAnswered = false
                }
            }
            collected.reports.append(report)
        }
        return (collected, nobodyAnswered)
    }

    private mutating func revise() -> Revision {
        revisions += 1
        let merged = (registered ?? []).reduce(PaidFeatures()) { merged, member in
            guard let last = paidFeatures[member.index] else { return merged }
            return merged.merged(with: last.isFresh ? last.value : last.value.asLastKnown)
        }
        return Revision(number: revisions, features: merged)
    }
}

/// What one plugin answered.
struct PluginAnswer<Value: Sendable>: Sendable {
    let member: PurchaseSession.Member
    let result: Result<Value, any Error>

    var error: (any Error)? {
        if case .failure(let error) = result { error } else { nil }
    }
}

/// An answer that plugins give together.
protocol MergedAnswer: Sendable {
    init()
    func merged(with other: Self) -> Self
    /// The same, as it counts when the plugin cannot be asked any more.
    var asLastKnown: Self { get }
}

extension PaidFeatures: MergedAnswer {
    init() { self.init(features: []) }
}

extension Features: MergedAnswer {
    init() { self.init(features: []) }
    var asLastKnown: Features { self }
}

/// What each plugin said last about one user.
struct LastAnswers<Value: Sendable> {
    struct Entry {
        var value: Value
        /// The number of the question.
        var number: Int
        /// The latest question was answered.
        var isFresh: Bool
    }

    private var entries: [Int: Entry] = [:]

    subscript(index: Int) -> Entry? { entries[index] }

    mutating func record(_ value: Value, from index: Int, number: Int) {
        guard entries[index].map({ $0.number < number }) ?? true else { return }
        entries[index] = Entry(value: value, number: number, isFresh: true)
    }

    /// A question was not answered; what was known before.
    mutating func failed(_ index: Int, number: Int) -> Value? {
        if let entry = entries[index], entry.number < number {
            entries[index] = Entry(value: entry.value, number: number, isFresh: false)
        }
        return entries[index]?.value
    }
}
