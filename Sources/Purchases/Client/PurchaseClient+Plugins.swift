import Foundation
import Primitives

/// The calls of plugins, by the rule of each operation.
extension PurchaseClient {
    typealias Member = PurchaseSession.Member

    func members() throws -> [Member] {
        try session.withLock { session throws(PurchaseError) in try session.members() }
    }

    /// Calls the plugins in the order of registration until one handles the operation. Throws `noSuitablePlugin` if
    /// every plugin returns `.notSupported`, or there is no plugin.
    ///
    /// A plugin that has not received the user's log-in yet is called after the others, so that its log-in delays none
    /// of them. An error that a plugin returns is thrown at once if the rule of the operation says `isFinal`. After any
    /// other error, such as a failed log-in or a timeout, the next plugin is called. If no plugin handles the
    /// operation, the first of these errors is thrown.
    func start<Value: Sendable>(
        _ operation: PurchaseOperation,
        execute: @escaping @Sendable (any PurchasePlugin) async -> PurchasePluginResult<Value, any Error>
    ) async throws -> (value: Value, by: Member) {
        let members = try members()
        let awaiting = session.withLock { $0.awaitingLogIn }
        let order =
            members.filter { !awaiting.contains($0.index) } + members.filter { awaiting.contains($0.index) }
        return try await callInOrder(order[...], operation, firstError: nil, execute: execute)
    }

    /// Calls `members` in order until one handles the operation. `firstError` is the first error of the plugins that were
    /// called before.
    func callInOrder<Value: Sendable>(
        _ members: ArraySlice<Member>, _ operation: PurchaseOperation, firstError: (any Error)?,
        execute: @escaping @Sendable (any PurchasePlugin) async -> PurchasePluginResult<Value, any Error>
    ) async throws -> (value: Value, by: Member) {
        guard let member = members.first else { throw firstError ?? PurchaseError(.noSuitablePlugin) }
        var firstError = firstError
        let askedAt = configuration.clock.now()
        func sendReport(_ error: (any Error)?) {
            var report = PluginReport(pluginName: member.plugin.name, error: error)
            if error == nil { report.origin = origin(of: operation, member) }
            send(PurchaseDiagnostic(operation, report, askedAt: askedAt))
        }
        do {
            try await completeLogIn(of: member)
            let answer = try await withDeadline(member, hasDeadline: operation.rule.hasDeadline) { await execute($0) }
            switch answer {
            case .success(let value):
                sendReport(nil)
                return (value, member)
            case .failure(let error) where operation.rule.failure == .isFinal: throw OperationFailure(error: error)
            case .failure(let error): throw error
            case .notSupported: break
            }
        } catch let failure as OperationFailure {
            sendReport(failure.error)
            throw failure.error
        } catch {
            try Task.checkCancellation()
            sendReport(error)
            firstError = firstError ?? error
        }
        return try await callInOrder(members.dropFirst(), operation, firstError: firstError, execute: execute)
    }

    /// An error that is thrown at once, without a call of the next plugin.
    private struct OperationFailure: Error { let error: any Error }

    /// Calls all plugins concurrently, and merges the values in the order of registration.
    ///
    /// In the mode `strict`, throws the first error. In the mode `bestEffort`, merges the available values, and throws
    /// only if plugins were called and none of them has a value.
    func callAndCollect<Value: MergedAnswer>(
        _ operation: PurchaseOperation, _ mode: ReadMode,
        call: @escaping @Sendable (any PurchasePlugin) async throws -> Value
    ) async throws -> Collected<Value> {
        let members = try members()
        let ticket = session.withLock { $0.ticket() }
        let askedAt = configuration.clock.now()
        let answers = await callWhenLoggedIn(operation, members, call)
        try Task.checkCancellation()
        let (collected, hasNoAnswer) = session.withLock { $0.collect(answers, ticket: ticket) }
        return try await finish(operation, collected, mode, hasNoAnswer: hasNoAnswer, askedAt: askedAt)
    }

    /// Collects paid features of all plugins or of some. Readers of `paidFeaturesUpdates` get the new value.
    func callAndCollectPaidFeatures(
        _ mode: ReadMode, of some: [Member]? = nil,
        call: @escaping @Sendable (any PurchasePlugin) async throws -> PaidFeatures
    ) async throws -> Collected<PaidFeatures> {
        let members = try some ?? members()
        let ticket = session.withLock { $0.ticket() }
        let askedAt = configuration.clock.now()
        let answers = await callWhenLoggedIn(.getPaidFeatures, members, call)
        try Task.checkCancellation()
        let (collected, hasNoAnswer, revision) = session.withLock {
            $0.collect(paidFeatures: answers, ticket: ticket)
        }
        if !hasNoAnswer { updates.send(revision) }
        return try await finish(.getPaidFeatures, collected, mode, hasNoAnswer: hasNoAnswer, askedAt: askedAt)
    }

    private func finish<Value: MergedAnswer>(
        _ operation: PurchaseOperation, _ collected: Collected<Value>, _ mode: ReadMode, hasNoAnswer: Bool,
        askedAt: Date
    ) async throws -> Collected<Value> {
        for report in collected.reports { send(PurchaseDiagnostic(operation, report, askedAt: askedAt)) }
        if Value.memory != nil, !hasNoAnswer { await storeAnswers() }
        if let error = collected.reports.lazy.compactMap(\.error).first, mode == .strict || hasNoAnswer {
            throw error
        }
        return collected
    }

    /// Calls all of `members` concurrently, each after its log-in is complete.
    func callWhenLoggedIn<Value: Sendable>(
        _ operation: PurchaseOperation, _ members: [Member],
        _ call: @escaping @Sendable (any PurchasePlugin) async throws -> Value
    ) async -> [PluginAnswer<Value>] {
        await collectAnswers(to: operation, of: members) { [self] member in
            try await completeLogIn(of: member)
            return try await withDeadline(member, call)
        }
    }

    /// Calls all of `members` concurrently, whether or not they have received the log-in, and reports the outcome.
    func callAll<Value: Sendable>(
        _ operation: PurchaseOperation, _ members: [Member],
        _ call: @escaping @Sendable (any PurchasePlugin) async throws -> Value
    ) async -> [PluginAnswer<Value>] {
        let askedAt = configuration.clock.now()
        let answers = await collectAnswers(to: operation, of: members) { [self] member in
            try await withDeadline(member, call)
        }
        for answer in answers { send(PurchaseDiagnostic(operation, answer.report, askedAt: askedAt)) }
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

    /// Calls a plugin with its deadline. If a plugin throws `CancellationError` although its caller was not cancelled,
    /// throws `unreachable`.
    func withDeadline<Value: Sendable>(
        _ member: Member, hasDeadline: Bool = true,
        _ call: @escaping @Sendable (any PurchasePlugin) async throws -> Value
    ) async throws -> Value {
        let plugin = member.plugin
        let deadline = configuration.pluginDeadlines[exactly: plugin.name] ?? configuration.pluginDeadline
        do {
            return try await Deadline.answer(
                within: hasDeadline ? deadline : nil, sleep: configuration.sleep, of: plugin.name,
                waiting: { plugin.appRequests?.waitingForApp ?? AppRequests.Waiting() }
            ) { try await call(plugin) }
        } catch let error as CancellationError where !Task.isCancelled {
            throw PurchaseError(
                .unreachable, "The plugin \"\(plugin.name)\" cancelled its work without an answer.", underlying: error)
        }
    }
}
