import Foundation
import Primitives
import Purchases
import StoreKitAdapter
import StoreModel

/// Keeps the store's state: asks the server one question at a time, writes down what it said, tells everybody.
actor StoreKeeper {
    private static let answerKey = "validation"
    private static let acquiredKey = "acquiredViaSubscription"
    private static let tokensKey = "customersOfThisDevice"
    private static let rememberedTokens = 100

    /// Whose purchases are kept.
    struct Owner: Sendable, Hashable {
        var customer: CustomerID
        var isAnonymous: Bool
    }

    /// A value in storage says whose it is, so that one customer's never counts for another.
    private struct Kept<Value: Codable>: Codable {
        var customer: CustomerID
        var value: Value
    }

    nonisolated let snapshots = Broadcast<StoreSnapshot>(replaysLast: true)
    nonisolated let clock: any WallClock
    private nonisolated let happenings = Broadcast<StoreEvent>()
    /// What was found when the store was made, before anybody could listen.
    private nonisolated let findings: [StoreEvent]
    private let validator: any ReceiptValidator
    private let storage: any SecureStorage
    /// Read by everybody without waiting, written only here.
    private nonisolated let shared: Locked<StoreState>
    private nonisolated let who: Locked<Owner>
    private var lastSent: StoreSnapshot?
    private var conversation: Task<Void, Never>?
    /// How to give up each turn that has not ended.
    private var turns: [UInt64: @Sendable () -> Void] = [:]
    private var lastTurn: UInt64 = 0
    private var timer: Task<Void, Never>?
    /// The question that the clock began.
    private var question: Task<Void, Never>?
    /// Questions to the server under way; while there is one, none is begun by the clock.
    private var questions = 0
    private var unknownSubscriptions: Set<ProductID> = []
    /// The account tokens of the customers who have logged in on this device, the latest last.
    private var tokensOfThisDevice: [UUID]
    private var isStarted = false

    init(
        state: StoreState, customer: CustomerID?, validator: any ReceiptValidator, storage: any SecureStorage,
        clock: any WallClock
    ) throws {
        self.validator = validator
        self.storage = storage
        self.clock = clock
        let owner = Owner(
            customer: try customer ?? Self.anonymousCustomer(in: storage), isAnonymous: customer == nil)
        var (state, findings) = (state, [StoreEvent]())
        state.answer = Self.read(Self.answerKey, of: owner, in: storage, &findings)
        state.acquiredViaSubscription = Self.read(Self.acquiredKey, of: owner, in: storage, &findings) ?? []
        who = Locked(owner)
        shared = Locked(state)
        do {
            let bytes = try storage.data(for: Self.tokensKey)
            tokensOfThisDevice = try bytes.map { try WireJSON.decode([UUID].self, from: $0) } ?? []
        } catch {
            tokensOfThisDevice = []
            let sentence = "Who has logged in on this device cannot be read and counts as unknown."
            findings.append(StoreEvent(kind: .nonCriticalError, code: .storageFailed, sentence: sentence))
        }
        self.findings = findings
    }

    deinit {
        timer?.cancel()
        question?.cancel()
    }

    /// What cannot be read is absent, and said.
    private static func read<Value: Codable>(
        _ key: String, of owner: Owner, in storage: any SecureStorage, _ findings: inout [StoreEvent]
    ) -> Value? {
        do {
            guard let bytes = try storage.data(for: key) else { return nil }
            let kept = try WireJSON.decode(Kept<Value>.self, from: bytes)
            return kept.customer == owner.customer ? kept.value : nil
        } catch {
            let sentence = "What was kept under \"\(key)\" cannot be read and counts as absent."
            findings.append(StoreEvent(kind: .nonCriticalError, code: .storageFailed, sentence: sentence))
            return nil
        }
    }

    private static func anonymousCustomer(in storage: any SecureStorage) throws -> CustomerID {
        do {
            return try AnonymousCustomer(storage: storage).id
        } catch {
            throw StoreError(
                .storageFailed, "The id of this device's anonymous customer cannot be kept: \(error)",
                underlying: error)
        }
    }

    nonisolated var state: StoreState { shared.withLock { $0 } }
    nonisolated var now: Date { clock.now() }
    nonisolated var owner: Owner { who.withLock { $0 } }
    nonisolated func snapshot() -> StoreSnapshot { state.snapshot(at: clock.now()) }

    /// What was found at the start, then what happens.
    nonisolated var events: AsyncStream<StoreEvent> {
        let live = happenings.stream()
        guard !findings.isEmpty else { return live }
        let (stream, continuation) = AsyncStream.makeStream(of: StoreEvent.self)
        for finding in findings { continuation.yield(finding) }
        let relay = Task {
            for await event in live { continuation.yield(event) }
            continuation.finish()
        }
        continuation.onTermination = { _ in relay.cancel() }
        return stream
    }

    nonisolated func report(_ event: StoreEvent) { happenings.send(event) }

    /// Sends the first snapshot, asks the server if that is due, and watches the clock from now on.
    func start() {
        isStarted = true
        remember(owner)
        publish()
    }

    /// Somebody logs in: what was known of the customer before is forgotten on this device, and the server is asked.
    /// The customer is changed also when the server cannot be asked, and then this throws.
    ///
    /// - Parameter changed: called when it is somebody else than before, and the server not asked yet.
    func logIn(_ customer: CustomerID, changed: @Sendable () async -> Void) async throws {
        questions += 1
        defer {
            questions -= 1
            watch()
        }
        if change(to: Owner(customer: customer, isAnonymous: false)) { await changed() }
        try await refresh()
    }

    /// The anonymous customer of this device takes over.
    func logOut(changed: @Sendable () async -> Void) async throws {
        let owner = Owner(customer: try Self.anonymousCustomer(in: storage), isAnonymous: true)
        if change(to: owner) { await changed() }
    }

    /// Returns whether it is somebody else.
    private func change(to owner: Owner) -> Bool {
        let former = who.withLock { current in
            defer { current = owner }
            return current
        }
        guard former.customer != owner.customer else { return false }
        remember(owner)
        shared.withLock { state in
            state.answer = nil
            state.acquiredViaSubscription = []
            (state.failures, state.lastFailure) = (0, nil)
        }
        for key in [Self.answerKey, Self.acquiredKey] {
            do {
                try storage.set(nil, for: key)
            } catch {
                reportStorage("What was known of the former customer could not be removed", error)
            }
        }
        publish()
        return true
    }

    /// Keeps the token of who has logged in, so that their purchases are never presented as somebody else's here.
    private func remember(_ owner: Owner) {
        let token = owner.customer.appAccountToken
        guard !owner.isAnonymous, tokensOfThisDevice.last != token else { return }
        tokensOfThisDevice.removeAll { $0 == token }
        tokensOfThisDevice = (tokensOfThisDevice + [token]).suffix(Self.rememberedTokens)
        do {
            try storage.set(try WireJSON.encode(tokensOfThisDevice), for: Self.tokensKey)
        } catch {
            reportStorage("Who has logged in could not be written down", error)
        }
    }

    func set(locale: String) {
        guard state.locale != locale else { return }
        shared.withLock { $0.locale = locale }
        publish()
    }

    /// Presents transactions to the server and says what became of each. One that names a former customer of this device
    /// waits for them: nobody may have what somebody else paid for. A token that nobody here had is for the server to
    /// judge.
    func deliver(_ transactions: [StoreTransaction]) async -> [TransactionID: DeliveryVerdict] {
        do {
            let tokens = tokensOfThisDevice
            let (own, answer) = try await inTurn { [validator] customer in
                let own = Self.transactions(transactions, of: customer, othersHere: tokens)
                return (own, own.isEmpty ? nil : try await validator.validate(own, for: customer))
            } note: { (_, answer: TransactionValidation?) in
                answer?.customer
            }
            return hold(allBut: own, of: transactions).merging(verdicts(on: own, answer)) { $1 }
        } catch {
            let own = Self.transactions(transactions, of: owner.customer, othersHere: tokensOfThisDevice)
            if !Task.isCancelled, !own.isEmpty {
                let sentence = "The server could not be asked about \(own.count) transactions; they are kept."
                report(StoreEvent(kind: .nonCriticalError, code: .receiptValidationFailed, sentence: sentence))
            }
            return own.reduce(into: hold(allBut: own, of: transactions)) { $0[$1.id] = .unavailable(error) }
        }
    }

    /// All but those that name one of `othersHere`.
    private static func transactions(
        _ all: [StoreTransaction], of customer: CustomerID, othersHere tokens: [UUID]
    ) -> [StoreTransaction] {
        let own = customer.appAccountToken
        return all.filter { transaction in
            transaction.appAccountToken.map { $0 == own || !tokens.contains($0) } ?? true
        }
    }

    private func hold(
        allBut own: [StoreTransaction], of all: [StoreTransaction]
    ) -> [TransactionID: DeliveryVerdict] {
        let own = Set(own.map(\.id))
        return all.reduce(into: [:]) { verdicts, transaction in
            guard !own.contains(transaction.id) else { return }
            let error = StoreError(
                .acknowledgementPending,
                "Transaction \(transaction.id) belongs to another customer of this device; it is presented when they "
                    + "log in.")
            report(
                StoreEvent(
                    kind: .nonCriticalError, code: error.code, sentence: error.sentence,
                    transactionID: transaction.id))
            verdicts[transaction.id] = .held(error)
        }
    }

    private func verdicts(
        on transactions: [StoreTransaction], _ answer: TransactionValidation?
    ) -> [TransactionID: DeliveryVerdict] {
        guard let answer else { return [:] }
        let rejected = Dictionary(
            answer.rejected.compactMap { rejection in
                transactions.indices.contains(rejection.index) ? (transactions[rejection.index].id, rejection) : nil
            }, uniquingKeysWith: { first, _ in first })
        return transactions.reduce(into: [:]) { verdicts, transaction in
            verdicts[transaction.id] = verdict(
                on: transaction, isAcknowledged: answer.acknowledged.contains(transaction.id),
                rejection: rejected[transaction.id])
        }
    }

    private func verdict(
        on transaction: StoreTransaction, isAcknowledged: Bool, rejection: RejectedTransaction?
    ) -> DeliveryVerdict {
        if isAcknowledged { return .acknowledged }
        guard let rejection else {
            return .unavailable(
                StoreError(.acknowledgementPending, "The server has not acknowledged transaction \(transaction.id)."))
        }
        let error = StoreError(.receiptValidationFailed, "\(rejection.code): \(rejection.detail)")
        report(
            StoreEvent(
                kind: rejection.retryable ? .nonCriticalError : .criticalError, code: .receiptValidationFailed,
                sentence: error.sentence, transactionID: transaction.id))
        return rejection.retryable ? .unavailable(error) : .rejected(error)
    }

    /// Asks the server what the customer may use now. Throws `operationCancelled`, else `receiptValidationFailed`.
    func refresh() async throws {
        questions += 1
        defer {
            questions -= 1
            watch()
        }
        do {
            _ = try await inTurn { [validator] customer in
                try await validator.customer(customer)
            } note: {
                $0
            }
        } catch is CancellationError {
            throw StoreError(.operationCancelled, "The question to the server was cancelled.")
        } catch {
            throw StoreError(
                .receiptValidationFailed, "The server could not be asked; what is known stays.", underlying: error)
        }
    }

    /// Adds a product that an active subscription enables to those acquired; durable when it returns.
    func acquire(_ product: ProductID) throws {
        guard enabledNow().contains(product) else {
            throw StoreError(
                .invalidProductForPurchasing,
                "\"\(product)\" is for subscribers only, and no active subscription enables it.")
        }
        try add(acquired: [product])
    }

    /// Adds everything that the active subscription enables; durable when it returns.
    func acquireAll() throws {
        guard state.subscriptionInfo(at: now)?.isExpired == false else {
            throw StoreError(
                .acquireAllRequestedForNonSubscriber, "Only subscribers can acquire what a subscription enables.")
        }
        try add(acquired: enabledNow())
    }

    private func enabledNow() -> Set<ProductID> {
        let state = state
        return state.enabledProducts(by: state.subscriptionInfo(at: now))
    }

    private func add(acquired products: Set<ProductID>) throws {
        let all = state.acquiredViaSubscription.union(products)
        do {
            try keep(all, under: Self.acquiredKey)
        } catch {
            throw StoreError(.storageFailed, "The acquired products could not be written down.", underlying: error)
        }
        shared.withLock { $0.acquiredViaSubscription = all }
        publish()
    }

    /// Ends: no more snapshots, no more watching of the clock. Who still waits for the server is answered.
    func close() async {
        isStarted = false
        let ending = [timer, question].compactMap { $0 }
        for task in ending { task.cancel() }
        for giveUp in turns.values { giveUp() }
        for task in ending { await task.value }
        await conversation?.value
        snapshots.finish()
        happenings.finish()
    }

    // MARK: - The server's answers

    /// Runs one conversation with the server after the one before has ended, so that answers are kept in the order in
    /// which they were given; an answer about somebody who has logged out meanwhile is not kept.
    private func inTurn<Answer: Sendable>(
        _ ask: @escaping @Sendable (CustomerID) async throws -> Answer,
        note: @escaping @Sendable (Answer) -> Customer?
    ) async throws -> Answer {
        let before = conversation
        lastTurn += 1
        let number = lastTurn
        let turn = Task {
            defer { self.turns[number] = nil }
            try await Self.end(of: before)
            let customer = self.owner.customer
            do {
                let answer = try await ask(customer)
                if let news = note(answer), customer == self.owner.customer { self.note(news) }
                return answer
            } catch {
                // Who gave up says nothing about the server.
                if Task.isCancelled { throw CancellationError() }
                if customer == self.owner.customer { self.noteFailure() }
                throw error
            }
        }
        turns[number] = { turn.cancel() }
        conversation = Task {
            await before?.value
            _ = await turn.result
        }
        return try await withTaskCancellationHandler {
            try await turn.value
        } onCancel: {
            turn.cancel()
        }
    }

    /// Waits for a conversation; whoever gives up leaves at once, and the conversation goes on.
    private static func end(of conversation: Task<Void, Never>?) async throws {
        if let conversation {
            let (ending, continuation) = AsyncStream.makeStream(of: Never.self)
            Task {
                await conversation.value
                continuation.finish()
            }
            for await _ in ending {}
        }
        try Task.checkCancellation()
    }

    private func note(_ customer: Customer) {
        let answer = StoreState.Answer(customer: customer, receivedAt: clock.now())
        shared.withLock { state in
            state.answer = answer
            (state.failures, state.lastFailure) = (0, nil)
        }
        write(answer)
        acquireWhatComesByItself()
        reportUnknownSubscription()
        publish()
    }

    private func noteFailure() {
        let (answer, isFirst) = shared.withLock { [now = clock.now()] state in
            if state.failures == 0 || now >= state.nextQuestion {
                // Deliveries that fail in between are paced by the payment queue, not counted here.
                state.failures += 1
                state.lastFailure = now
            }
            let isFirst = state.answer?.failingSince == nil
            if isFirst { state.answer?.failingSince = now }
            return (state.answer, isFirst)
        }
        if let answer, isFirst { write(answer) }
        publish()
    }

    /// An answer that cannot be written is used all the same, and asked for again at the next launch.
    private func write(_ answer: StoreState.Answer) {
        do {
            try keep(answer, under: Self.answerKey)
        } catch {
            reportStorage("The server's answer could not be written down", error)
        }
    }

    private func keep<Value: Codable>(_ value: Value, under key: String) throws {
        try storage.set(try WireJSON.encode(Kept(customer: owner.customer, value: value)), for: key)
    }

    private func reportStorage(_ sentence: String, _ error: any Error) {
        report(StoreEvent(kind: .nonCriticalError, code: .storageFailed, sentence: "\(sentence): \(error)"))
    }

    private func acquireWhatComesByItself() {
        let state = state
        let due = Set(state.list.products.filter(\.preAcquiredViaSubscription).map(\.id)).intersection(enabledNow())
        guard !due.isSubset(of: state.acquiredViaSubscription) else { return }
        do {
            try add(acquired: due)
        } catch {
            reportStorage("What the subscription brings by itself could not be written down", error)
        }
    }

    /// A subscription that the list does not know enables everything, which somebody should hear of.
    private func reportUnknownSubscription() {
        guard let info = state.subscriptionInfo(at: now), !info.isExpired else { return }
        let product = info.subscription.productID
        guard state.list[product] == nil, unknownSubscriptions.insert(product).inserted else { return }
        let sentence = "The subscription \"\(product)\" is not in the product list; it enables every product."
        report(StoreEvent(kind: .informational, code: .invalidProductIdentifier, sentence: sentence))
    }

    // MARK: - Time

    private func publish() {
        guard isStarted else { return }
        let snapshot = snapshot()
        if snapshot != lastSent { snapshots.send(snapshot) }
        lastSent = snapshot
        watch()
    }

    /// Waits for the next instant at which something changes or the server is to be asked.
    private func watch() {
        timer?.cancel()
        timer = nil
        guard isStarted else { return }
        let state = state
        let instants = [state.nextChange(after: clock.now()), mayAsk ? state.nextQuestion : nil]
        guard let next = instants.compactMap({ $0 }).min() else { return }
        timer = Task { [weak self, clock] in
            guard (try? await clock.sleep(until: next)) != nil, !Task.isCancelled else { return }
            await self?.timePassed()
        }
    }

    private func timePassed() {
        timer = nil
        if mayAsk, isStarted, clock.now() >= state.nextQuestion {
            question = Task { [weak self] in await self?.ask() }
        }
        publish()
    }

    private var mayAsk: Bool { questions == 0 && question == nil }

    /// A failure is noted and the next attempt awaited.
    private func ask() async {
        try? await refresh()
        question = nil
        watch()
    }
}
