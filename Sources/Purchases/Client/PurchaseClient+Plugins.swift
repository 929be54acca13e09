import Foundation
import Primitives

/// How plugins are asked. The four helpers have the names and the tasks that seed 000 gives them; what differs between
/// operations is in their rules.
extension PurchaseClient {
    typealias Member = PurchaseSession.Member

    /// Seed 000's `checkSetupFinished`: the plugins, or `PurchaseError.notSetUp`.
    func members() throws -> [Member] {
        try session.withLock { session throws(PurchaseError) in try session.members() }
    }

    /// Offers an operation to the plugins in the order of registration until one takes it; with no taker, and with no
    /// plugins at all, throws `noSuitablePlugin`.
    ///
    /// A plugin that has not heard of the user yet is asked after the others, so that its log-in holds nobody up. One
    /// that cannot be asked, or does not answer in time, is passed over; its error is thrown if nobody takes the
    /// operation.
    func start<Value: Sendable>(
        _ operation: PurchaseOperation,
        execute: @escaping @Sendable (any PurchasePlugin) async -> PurchasePluginResult<Value, any Error>
    ) async throws -> (value: Value, by: Member) {
        let members = try members()
        let awaiting = session.withLock { $0.awaitingLogIn }
        let order =
            members.filter { !awaiting.contains($0.index) } + members.filter { awaiting.contains($0.index) }
        return try await with(order[...], operation, unanswered: nil, execute: execute)
    }

    /// Asks the first of `members`, and the next one if it answers `.notSupported`.
    func with<Value: Sendable>(
        _ members: ArraySlice<Member>, _ operation: PurchaseOperation, unanswered: (any Error)?,
        execute: @escaping @Sendable (any PurchasePlugin) async -> PurchasePluginResult<Value, any Error>
    ) async throws -> (value: Value, by: Member) {
        guard let member = members.first else { throw unanswered ?? PurchaseError(.noSuitablePlugin) }
        var unanswered = unanswered
        let askedAt = configuration.clock.now()
        func tell(_ error: (any Error)?) {
            var report = PluginReport(pluginName: member.plugin.name, error: error)
            if error == nil { report.origin = origin(of: operation, member) }
            self.tell(PurchaseDiagnostic(operation, report, askedAt: askedAt))
        }
        do {
            try await completeLogIn(of: member)
            let answer = try await patiently(member, hasDeadline: operation.rule.hasDeadline) { await execute($0) }
            switch answer {
            case .success(let value):
                tell(nil)
                return (value, member)
            case .failure(let error) where operation.rule.failure == .decides: throw Decided(error: error)
            case .failure(let error): throw error
            case .notSupported: break
            }
        } catch let decided as Decided {
            tell(decided.error)
            throw decided.error
        } catch {
            try Task.checkCancellation()
            tell(error)
            unanswered = unanswered ?? error
        }
        return try await with(members.dropFirst(), operation, unanswered: unanswered, execute: execute)
    }

    /// A plugin's own failure, told apart from that of reaching it.
    private struct Decided: Error { let error: any Error }

    /// Asks every plugin at once, and joins the values in the order of registration, whatever the order of answers: in
    /// mode `strict` all, or throws the first error; in mode `bestEffort` those there are, unless there are plugins and
    /// none of them answered.
    func callAndCollect<Value: MergedAnswer>(
        _ operation: PurchaseOperation, _ mode: ReadMode,
        call: @escaping @Sendable (any PurchasePlugin) async throws -> Value
    ) async throws -> Collected<Value> {
        let members = try members()
        let ticket = session.withLock { $0.ticket() }
        let askedAt = configuration.clock.now()
        let answers = await askWhenLoggedIn(operation, members, call)
        try Task.checkCancellation()
        let (collected, nobodyAnswered) = session.withLock { $0.collect(answers, ticket: ticket) }
        return try await finish(operation, collected, mode, nobodyAnswered: nobodyAnswered, askedAt: askedAt)
    }

    /// The same for paid features, of some plugins or all; readers of `paidFeaturesUpdates` get the new value.
    func callAndCollectPaidFeatures(
        _ mode: ReadMode, of some: [Member]? = nil,
        call: @escaping @Sendable (any PurchasePlugin) async throws -> PaidFeatures
    ) async throws -> Collected<PaidFeatures> {
        let members = try some ?? members()
        let ticket = session.withLock { $0.ticket() }
        let askedAt = configuration.clock.now()
        let answers = await askWhenLoggedIn(.getPaidFeatures, members, call)
        try Task.checkCancellation()
        let (collected, nobodyAnswered, revision) = session.withLock {
            $0.collect(paidFeatures: answers, ticket: ticket)
        }
        if !nobodyAnswered { updates.tell(revision) }
        return try await finish(.getPaidFeatures, collected, mode, nobodyAnswered: nobodyAnswered, askedAt: askedAt)
    }

    private func finish<Value: MergedAnswer>(
        _ operation: PurchaseOperation, _ collected: Collected<Value>, _ mode: ReadMode, nobodyAnswered: Bool,
        askedAt: Date
    ) async throws -> Collected<Value> {
        for report in collected.reports { tell(PurchaseDiagnostic(operation, report, askedAt: askedAt)) }
        if Value.memory != nil, !nobodyAnswered { await keepAnswers() }
        if let error = collected.reports.lazy.compactMap(\.error).first, mode == .strict || nobodyAnswered {
            throw error
        }
        return collected
    }

    // MARK: - Single calls

    /// Asks every one of `members` at once.
    func askWhenLoggedIn<Value: Sendable>(
        _ operation: PurchaseOperation, _ members: [Member],
        _ call: @escaping @Sendable (any PurchasePlugin) async throws -> Value
    ) async -> [PluginAnswer<Value>] {
        await collectAnswers(to: operation, of: members) { [self] member in
            try await completeLogIn(of: member)
            return try await patiently(member, call)
        }
    }

    /// The same, whether or not they know the user, and telling of it.
    func ask<Value: Sendable>(
        _ operation: PurchaseOperation, _ members: [Member],
        _ call: @escaping @Sendable (any PurchasePlugin) async throws -> Value
    ) async -> [PluginAnswer<Value>] {
        let askedAt = configuration.clock.now()
        let answers = await collectAnswers(to: operation, of: members) { [self] member in
            try await patiently(member, call)
        }
        for answer in answers { tell(PurchaseDiagnostic(operation, answer.report, askedAt: askedAt)) }
        return answers
    }

    private func collectAnswers<Value: Sendable>(
        to operation: PurchaseOperation, of members: [Member],
        _ answer: @escaping @Sendable (Member) async throws -> Value
    ) async -> [PluginAnswer<Value>] {
        await withTaskGroup(of: PluginAnswer<Value>.self) { group in
            for member in members {
                group.addTask { [self] in
                    do {
                        let value = try await answer(member)
                        return PluginAnswer(
                            member: member, result: .success(value), origin: origin(of: operation, member))
                    } catch {
                        return PluginAnswer(member: member, result: .failure(error), origin: nil)
                    }
                }
            }
            var answers: [PluginAnswer<Value>] = []
            for await answer in group { answers.append(answer) }
            return answers.sorted { $0.member.index < $1.member.index }
        }
    }

    private func origin(of operation: PurchaseOperation, _ member: Member) -> AnswerOrigin {
        member.plugin.answerOrigin(of: operation) ?? AnswerOrigin(.plugin, asOf: configuration.clock.now())
    }

    /// What the plugin answers before its deadline. A plugin that gives up without having been asked to has not answered.
    func patiently<Value: Sendable>(
        _ member: Member, hasDeadline: Bool = true,
        _ call: @escaping @Sendable (any PurchasePlugin) async throws -> Value
    ) async throws -> Value {
        let plugin = member.plugin
        let deadline = configuration.pluginDeadlines[exactly: plugin.name] ?? configuration.pluginDeadline
        do {
            return try await Deadline.answer(
                within: hasDeadline ? deadline : nil, sleep: configuration.sleep, asking: plugin.name,
                waiting: { plugin.appRequests?.waitingForApp ?? AppRequests.Waiting() }
            ) { try await call(plugin) }
        } catch let error as CancellationError where !Task.isCancelled {
            throw PurchaseError(
                .unreachable, "The plugin \"\(plugin.name)\" gave up before it answered.", underlying: error)
        }
    }
}
