import Primitives

/// The user of the client.
extension PurchaseClient {
    /// The user that is logged in, or `nil`.
    public var userId: UserId? { session.withLock { $0.userId } }

    /// Logs a user in at every plugin. Changes of the user run one after another.
    ///
    /// A plugin rejects the user if it throws an error that is not `isRetryable`. Then the client logs out at every
    /// plugin and throws the first rejection. For a plugin that cannot be reached, the reports contain the error, and
    /// the client repeats the log-in before the plugin's next call.
    ///
    /// - Parameter appUserId: The user.
    /// - Returns: A report of each plugin.
    /// - Throws: The first rejection, or `PurchaseError` with the code `notSetUp`.
    @discardableResult
    public func logIn(appUserId: UserId) async throws -> [PluginReport] {
        let members = try members()
        return try await runSerially { [self] in
            try Task.checkCancellation()
            let former = await userWillChange(to: appUserId)
            let answers = await callAll(.logIn, members) { try await $0.logIn(appUserId: appUserId) }
            let rejection = answers.lazy.compactMap(\.error).first { !$0.meansUnreachable }
            if rejection != nil || Task.isCancelled {
                // The cancellation of the caller must not interrupt the rollback.
                await Task { await self.logOutEverywhere(members, former: former) }.value
                throw rejection ?? CancellationError()
            }
            let unreached = Set(answers.filter { $0.error != nil }.map(\.member.index))
            if let former, former != appUserId { await forgetAnswers(of: [former]) }
            let earlier = await recalledAnswers(of: appUserId, members.filter { !unreached.contains($0.index) })
            updates.sendUserChange(
                session.withLock { $0.userChanged(to: appUserId, unreached: unreached, recalling: earlier) })
            return answers.map(\.report)
        }
    }

    /// Logs the user out at every plugin, even if the caller is cancelled. Does nothing before setup.
    public func logOut() async {
        guard let members = try? members() else { return }
        _ = try? await Task {
            try await self.runSerially {
                let former = await self.userWillChange(to: nil)
                await self.logOutEverywhere(members, former: former)
            }
        }.value
    }

    private func logOutEverywhere(_ members: [Member], former: UserId?) async {
        _ = await callAll(.logOut, members) { await $0.logOut() }
        updates.sendUserChange(session.withLock { $0.userChanged(to: nil) })
        await forgetAnswers(of: [former, nil])
    }

    /// Prepares a change of the user: cancels the repeated log-ins of the previous user and waits for their end.
    /// Returns the previous user.
    private func userWillChange(to user: UserId?) async -> UserId? {
        let former = session.withLock { session in
            defer { session.userWillChange(to: user) }
            return session.userId
        }
        let repeated = work.withLock { work in
            defer { work.repeatedLogIns = [:] }
            return Array(work.repeatedLogIns.values)
        }
        for task in repeated { task.cancel() }
        for task in repeated { _ = await task.result }
        return former
    }

    /// Runs `change` after all earlier changes of the user.
    private func runSerially<Value: Sendable>(
        _ change: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        let task = work.withLock { work in
            let previous = work.lastUserChange
            let task = Task {
                await previous?.value
                return try await change()
            }
            work.lastUserChange = Task { _ = await task.result }
            return task
        }
        return try await withTaskCancellationHandler {
            try await task.value
        } onCancel: {
            task.cancel()
        }
    }

    /// Logs the user in at a plugin that could not be reached before.
    func completeLogIn(of member: Member) async throws {
        let awaited = session.withLock { session in
            session.awaitingLogIn.contains(member.index) ? session.userId : nil
        }
        guard let user = awaited else { return }
        let repeated = work.withLock { work in
            if let running = work.repeatedLogIns[member.index] { return running }
            let task = Task {
                defer { self.work.withLock { $0.repeatedLogIns[member.index] = nil } }
                // The user may have changed before `repeatedLogIns` contained this task.
                guard self.session.withLock({ $0.isAwaitingLogIn(member.index, as: user) }) else { return }
                try await self.withDeadline(member) { try await $0.logIn(appUserId: user) }
                self.session.withLock { $0.loggedIn(member.index, as: user) }
            }
            work.repeatedLogIns[member.index] = task
            return task
        }
        try await Deadline.answer(within: nil, sleep: configuration.sleep, of: member.plugin.name) {
            try await repeated.value
        }
    }
}

extension Error {
    /// Whether the plugin could not be reached. Any other error means that it rejected the user.
    fileprivate var meansUnreachable: Bool { (self as? PurchaseError)?.isRetryable ?? false }
}
