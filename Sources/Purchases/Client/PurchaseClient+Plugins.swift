import Primitives

/// How plugins are asked. The four helpers have the names and the tasks that seed 000 gives them.
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
        deadline: Duration?,
        execute: @escaping @Sendable (any PurchasePlugin) async -> PurchasePluginResult<Value, any Error>
    ) async throws -> (value: Value, by: Member) {
        let members = try members()
        let awaiting = session.withLock { $0.awaitingLogIn }
        let order =
            members.filter { !awaiting.contains($0.index) } + members.filter { awaiting.contains($0.index) }
        return try await with(order[...], deadline: deadline, unanswered: nil, execute: execute)
    }

    /// Asks the first of `members`, and the next one if it answers `.notSupported`.
    func with<Value: Sendable>(
        _ members: ArraySlice<Member>, deadline: Duration?, unanswered: (any Error)?,
        execute: @escaping @Sendable (any PurchasePlugin) async -> PurchasePluginResult<Value, any Error>
    ) async throws -> (value: Value, by: Member) {
        guard let member = members.first else { throw unanswered ?? PurchaseError(.noSuitablePlugin) }
        var unanswered = unanswered
        do {
            try await completeLogIn(of: member)
            let answer = try await patiently(member, deadline: deadline) { await execute($0) }
            switch answer {
            case .success(let value): return (value, member)
            case .failure(let error): throw Decided(error: error)
            case .notSupported: break
            }
        } catch let decided as Decided {
            throw decided.error
        } catch {
            try Task.checkCancellation()
            unanswered = unanswered ?? error
        }
        return try await with(
            members.dropFirst(), deadline: deadline, unanswered: unanswered, execute: execute)
    }

    /// A plugin's own failure, told apart from that of reaching it.
    private struct Decided: Error { let error: any Error }

    /// Asks every plugin at once. In the order of registration, whatever the order of answers: the values in mode
    /// `bestEffort`, of which there is at least one if there are plugins; in mode `strict` all, or the first error.
    func callAndCollect<Value: Sendable>(
        _ mode: ReadMode, call: @escaping @Sendable (any PurchasePlugin) async throws -> Value
    ) async throws -> [Value] {
        let answers = await askWhenLoggedIn(try members(), call)
        try Task.checkCancellation()
        let values = answers.compactMap { try? $0.result.get() }
        if let error = answers.lazy.compactMap(\.error).first, mode == .strict || values.isEmpty { throw error }
        return values
    }

    /// Asks every plugin but those `excluded` for paid features at once and merges them in the order of registration.
    func callAndCollectPaidFeatures(
        _ mode: ReadMode, excluding excluded: Set<Int> = [],
        call: @escaping @Sendable (any PurchasePlugin) async throws -> PaidFeatures
    ) async throws -> Collected<PaidFeatures> {
        let members = try members().filter { !excluded.contains($0.index) }
        let ticket = session.withLock { $0.ticket() }
        let answers = await askWhenLoggedIn(members, call)
        try Task.checkCancellation()
        let (collected, nobodyAnswered, revision) = session.withLock {
            $0.collect(paidFeatures: answers, ticket: ticket)
        }
        if !nobodyAnswered { updates.tell(revision) }
        return try collected.checked(mode, nobodyAnswered: nobodyAnswered)
    }

    /// The same for features without payments.
    func callAndCollectFeatures(_ mode: ReadMode) async throws -> Collected<Features> {
        let members = try members()
        let ticket = session.withLock { $0.ticket() }
        let answers = await askWhenLoggedIn(members) { try await $0.getFeatures() }
        try Task.checkCancellation()
        let (collected, nobodyAnswered) = session.withLock { $0.collect(features: answers, ticket: ticket) }
        return try collected.checked(mode, nobodyAnswered: nobodyAnswered)
    }

    // MARK: - Single calls

    func askWhenLoggedIn<Value: Sendable>(
        _ members: [Member], _ call: @escaping @Sendable (any PurchasePlugin) async throws -> Value
    ) async -> [PluginAnswer<Value>] {
        await collectAnswers(of: members) { [self] member in
            try await completeLogIn(of: member)
            return try await patiently(member, call)
        }
    }

    func ask<Value: Sendable>(
        _ members: [Member], _ call: @escaping @Sendable (any PurchasePlugin) async throws -> Value
    ) async -> [PluginAnswer<Value>] {
        await collectAnswers(of: members) { [self] member in try await patiently(member, call) }
    }

    private func collectAnswers<Value: Sendable>(
        of members: [Member], _ answer: @escaping @Sendable (Member) async throws -> Value
    ) async -> [PluginAnswer<Value>] {
        await withTaskGroup(of: PluginAnswer<Value>.self) { group in
            for member in members {
                group.addTask {
                    do {
                        return PluginAnswer(member: member, result: .success(try await answer(member)))
                    } catch {
                        return PluginAnswer(member: member, result: .failure(error))
                    }
                }
            }
            var answers: [PluginAnswer<Value>] = []
            for await answer in group { answers.append(answer) }
            return answers.sorted { $0.member.index < $1.member.index }
        }
    }

    func patiently<Value: Sendable>(
        _ member: Member, _ call: @escaping @Sendable (any PurchasePlugin) async throws -> Value
    ) async throws -> Value {
        try await patiently(member, deadline: configuration.pluginDeadline, call)
    }

    private func patiently<Value: Sendable>(
        _ member: Member, deadline: Duration?,
        _ call: @escaping @Sendable (any PurchasePlugin) async throws -> Value
    ) async throws -> Value {
        let plugin = member.plugin
        return try await Patience.answer(within: deadline, sleep: configuration.sleep, asking: plugin.name) {
            try await call(plugin)
        }
    }
}

extension Collected {
    fileprivate func checked(_ mode: ReadMode, nobodyAnswered: Bool) throws -> Collected {
        if let error = reports.lazy.compactMap(\.error).first, mode == .strict || nobodyAnswered { throw error }
        return self
    }
}
