import Foundation
import Primitives
import StoreKitAdapter
import StoreModel

/// Owns the store's state and is its only writer. Its methods change the state only with `commit`, so each snapshot
/// shows one consistent state.
///
/// It sends one request to the server at a time (`+Server`), presents transactions (`+Delivery`), and manages the
/// customer (`+Customer`), acquired products (`+Acquiring`) and shared subscriptions (`+Siblings`).
actor StoreCoordinator {
    nonisolated let clock: DeviceClock
    nonisolated let snapshotPublisher: SnapshotPublisher
    nonisolated let events: EventBroadcaster<StoreEvent>
    nonisolated let records: StoreRecords
    let validator: any ReceiptValidator
    let localVerifier: (any TransactionVerifier)?
    let siblings: SiblingApps?
    let serverQueue = SerialQueue()
    let sleep: @Sendable (Duration) async throws -> Void
    /// Waits for the next instant at which the state changes or a request is due.
    var timer: Task<Void, Never>?
    /// The instant up to which all scheduled changes were processed. Time passes while the state is computed, so the
    /// next change is searched from this instant and not from the one at which the timer is set.
    private var processedUntil: Date
    var refreshTask: Task<Void, Never>?
    /// The second request after the device's clock was found to be ahead of the server's.
    var clockCheck: Task<Void, Never>?
    /// The number of running requests to the server. While one runs, none is scheduled.
    var openRequests = 0
    /// The account tokens of the customers who have logged in on this device, the latest last.
    var tokensOfThisDevice: [UUID]
    /// The subscriptions that were reported because they are not in the list.
    var unknownSubscriptions: Set<ProductID> = []
    private var published: StoreSnapshot?
    private var isStarted = false

    /// Without a `customer`, the customer is the anonymous one of this device. Throws `storageFailed` if the id of the
    /// anonymous customer cannot be read, or while the storage is locked.
    init(
        list: ProductList, customer: CustomerID?, validator: any ReceiptValidator,
        localVerifier: (any TransactionVerifier)?, siblings: SiblingApps?, storage: any SecureStorage,
        clock: any WallClock, sleep: @escaping @Sendable (Duration) async throws -> Void,
        timeLimits: StoreState.TimeLimits, log: (@Sendable (LogEntry) -> Void)?
    ) throws {
        let events = EventBroadcaster<StoreEvent> { log?(LogEntry($0)) }
        self.events = events
        self.validator = validator
        self.sleep = sleep
        self.localVerifier = localVerifier
        self.siblings = siblings
        let records = StoreRecords(storage: storage)
        try records.checkUnlocked()
        let clock = DeviceClock(clock, knowing: records.time(reportingTo: events))
        self.clock = clock
        processedUntil = clock.now()
        self.records = records
        tokensOfThisDevice = records.tokensOfThisDevice(reportingTo: events)
        let owner = StoreState.Owner(
            customer: try customer ?? records.anonymousCustomer(reportingTo: events), isAnonymous: customer == nil)
        var state = StoreState(
            list: list, owner: owner, timeLimits: timeLimits)
        state.answer = records.value(StoreRecords.Key.answer, of: owner.customer, reportingTo: events)
        state.acquiredViaSubscription = records.acquiredProducts(of: owner.customer, reportingTo: events) ?? []
        if localVerifier != nil {
            state.provisional =
                records.value(StoreRecords.Key.provisional, of: owner.customer, reportingTo: events) ?? []
            state.rejectedTransactions =
                records.value(StoreRecords.Key.rejectedTransactions, of: owner.customer, reportingTo: events) ?? []
        }
        state.application = siblings?.application
        state.siblings = siblings?.infos(fallback: [:], reportingTo: events) ?? [:]
        snapshotPublisher = SnapshotPublisher(state, clock: clock)
    }

    deinit {
        timer?.cancel()
        refreshTask?.cancel()
        clockCheck?.cancel()
    }

    nonisolated var state: StoreState { snapshotPublisher.state }
    nonisolated var now: Date { clock.now() }
    nonisolated var owner: StoreState.Owner { snapshotPublisher.state.owner }

    nonisolated func report(_ event: StoreEvent) { events.send(event) }

    /// Sends the first snapshot, and starts the timer, which starts each request to the server when it is due. If the
    /// device's clock was set back, starts a request at once.
    func start() {
        isStarted = true
        remember(owner)
        writeForSiblings()
        if clock.wasSetBack {
            report(.clockSetBack)
            refreshTask = startRefresh()
        }
        publish(snapshotPublisher.current)
        writeTime()
    }

    /// Cancels the requests to the server, stops the timer, and sends no more snapshots.
    func close() async {
        isStarted = false
        let tasks = [timer, refreshTask, clockCheck].compactMap { $0 }
        // Closes the queue before it cancels the tasks, because the end of one request would start the next.
        await serverQueue.close()
        for task in tasks { task.cancel() }
        for task in tasks { await task.value }
        writeTime()
        snapshotPublisher.snapshots.finish()
        events.finish()
    }

    /// Storefront updates can arrive out of order. Keeps the newest.
    func setStorefront(_ storefrontRevision: ProductRequest.StorefrontRevision) {
        if storefrontRevision.number > state.storefrontRevision?.number ?? 0 {
            commit { $0.storefrontRevision = storefrontRevision }
        }
    }

    /// Reads the content on the device, because content updates can arrive out of order.
    func updateContent(from content: any ContentManager) {
        let downloaded = content.downloaded
        if state.downloadedContent != downloaded { commit { $0.downloadedContent = downloaded } }
    }

    /// Changes the state, and publishes the new snapshot if it differs.
    func commit(_ change: (inout StoreState) -> Void) {
        var state = state
        change(&state)
        publish(snapshotPublisher.publish(state, insteadOf: published))
    }

    private func publish(_ snapshot: StoreSnapshot) {
        if isStarted, snapshot != published {
            published = snapshot
            snapshotPublisher.snapshots.send(snapshot)
        }
        scheduleTimer()
    }

    /// Sets the timer to the next instant at which the state changes or a request is due.
    func scheduleTimer() {
        timer?.cancel()
        timer = nil
        guard isStarted else { return }
        let state = state
        let instants = [
            state.nextChange(after: min(processedUntil, clock.now())), mayRefresh ? state.nextRefresh : nil,
        ]
        guard let next = instants.compactMap({ $0 }).min() else { return }
        timer = Task { [weak self, clock] in
            guard (try? await clock.sleep(until: next)) != nil, !Task.isCancelled else { return }
            await self?.timePassed()
        }
    }

    private func timePassed() {
        timer = nil
        processedUntil = clock.now()
        writeTime()
        readSiblings()
        if mayRefresh, isStarted, clock.now() >= state.nextRefresh { refreshTask = startRefresh() }
        publish(snapshotPublisher.refresh(insteadOf: published))
    }

    private var mayRefresh: Bool { openRequests == 0 && refreshTask == nil }
}
