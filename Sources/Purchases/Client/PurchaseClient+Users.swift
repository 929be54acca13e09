import Primitives

/// Whose purchases are asked about.
extension PurchaseClient {
    public var userId: UserId? { session.withLock { $0.userId } }

    /// Logs the user in at every plugin.
    ///
    /// When one rejects the user (throws anything that is not `isRetryable`), everybody is logged out again and the first
    /// rejection is thrown. One that cannot be reached is named in the reports; its log-in is repeated before it is next
    /// asked. Changes of user happen one after another.
    @discardableResult
    public func logIn(appUserId: UserId) async throws -> [PluginReport] {
        let members = try members()
        return try await inTurn { [self] in
            try Task.checkCancellation()
            let former = await userWillChange(to: appUserId)
            let answers = await ask(.logIn, members) { try await $0.logIn(appUserId: appUserId) }
            let rejection = answers.lazy.compactMap(\.error).first { !$0.meansUnreachable }
            if rejection != nil || Task.isCancelled {
                // Rolling back must not be stopped half way by the caller's cancellation.
                await Task { await self.logOutEverywhere(members, former: former) }.value
                throw rejection ?? CancellationError()
            }
            let unreached = Set(answers.filter { $0.error != nil }.map(\.member.index))
            if let former, former != appUserId { await forgetAnswers(of: [former]) }
            let kept = await recalledAnswers(of: appUserId, members.filter { !unreached.contains($0.index) })
            updates.tellChangedUser(
                session.withLock { $0.userChanged(to: appUserId, unreached: unreached, recalling: kept) })
            return answers.map(\.report)
        }
    }

    /// Logs out at every plugin. Does nothing before setup.
    public func logOut() async {
        guard let members = try? members() else { return }
        // Whoever is cancelled while logging out still means to log out.
        _ = try? await Task {
            try await self.inTurn {
                let former = await self.userWillChange(to: nil)
                await self.logOutEverywhere(members, former: former)
            }
        }.value
    }

    private func logOutEverywhere(_ members: [Member], former: UserId?) async {
        _ = await ask(.logOut, members) { await $0.logOut() }
        updates.tellChangedUser(session.withLock { $0.userChanged(to: nil) })
        await forgetAnswers(of: [former, nil])
    }

    /// After it no repeated log-in of the former user is under way. Returns who that was.
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

    /// Runs `change` after every change of user asked for before.
    private func inTurn<Value: Sendable>(
        _ change: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        let turn = work.withLock { work in
            let previous = work.lastTurn
            let turn = Task {
                await previous?.value
                return try await change()
            }
            work.lastTurn = Task { _ = await turn.result }
            return turn
        }
        return try await withTaskCancellationHandler {
            try await turn.value
        } onCancel: {
            turn.cancel()
        }
    }

    /// Makes sure that the plugin knows the user, where it could not be reached before.
    func completeLogIn(of member: Member) async throws {
        let awaited = session.withLock { session in
            session.awaitingLogIn.contains(member.index) ? session.userId : nil
        }
        guard let user = awaited else { return }
        let repeated = work.withLock { work in
            if let running = work.repeatedLogIns[member.index] { return running }
            let task = Task {
                defer { self.work.withLock { $0.repeatedLogIns[member.index] = nil } }
                // The user may have changed before this task was known to `userWillChange(to:)`.
                guard self.session.withLock({ $0.isAwaitingLogIn(member.index, as: user) }) else { return }
                try await self.patiently(member) { try await $0.logIn(appUserId: user) }
                self.session.withLock { $0.loggedIn(member.index, as: user) }
            }
            work.repeatedLogIns[member.index] = task
            return task
        }
        try await Deadline.answer(within: nil, sleep: configuration.sleep, asking: member.plugin.name) {
            try await repeated.value
        }
    }
}

extension Error {
    /// Nobody was there to decide; anything else a plugin throws is its decision.
    fileprivate var meansUnreachable: Bool { (self as? PurchaseError)?.isRetryable ?? false }
}
