import Foundation
import Primitives
import StoreKitAdapter
import StoreModel

/// Keeps the store's state: the one writer of what is known. Facts come in through its methods, each as one `commit`, and
/// go out as a snapshot that never mixes two states.
///
/// It asks the server one question at a time (`+Questions`), presents transactions to it (`+Delivery`), knows who uses the
/// app (`+Customer`) and what they acquired (`+Acquiring`), and exchanges subscriptions with sibling apps (`+Siblings`).
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
    /// Waits for the next instant at which something changes by itself or the server is to be asked.
    var timer: Task<Void, Never>?
    /// The instant up to which everything was done that time brings. Time may pass while the state is looked at, so what
    /// comes next is counted from here and not from the moment at which the timer is set.
    private var settledUntil: Date
    /// The question that the clock began.
    var question: Task<Void, Never>?
    /// The question whether the clock is ahead indeed.
    var secondLook: Task<Void, Never>?
    /// Questions to the server under way; while there is one, none is begun by the clock.
    var questions = 0
    /// The account tokens of the customers who have logged in on this device, the latest last.
    var tokensOfThisDevice: [UUID]
    /// Subscriptions that were told of because the list does not know them.
    var unknownSubscriptions: Set<ProductID> = []
    private var shown: StoreSnapshot?
    private var isStarted = false

    /// The customer is the anonymous one of this device when none is given. Throws `storageFailed` when that one has no
    /// readable id, and while the storage is locked.
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

    /// Sends the first snapshot, asks the server if that is due, and watches the clock from now on.
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

    /// Ends: no more snapshots, no more watching of the clock. Who still waits for the server is answered.
    func close() async {
        isStarted = false
        let ending = [timer, question, secondLook].compactMap { $0 }
        // Before their tasks are cancelled: the end of one conversation would let the next one begin.
        await turns.close()
        for task in ending { task.cancel() }
        for task in ending { await task.value }
        writeTime()
        board.snapshots.finish()
        happenings.finish()
    }

    // MARK: - State

    /// Word of a storefront may arrive after word of the next; the newest stays.
    func enter(_ visit: ProductRequest.Visit) {
        if visit.number > state.visit?.number ?? 0 { commit { $0.visit = visit } }
    }

    /// What is on the device is looked up here: word of it may arrive after word of the next.
    func look(at content: any ContentManager) {
        let downloaded = content.downloaded
        if state.downloadedContent != downloaded { commit { $0.downloadedContent = downloaded } }
    }

    /// Changes the state, and tells whoever listens what that has made of the snapshot.
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

    /// Waits for the next instant at which something changes or the server is to be asked.
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
