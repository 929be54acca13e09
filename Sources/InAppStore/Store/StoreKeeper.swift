import Foundation
import Primitives
import StoreKitAdapter
import StoreModel

/// Owns the store's state and is its only writer. Each of its methods changes the state with one `commit`, and each
/// snapshot shows one consistent state.
///
/// It sends one request to the server at a time (`+Server`), presents transactions (`+Delivery`), and manages the
/// customer (`+Customer`), acquired products (`+Acquiring`) and shared subscriptions (`+Siblings`).
actor StoreKeeper {
    nonisolated let clock: DeviceClock
    nonisolated let board: SnapshotBoard
    nonisolated let happenings: Happenings<StoreEvent>
    nonisolated let records: StoreRecords
    let validator: any ReceiptValidator
    let localVerifier: (any TransactionVerifier)?
    let siblings: SiblingApps?
    let turns = ServerTurns()
    let sleep: @Sendable (Duration) async throws -> Void
    /// Waits for the next instant at which the state changes or a request is due.
    var timer: Task<Void, Never>?
    /// The instant up to which all changes over time were processed. Time may pass while the state is computed, so the
    /// next change is counted from here and not from the moment at which the timer is set.
    private var settledUntil: Date
    /// The scheduled request.
    var question: Task<Void, Never>?
    /// The request that checks whether the clock is really ahead.
    var secondLook: Task<Void, Never>?
    /// The number of running requests to the server. While one runs, none is scheduled.
    var questions = 0
    /// The account tokens of the customers who have logged in on this device, the latest last.
    var tokensOfThisDevice: [UUID]
    /// The subscriptions that were reported because they are not in the list.
    var unknownSubscriptions: Set<ProductID> = []
    private var shown: StoreSnapshot?
    private var isStarted = false

    /// Without a `customer`, the customer is the anonymous one of this device. Throws `storageFailed` if the id of the
    /// anonymous customer cannot be read, or while the storage is locked.
    init(
        list: ProductList, customer: CustomerID?, validator: any ReceiptValidator,
        localVerifier: (any TransactionVerifier)?, siblings: SiblingApps?, storage: any SecureStorage,
        clock: any WallClock, sleep: @escaping @Sendable (Duration) async throws -> Void,
        patience: StoreState.Patience, log: (@Sendable (LogEntry) -> Void)?
    ) throws {
        let happenings = Happenings<StoreEvent> { log?(LogEntry($0)) }
        self.happenings = happenings
        self.validator = validator
        self.sleep = sleep
        self.localVerifier = localVerifier
        self.siblings = siblings
        let records = StoreRecords(storage: storage)
        try records.checkUnlocked()
        let clock = DeviceClock(clock, knowing: records.time(telling: happenings))
        self.clock = clock
        settledUntil = clock.now()
        self.records = records
        tokensOfThisDevice = records.tokensOfThisDevice(telling: happenings)
        let owner = StoreState.Owner(
            customer: try customer ?? records.anonymousCustomer(telling: happenings), isAnonymous: customer == nil)
        var state = StoreState(
            list: list, owner: owner, patience: patience)
        state.answer = records.value(StoreRecords.Key.answer, of: owner.customer, telling: happenings)
        state.acquiredViaSubscription =
            records.value(StoreRecords.Key.acquired, of: owner.customer, telling: happenings) ?? []
        if localVerifier != nil {
            state.provisional =
                records.value(StoreRecords.Key.provisional, of: owner.customer, telling: happenings) ?? []
            state.refuted = records.value(StoreRecords.Key.refuted, of: owner.customer, telling: happenings) ?? []
        }
        state.application = siblings?.application
        state.siblings = siblings?.infos(insteadOf: [:], telling: happenings) ?? [:]
        board = SnapshotBoard(state, clock: clock)
    }

    deinit {
        timer?.cancel()
        question?.cancel()
        secondLook?.cancel()
    }

    nonisolated var state: StoreState { board.state }
    nonisolated var now: Date { clock.now() }
    nonisolated var owner: StoreState.Owner { board.state.owner }

    nonisolated func report(_ event: StoreEvent) { happenings.send(event) }

    /// Sends the first snapshot, asks the server if that is due, and starts the timer.
    func start() {
        isStarted = true
        remember(owner)
        tellSiblings()
        if clock.wasSetBack {
            report(.clockSetBack)
            question = ask()
        }
        tell(board.current)
        writeTime()
    }

    /// Ends: sends no more snapshots, and stops the timer. Callers that wait for the server get an answer.
    func close() async {
        isStarted = false
        let ending = [timer, question, secondLook].compactMap { $0 }
        // Before the tasks are cancelled: the end of one request would start the next.
        await turns.close()
        for task in ending { task.cancel() }
        for task in ending { await task.value }
        writeTime()
        board.snapshots.finish()
        happenings.finish()
    }

    // MARK: - State

    /// Storefront updates can arrive out of order. Keeps the newest.
    func enter(_ visit: ProductRequest.Visit) {
        if visit.number > state.visit?.number ?? 0 { commit { $0.visit = visit } }
    }

    /// Reads the content on the device, because content updates can arrive out of order.
    func look(at content: any ContentManager) {
        let downloaded = content.downloaded
        if state.downloadedContent != downloaded { commit { $0.downloadedContent = downloaded } }
    }

    /// Changes the state, and publishes the new snapshot if it differs.
    func commit(_ change: (inout StoreState) -> Void) {
        var state = state
        change(&state)
        tell(board.show(state, insteadOf: shown))
    }

    private func tell(_ snapshot: StoreSnapshot) {
        if isStarted, snapshot != shown {
            shown = snapshot
            board.snapshots.send(snapshot)
        }
        watch()
    }

    // MARK: - Time

    /// Waits for the next instant at which the state changes or a request is due.
    func watch() {
        timer?.cancel()
        timer = nil
        guard isStarted else { return }
        let state = state
        let instants = [state.nextChange(after: min(settledUntil, clock.now())), mayAsk ? state.nextQuestion : nil]
        guard let next = instants.compactMap({ $0 }).min() else { return }
        timer = Task { [weak self, clock] in
            guard (try? await clock.sleep(until: next)) != nil, !Task.isCancelled else { return }
            await self?.timePassed()
        }
    }

    private func timePassed() {
        timer = nil
        settledUntil = clock.now()
        writeTime()
        hearSiblings()
        if mayAsk, isStarted, clock.now() >= state.nextQuestion { question = ask() }
        tell(board.look(insteadOf: shown))
    }

    private var mayAsk: Bool { questions == 0 && question == nil }
}
