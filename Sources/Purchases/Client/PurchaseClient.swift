import Foundation
import Primitives

/// One face for every system that sells to an app's customers: asks the plugins, and merges what they answer.
///
///     let client = PurchaseClient()
///     try await client.setup(with: [storePlugin, webPlugin], appUserId: .string("customer-1042"))
///     if try await client.getPaidFeatures().hasActiveFeature(with: "pro") { unlock() }
///
/// Operations of one plugin (`purchase`, `getPromotionalOffer`, `cancelSubscription`) go to the plugins in the order of
/// registration until one does not answer `.notSupported`. Questions to all (`get…`, `restorePurchases`) are asked at
/// once and merged in that order.
///
/// Throws what the plugins throw, and `PurchaseError`: `notSetUp`, `alreadySetUp`, `noSuitablePlugin`, `timedOut` for a
/// plugin that did not answer in time, which leaves the others' answers alone. Safe to use from any thread; a caller
/// that is cancelled gets `CancellationError`, and its plugins are cancelled too.
public final class PurchaseClient: PurchaseClientProtocol {
    public struct Configuration: Sendable {
        /// How long a plugin may take for anything but a purchase.
        public var pluginDeadline: Duration
        /// What deadlines wait with.
        public var sleep: @Sendable (Duration) async throws -> Void

        public init(
            pluginDeadline: Duration = .seconds(30),
            sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
        ) {
            self.pluginDeadline = pluginDeadline
            self.sleep = sleep
        }
    }

    let configuration: Configuration
    let session = Locked(PurchaseSession())
    let updates = PaidFeaturesUpdates()
    private let work = Locked(Work())

    /// What runs without a caller.
    private struct Work {
        /// One per plugin, reading its `paidFeaturesUpdates()`.
        var listeners: [Task<Void, Never>] = []
        /// Log-ins repeated for plugins that could not be reached, each shared by everybody who needs it.
        var repeatedLogIns: [Int: Task<Void, any Error>] = [:]
        /// The last change of user; the next one waits for it.
        var lastTurn: Task<Void, Never>?
    }

    public init(configuration: PurchaseClient.Configuration = .init()) {
        self.configuration = configuration
    }

    deinit {
        work.withLock { $0.listeners }.forEach { $0.cancel() }
        updates.finish()
    }

    /// Stops listening to the plugins, ends `paidFeaturesUpdates`, and returns when nothing of the client runs any more.
    /// Questions can still be asked.
    public func close() async {
        let (listeners, logIns) = work.withLock { work in
            defer { (work.listeners, work.repeatedLogIns) = ([], [:]) }
            return (work.listeners, Array(work.repeatedLogIns.values))
        }
        updates.finish()
        for task in listeners { task.cancel() }
        for task in logIns { task.cancel() }
        for task in listeners { await task.value }
        for task in logIns { _ = await task.result }
        await work.withLock { $0.lastTurn }?.value
    }

    // MARK: - User

    public var userId: UserId? { session.withLock { $0.userId } }

    /// Gives the client its plugins, once, and logs `appUserId` in.
    ///
    /// Throws `alreadySetUp`, and what `logIn(appUserId:)` throws; the client is then set up with nobody logged in.
    public func setup(with plugins: [any PurchasePlugin], appUserId: UserId? = nil) async throws {
        let members = try session.withLock { session throws(PurchaseError) in try session.setUp(with: plugins) }
        let listeners = members.map(listen)
        work.withLock { $0.listeners += listeners }
        if let appUserId { try await logIn(appUserId: appUserId) }
    }

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
            await userWillChange(to: appUserId)
            let answers = await ask(members) { try await $0.logIn(appUserId: appUserId) }
            let rejection = answers.lazy.compactMap(\.error).first { !$0.meansUnreachable }
            if rejection != nil || Task.isCancelled {
                // Rolling back must not be stopped half way by the caller's cancellation.
                await Task { await self.logOutEverywhere(members) }.value
                throw rejection ?? CancellationError()
            }
            let unreached = Set(answers.filter { $0.error != nil }.map(\.member.index))
            updates.tellChangedUser(session.withLock { $0.userChanged(to: appUserId, unreached: unreached) })
            return answers.map { PluginReport(pluginName: $0.member.plugin.name, error: $0.error) }
        }
    }

    /// Logs out at every plugin. Does nothing before setup.
    public func logOut() async {
        guard let members = try? members() else { return }
        // Whoever is cancelled while logging out still means to log out.
        _ = try? await Task {
            try await self.inTurn {
                await self.userWillChange(to: nil)
                await self.logOutEverywhere(members)
            }
        }.value
    }

    private func logOutEverywhere(_ members: [PurchaseSession.Member]) async {
        _ = await ask(members) { await $0.logOut() }
        updates.tellChangedUser(session.withLock { $0.userChanged(to: nil) })
    }

    /// After it no repeated log-in of the former user is under way.
    private func userWillChange(to user: UserId?) async {
        session.withLock { $0.userWillChange(to: user) }
        let repeated = work.withLock { work in
            defer { work.repeatedLogIns = [:] }
            return Array(work.repeatedLogIns.values)
        }
        for task in repeated { task.cancel() }
        for task in repeated { _ = await task.result }
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
    func completeLogIn(of member: PurchaseSession.Member) async throws {
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
        try await Patience.answer(within: nil, sleep: configuration.sleep, asking: member.plugin.name) {
            try await repeated.value
        }
    }

    // MARK: - Paid features that change by themselves

    /// What the user paid for: the value known now, if any, then every change, whoever caused it.
    public var paidFeaturesUpdates: AsyncStream<PaidFeatures> { updates.stream() }

    private func listen(to member: PurchaseSession.Member) -> Task<Void, Never> {
        let features = member.plugin.paidFeaturesUpdates()
        return Task { [weak self] in
            for await features in features {
                guard let self else { return }
                updates.tell(session.withLock { $0.record(features, from: member.index) })
            }
        }
    }
}

extension Error {
    /// Nobody was there to decide; anything else a plugin throws is its decision.
    fileprivate var meansUnreachable: Bool { (self as? PurchaseError)?.isRetryable ?? false }
}
