import Foundation
import Primitives
import StoreModel

/// One face for every system that sells to an app's customers: asks the plugins, and merges what they answer.
///
///     let client = PurchaseClient()
///     try await client.setup(with: [storePlugin, webPlugin], appUserId: .string("customer-1042"))
///     if try await client.getPaidFeatures().hasActiveFeature(with: "pro") { unlock() }
///
/// Who is asked and how answers merge is one table, `PurchaseOperation.all`: operations of one plugin (`purchase`,
/// `cancelSubscription`, …) go to the plugins in the order of registration until one does not answer `.notSupported`;
/// questions to all (`get…`, `restorePurchases`) are asked at once and merged in that order.
///
/// Throws what the plugins throw, and `PurchaseError`: `notSetUp`, `alreadySetUp`, `noSuitablePlugin`, `timedOut` for a
/// plugin that did not answer in time, which leaves the others' answers alone. Safe to use from any thread; a caller
/// that is cancelled gets `CancellationError`, and its plugins are cancelled too.
public final class PurchaseClient: PurchaseClientProtocol {
    public struct Configuration: Sendable {
        /// How long a plugin may take, unless the customer has to do something meanwhile.
        public var pluginDeadline: Duration
        /// For plugins that need longer or may take less, by their names.
        public var pluginDeadlines: [String: Duration]
        /// How long a purchase that was made waits for what the other plugins know. Later answers are heard on
        /// `paidFeaturesUpdates`.
        public var afterPurchaseDeadline: Duration
        /// Where what the plugins said last is kept for a launch without a network; `nil` keeps it in memory only. No
        /// two clients may have the same.
        public var storage: (any SecureStorage)?
        /// Dates what is kept.
        public var clock: any WallClock
        /// What deadlines wait with.
        public var sleep: @Sendable (Duration) async throws -> Void
        /// Runs the completion handlers of callers that cannot be `async`; at once, on whatever thread has the answer,
        /// unless told otherwise: `{ DispatchQueue.main.async(execute: $0) }`.
        public var callBack: @Sendable (@escaping @Sendable () -> Void) -> Void
        /// Gets each of the `diagnostics` at once, on any thread, as an entry for a log: by default
        /// `LogEntry.systemLog()`. With `nil` no entry is made.
        public var log: (@Sendable (LogEntry) -> Void)? = LogEntry.systemLog()

        public init(
            pluginDeadline: Duration = .seconds(30), pluginDeadlines: [String: Duration] = [:],
            afterPurchaseDeadline: Duration = .seconds(1),
            storage: (any SecureStorage)? = nil, clock: any WallClock = SystemClock(),
            sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) },
            callBack: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void = { $0() }
        ) {
            self.pluginDeadline = pluginDeadline
            self.pluginDeadlines = pluginDeadlines
            self.afterPurchaseDeadline = afterPurchaseDeadline
            self.storage = storage
            self.clock = clock
            self.sleep = sleep
            self.callBack = callBack
        }
    }

    let configuration: Configuration
    let session = Locked(PurchaseSession())
    let updates = PaidFeaturesUpdates()
    let work = Locked(Work())
    private let shelf: AnswerShelf?
    private let told = Broadcast<PurchaseDiagnostic>()
    private let urls = Broadcast<URLToOpen>()
    private let promoted = AsyncStream.makeStream(of: BegunPurchase.self, bufferingPolicy: .bufferingNewest(10))

    /// What runs without a caller.
    struct Work {
        /// Each plugin's `paidFeaturesUpdates()` and `appRequests` are read by one.
        var listeners: [Task<Void, Never>] = []
        /// Log-ins repeated for plugins that could not be reached, each shared by everybody who needs it.
        var repeatedLogIns: [Int: Task<Void, any Error>] = [:]
        /// Questions that outlast their caller.
        var questions: [UUID: Task<Void, Never>] = [:]
        /// The last change of user; the next one waits for it.
        var lastTurn: Task<Void, Never>?
    }

    public init(configuration: PurchaseClient.Configuration = .init()) {
        self.configuration = configuration
        shelf = configuration.storage.map { [told, clock = configuration.clock, log = configuration.log] storage in
            AnswerShelf(storage: storage) { error in
                let diagnostic = PurchaseDiagnostic.ofStorage(error, at: clock.now())
                log?(LogEntry(diagnostic))
                told.send(diagnostic)
            }
        }
    }

    deinit {
        work.withLock { $0.listeners }.forEach { $0.cancel() }
        finishStreams()
    }

    /// Stops listening to the plugins, ends the client's streams, and returns when nothing of the client runs any more.
    /// Questions can still be asked.
    public func close() async {
        let (others, logIns) = work.withLock { work in
            defer { (work.listeners, work.questions, work.repeatedLogIns) = ([], [:], [:]) }
            return (work.listeners + work.questions.values, Array(work.repeatedLogIns.values))
        }
        finishStreams()
        for task in others { task.cancel() }
        for task in logIns { task.cancel() }
        for task in others { await task.value }
        for task in logIns { _ = await task.result }
        await work.withLock { $0.lastTurn }?.value
    }

    private func finishStreams() {
        updates.finish()
        told.finish()
        urls.finish()
        promoted.continuation.finish()
    }

    /// Gives the client its plugins, once, and logs `appUserId` in.
    ///
    /// Throws `alreadySetUp`, and what `logIn(appUserId:)` throws; the client is then set up with nobody logged in.
    public func setup(with plugins: [any PurchasePlugin], appUserId: UserId? = nil) async throws {
        let members = try session.withLock { session throws(PurchaseError) in try session.setUp(with: plugins) }
        if appUserId == nil {
            let kept = await recalledAnswers(of: nil, members)
            if !kept.isEmpty { updates.tellChangedUser(session.withLock { $0.recall(kept, ifStillOf: nil) }) }
        }
        let listeners = members.map(listen) + members.compactMap(serve)
        work.withLock { $0.listeners += listeners }
        if let appUserId { try await logIn(appUserId: appUserId) }
    }

    // MARK: - What comes by itself

    /// What the user paid for: the value known now, if any, then every change, whoever caused it.
    public var paidFeaturesUpdates: AsyncStream<PaidFeatures> { updates.stream() }

    /// What was asked of each plugin from now on, from where its answer came, and how old that was.
    public var diagnostics: AsyncStream<PurchaseDiagnostic> { told.stream() }

    /// Purchases that customers began outside the app, for one listener; of what it has not taken, the newest 10 are
    /// kept.
    public var promotedPurchases: AsyncStream<BegunPurchase> { promoted.stream }

    /// Pages that plugins need the customer to see. While nobody listens, the plugin that asks is told so.
    public var urlsToOpen: AsyncStream<URLToOpen> { urls.stream() }

    private func listen(to member: PurchaseSession.Member) -> Task<Void, Never> {
        let features = member.plugin.paidFeaturesUpdates()
        return Task { [weak self, clock = configuration.clock] in
            for await features in features {
                guard let self else { return }
                updates.tell(session.withLock { $0.record(features, from: member.index, at: clock.now()) })
                await keepAnswers()
            }
        }
    }

    private func serve(_ member: PurchaseSession.Member) -> Task<Void, Never>? {
        guard let requests = member.plugin.appRequests?.stream else { return nil }
        return Task { [weak self, urls, promoted] in
            for await request in requests {
                switch request {
                case .open(let url): urls.send(url)
                case .invalidateCaches: await self?.invalidatePaidFeaturesCache()
                case .offer(let product, let purchase):
                    promoted.continuation.yield(
                        BegunPurchase(product: product) { [weak self] in
                            guard let self else { throw PurchaseError(.notSetUp) }
                            return try await self.purchasePromoted(from: member, purchase)
                        })
                }
            }
        }
    }

    func tell(_ diagnostic: PurchaseDiagnostic) {
        configuration.log?(LogEntry(diagnostic))
        told.send(diagnostic)
    }

    /// Runs a question that may outlast its caller, until `close()` at the latest.
    func beside(_ question: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
        let id = UUID()
        return work.withLock { work in
            let task = Task { [weak self] in
                await question()
                self?.work.withLock { $0.questions[id] = nil }
            }
            work.questions[id] = task
            return task
        }
    }

    // MARK: - What outlives the run

    /// The answers that an earlier run kept of `user`, who is logged in at the plugins.
    func recalledAnswers(of user: UserId?, _ members: [Member]) async -> RecalledAnswers {
        var found = RecalledAnswers(stored: await shelf?.answers(of: user), ofPlugins: [:])
        for member in members where member.plugin.keepsItsAnswers {
            guard let kept = member.plugin.keptAnswers() else { continue }
            found.ofPlugins[member.index] = .init(
                paidFeatures: kept.paidFeatures, features: kept.features, asOf: kept.asOf)
        }
        return found
    }

    /// Has the storage hold what is known now.
    func keepAnswers() async {
        guard let shelf, let version = session.withLock({ $0.keptVersion }) else { return }
        await shelf.keep(version, at: configuration.clock.now()) { [session] in session.withLock { $0.kept } }
    }

    /// Has the storage hold nothing of users who left.
    func forgetAnswers(of users: Set<UserId?>) async {
        guard let shelf else { return }
        let change = session.withLock { $0.changes }
        for user in users { await shelf.forget(user, change: change) }
    }
}
