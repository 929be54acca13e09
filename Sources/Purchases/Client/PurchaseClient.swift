import Foundation
import Primitives
import StoreModel

/// A client for all systems that sell to an app's customers. It calls the plugins and merges their answers.
///
///     let client = PurchaseClient()
///     try await client.setup(with: [storePlugin, webPlugin], appUserId: .string("customer-1042"))
///     if try await client.getPaidFeatures().hasActiveFeature(with: "pro") { unlock() }
///
/// The table `PurchaseOperation.all` has the rule of each operation. Operations of one plugin, such as `purchase` and
/// `cancelSubscription`, go to the plugins in the order of registration until one handles them. Reads, such as
/// `getPaidFeatures`, and `restorePurchases` go to all plugins concurrently, and their answers are merged in that
/// order.
///
/// The client throws the errors of the plugins and `PurchaseError`: `notSetUp`, `alreadySetUp`, `noSuitablePlugin`, and
/// `timedOut` for a plugin that did not answer in time, which does not affect the answers of others. You can use the
/// client on any thread. If the caller is cancelled, it gets `CancellationError`, and its plugin calls are cancelled
/// too.
public final class PurchaseClient: PurchaseClientProtocol {
    /// The settings of a client.
    public struct Configuration: Sendable {
        /// The deadline of a plugin for operations in which the customer does nothing.
        public var pluginDeadline: Duration
        /// Other deadlines, by the names of the plugins.
        public var pluginDeadlines: [String: Duration]
        /// The time that a completed purchase waits for the paid features of the other plugins. `paidFeaturesUpdates`
        /// sends later answers.
        public var afterPurchaseDeadline: Duration
        /// The storage of the last answers, for a launch without a network; `nil` keeps them only in memory. Each
        /// client needs its own storage.
        public var storage: (any SecureStorage)?
        /// The clock that dates answers and requests.
        public var clock: any WallClock
        /// The function that waits for a duration, for deadlines.
        public var sleep: @Sendable (Duration) async throws -> Void
        /// The function that runs completion handlers. The default runs them at once, on any thread. For the main
        /// queue, use `{ DispatchQueue.main.async(execute: $0) }`.
        public var callBack: @Sendable (@escaping @Sendable () -> Void) -> Void
        /// The function that receives each of the `diagnostics` as a log entry, at once and on any thread. The default
        /// is `LogEntry.systemLog()`. With `nil`, no entries are created.
        public var log: (@Sendable (LogEntry) -> Void)? = LogEntry.systemLog()

        /// Creates a configuration.
        ///
        /// - Parameters:
        ///   - pluginDeadline: The deadline of a plugin.
        ///   - pluginDeadlines: Other deadlines, by the names of the plugins.
        ///   - afterPurchaseDeadline: The time that a completed purchase waits for the other plugins.
        ///   - storage: The storage of the last answers, or `nil`.
        ///   - clock: The clock that dates answers and requests.
        ///   - sleep: The function that waits for a duration.
        ///   - callBack: The function that runs completion handlers.
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
    private let cache: AnswerCache?
    private let diagnosticsBroadcast = Broadcast<PurchaseDiagnostic>()
    private let urls = Broadcast<URLToOpen>()
    private let promoted = AsyncStream.makeStream(
        of: PromotedPurchaseRequest.self, bufferingPolicy: .bufferingNewest(10))

    /// The tasks that run without a caller.
    struct Work {
        /// The readers of each plugin's `paidFeaturesUpdates()` and `appRequests`.
        var listeners: [Task<Void, Never>] = []
        /// The repeated log-ins of plugins that could not be reached. All callers share them.
        var repeatedLogIns: [Int: Task<Void, any Error>] = [:]
        /// The requests that can outlast their callers.
        var requests: [UUID: Task<Void, Never>] = [:]
        /// The latest change of the user, for which the next one waits.
        var lastUserChange: Task<Void, Never>?
    }

    /// Creates a client without plugins.
    ///
    /// - Parameter configuration: The settings.
    public init(configuration: PurchaseClient.Configuration = .init()) {
        self.configuration = configuration
        cache = configuration.storage.map {
            [diagnosticsBroadcast, clock = configuration.clock, log = configuration.log] storage in
            AnswerCache(storage: storage) { error in
                let diagnostic = PurchaseDiagnostic.ofStorage(error, at: clock.now())
                log?(LogEntry(diagnostic))
                diagnosticsBroadcast.send(diagnostic)
            }
        }
    }

    deinit {
        work.withLock { $0.listeners }.forEach { $0.cancel() }
        finishStreams()
    }

    /// Stops listening to the plugins, ends the client's streams, and returns when no task of the client is running.
    /// Calls of the client's methods still work afterwards.
    public func close() async {
        let (others, logIns) = work.withLock { work in
            defer { (work.listeners, work.requests, work.repeatedLogIns) = ([], [:], [:]) }
            return (work.listeners + work.requests.values, Array(work.repeatedLogIns.values))
        }
        finishStreams()
        for task in others { task.cancel() }
        for task in logIns { task.cancel() }
        for task in others { await task.value }
        for task in logIns { _ = await task.result }
        await work.withLock { $0.lastUserChange }?.value
    }

    private func finishStreams() {
        updates.finish()
        diagnosticsBroadcast.finish()
        urls.finish()
        promoted.continuation.finish()
    }

    /// Adds the plugins, once, and logs the user in.
    ///
    /// - Parameters:
    ///   - plugins: The plugins, in the order of precedence.
    ///   - appUserId: The user to log in, or `nil`.
    /// - Throws: `PurchaseError` with the code `alreadySetUp`, or an error of `logIn(appUserId:)`. After a failed
    ///   log-in the client is set up without a user.
    public func setup(with plugins: [any PurchasePlugin], appUserId: UserId? = nil) async throws {
        let members = try session.withLock { session throws(PurchaseError) in try session.setUp(with: plugins) }
        if appUserId == nil {
            let earlier = await recalledAnswers(of: nil, members)
            if !earlier.isEmpty { updates.sendUserChange(session.withLock { $0.recall(earlier, ifStillOf: nil) }) }
        }
        let listeners = members.map(listen) + members.compactMap(serve)
        work.withLock { $0.listeners += listeners }
        if let appUserId { try await logIn(appUserId: appUserId) }
    }

    /// The paid features of the user: the known value, if any, and then every change.
    public var paidFeaturesUpdates: AsyncStream<PaidFeatures> { updates.stream() }

    /// The requests to the plugins from now on, with the origin and age of each answer.
    public var diagnostics: AsyncStream<PurchaseDiagnostic> { diagnosticsBroadcast.stream() }

    /// Purchases that customers began outside the app, for one reader. Keeps the newest 10 that are not read yet.
    public var promotedPurchases: AsyncStream<PromotedPurchaseRequest> { promoted.stream }

    /// Web pages that plugins must show to the customer. Without a reader, the plugin gets an error.
    public var urlsToOpen: AsyncStream<URLToOpen> { urls.stream() }

    private func listen(to member: PurchaseSession.Member) -> Task<Void, Never> {
        let features = member.plugin.paidFeaturesUpdates()
        return Task { [weak self, clock = configuration.clock] in
            for await features in features {
                guard let self else { return }
                updates.send(session.withLock { $0.record(features, from: member.index, at: clock.now()) })
                await storeAnswers()
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
                        PromotedPurchaseRequest(product: product) { [weak self] in
                            guard let self else { throw PurchaseError(.notSetUp) }
                            return try await self.purchasePromoted(from: member, purchase)
                        })
                }
            }
        }
    }

    func send(_ diagnostic: PurchaseDiagnostic) {
        configuration.log?(LogEntry(diagnostic))
        diagnosticsBroadcast.send(diagnostic)
    }

    /// Runs a request that can outlast its caller, until `close()` at the latest.
    func runInBackground(_ request: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
        let id = UUID()
        return work.withLock { work in
            let task = Task { [weak self] in
                await request()
                self?.work.withLock { $0.requests[id] = nil }
            }
            work.requests[id] = task
            return task
        }
    }

    /// Returns the answers that an earlier run stored for a user who is logged in at the plugins.
    func recalledAnswers(of user: UserId?, _ members: [Member]) async -> RecalledAnswers {
        var found = RecalledAnswers(stored: await cache?.answers(of: user), ofPlugins: [:])
        for member in members where member.plugin.storesAnswers {
            guard let answers = member.plugin.storedAnswers() else { continue }
            found.ofPlugins[member.index] = .init(
                paidFeatures: answers.paidFeatures, features: answers.features, asOf: answers.asOf)
        }
        return found
    }

    func storeAnswers() async {
        guard let cache, let version = session.withLock({ $0.answersVersion }) else { return }
        await cache.store(version, at: configuration.clock.now()) { [session] in
            session.withLock { $0.answersToStore }
        }
    }

    /// Removes the stored answers of users who are no longer logged in.
    func forgetAnswers(of users: Set<UserId?>) async {
        guard let cache else { return }
        let change = session.withLock { $0.changes }
        for user in users { await cache.forget(user, change: change) }
    }
}
