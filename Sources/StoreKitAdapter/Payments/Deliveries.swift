import StoreModel

/// The transactions that are being delivered or wait for their next attempt. To hand over a transaction is to pass it
/// to the queue's `deliver` function. Attempts are repeated, one at a time, until the transaction is acknowledged or
/// refused.
struct Deliveries {
    typealias Caller = UInt64

    /// The update or request that brought a transaction here.
    enum Reason {
        case restored, renewalChanged, purchased, revoked

        /// Whether the store reports the transaction again until it is finished.
        var mustFinish: Bool { self == .purchased || self == .revoked }

        /// Returns the reason to use when the transaction arrives again before it is acknowledged.
        func followed(by newer: Reason) -> Reason {
            newer.mustFinish || (!mustFinish && newer == .renewalChanged) ? newer : self
        }
    }

    /// A transaction, with the reason for its delivery.
    struct Item {
        var transaction: StoreTransaction
        var reason: Reason
        /// The payment that the store named for the transaction, even if no caller waits for it.
        var payment: PaymentID?

        func followed(by newer: Item) -> Item {
            Item(
                transaction: newer.transaction, reason: reason.followed(by: newer.reason),
                payment: newer.payment ?? payment)
        }
    }

    /// The callers that receive the result of a delivery.
    struct Recipients {
        /// The payments that receive the result, each with whether the store returned an earlier purchase for it.
        var payments: [PaymentID: Bool] = [:]
        var redeliveries: [Caller] = []
        var isRestore = false
        /// The callers that presented the transaction as owned.
        var presentations: Set<Caller> = []

        /// The callers that must get an acknowledgement for the current customer: those that restore or present.
        fileprivate var ofCurrentCustomer: Recipients? {
            isRestore || !presentations.isEmpty
                ? Recipients(isRestore: isRestore, presentations: presentations) : nil
        }
    }

    /// The result of one delivery attempt.
    struct AttemptResult {
        var item: Item
        var recipients: Recipients
        var ending: Ending
        /// The transaction to hand over next.
        var next: StoreTransaction?
        /// The number of the attempt to make after a pause.
        var retry: Int?
    }

    /// The next step after a verdict.
    enum Step {
        case handOver(StoreTransaction)
        case ended(AttemptResult)
    }

    private struct Delivery {
        var item: Item
        var recipients = Recipients()
        /// Whether the transaction is handed over and its verdict is awaited.
        var isRunning = true
        var attempt = 0
        /// A newer signature of the same transaction, which arrived meanwhile and is delivered next.
        var next: Item?
        /// Whether a redelivery of all transactions was requested while an attempt was running. If that attempt is
        /// refused, the transaction is handed over again, because the refusal is from before the request.
        var isDueAgain = false
        /// Whether the transaction was restored for a former customer and is not delivered again.
        var isAbandoned = false
        /// Whether the customer changed after the running attempt began.
        var isOfFormerCustomer = false

        /// Continues with the newer signature, if there is one.
        mutating func advance() {
            guard let newer = next else { return }
            item = item.followed(by: newer)
            next = nil
            isAbandoned = false
        }
    }

    private var deliveries: [TransactionID: Delivery] = [:]
    /// The transactions that were rejected or held, oldest first. They wait for a redelivery request. If there are too
    /// many, the oldest is removed. If it is unfinished at the store, the store reports it again at the next launch.
    private var setAside: [Item] = []

    static let maximumSetAside = 1000

    // MARK: - Handing over

    /// Adds a transaction, and returns whether to hand it over now. While the same transaction is being delivered, a
    /// newer signature waits until that delivery ends.
    mutating func add(_ item: Item, for addRecipients: (inout Recipients) -> Void = { _ in }) -> Bool {
        let id = item.transaction.id
        guard var delivery = deliveries[id] else {
            let earlier = setAside.firstIndex { $0.transaction.id == id }.map { setAside.remove(at: $0) }
            var delivery = Delivery(item: earlier?.followed(by: item) ?? item)
            addRecipients(&delivery.recipients)
            deliveries[id] = delivery
            return true
        }
        addRecipients(&delivery.recipients)
        defer { deliveries[id] = delivery }
        delivery.isAbandoned = false
        if delivery.isRunning {
            if delivery.item.transaction == item.transaction {
                delivery.item = delivery.item.followed(by: item)
            } else {
                delivery.next = delivery.next?.followed(by: item) ?? item
            }
            return false
        }
        delivery.item = delivery.item.followed(by: item)
        delivery.isRunning = true
        delivery.isOfFormerCustomer = false
        return true
    }

    /// Starts the attempt with this number, unless another attempt was made meanwhile.
    mutating func retry(_ id: TransactionID, attempt: Int) -> StoreTransaction? {
        deliveries[id]?.attempt == attempt ? handOverAgain(id) : nil
    }

    private mutating func handOverAgain(_ id: TransactionID) -> StoreTransaction? {
        guard let delivery = deliveries[id], !delivery.isRunning else { return nil }
        deliveries[id]?.isRunning = true
        deliveries[id]?.isOfFormerCustomer = false
        return delivery.item.transaction
    }

    /// Hands over a transaction that waits for its next attempt or was set aside, or joins its running delivery.
    /// Returns `nil` if no such transaction waits.
    mutating func redeliver(_ id: TransactionID, for caller: Caller) -> [StoreTransaction]? {
        if let item = setAside.first(where: { $0.transaction.id == id }) {
            return add(item, for: { $0.redeliveries = [caller] }) ? [item.transaction] : []
        }
        guard deliveries[id] != nil else { return nil }
        deliveries[id]?.recipients.redeliveries.append(caller)
        return handOverAgain(id).map { [$0] } ?? []
    }

    /// Hands over all transactions that wait for their next attempt or were set aside. A transaction that is being
    /// delivered is handed over once more if it is refused.
    mutating func redeliverAll() -> [StoreTransaction] {
        for (id, delivery) in deliveries where delivery.isRunning { deliveries[id]?.isDueAgain = true }
        let due = deliveries.values.filter { !$0.isRunning }.map(\.item) + setAside
        return due.sorted { $0.transaction.id < $1.transaction.id }.filter { add($0) }.map(\.transaction)
    }

    // MARK: - Verdicts

    mutating func endAttempt(_ id: TransactionID, _ verdict: DeliveryVerdict) -> Step? {
        guard var delivery = deliveries[id], delivery.isRunning else { return nil }
        let ending = Ending(verdict)
        if delivery.isDueAgain, !delivery.isAbandoned, ending.isRefusal {
            delivery.advance()
            delivery.isDueAgain = false
            delivery.isOfFormerCustomer = false
            deliveries[id] = delivery
            return .handOver(delivery.item.transaction)
        }
        var result = AttemptResult(item: delivery.item, recipients: delivery.recipients, ending: ending)
        delivery.isRunning = false
        delivery.isDueAgain = false
        delivery.recipients = Recipients()
        deliveries[id] = nil
        if case .acknowledged = ending, delivery.isOfFormerCustomer,
            let waiting = result.recipients.ofCurrentCustomer
        {
            // The callers that restore now wait for their own acknowledgement, not for that of the former customer.
            result.recipients.isRestore = false
            result.recipients.presentations = []
            let again = delivery.next ?? Item(transaction: delivery.item.transaction, reason: .restored)
            let isDue = add(again) { recipients in
                recipients.isRestore = waiting.isRestore
                recipients.presentations = waiting.presentations
            }
            result.next = isDue ? again.transaction : nil
        } else if case .acknowledged = ending {
            result.next = delivery.next.flatMap { add($0) ? $0.transaction : nil }
        } else if delivery.isAbandoned, delivery.next == nil {
            return .ended(result)
        } else if case .pending = ending {
            delivery.attempt += 1
            delivery.advance()
            deliveries[id] = delivery
            result.retry = delivery.attempt
        } else if delivery.next != nil {
            delivery.advance()
            result.next = add(delivery.item) ? delivery.item.transaction : nil
        } else {
            if setAside.count == Self.maximumSetAside { setAside.removeFirst() }
            setAside.append(delivery.item)
        }
        return .ended(result)
    }

    // MARK: - Callers and customers

    /// The payments whose purchases are being delivered.
    var awaitedPayments: Set<PaymentID> { Set(deliveries.values.flatMap(\.recipients.payments.keys)) }

    /// Removes a caller. Returns whether it was waiting.
    mutating func remove(_ caller: Caller) -> Bool {
        for (id, delivery) in deliveries where delivery.recipients.redeliveries.contains(caller) {
            deliveries[id]?.recipients.redeliveries.removeAll { $0 == caller }
            return true
        }
        return false
    }

    /// Removes all callers, and returns those that waited for a redelivery.
    mutating func removeAllCallers() -> [Caller] {
        let callers = deliveries.values.flatMap(\.recipients.redeliveries).sorted()
        for id in deliveries.keys { deliveries[id]?.recipients = Recipients() }
        return callers
    }

    /// Adapts to a change of the customer. Forgets transactions that came only from a restore and name no customer, so
    /// that the new customer does not get them without a restore of their own.
    mutating func customerChanged() {
        func isWithoutCustomer(_ item: Item) -> Bool {
            item.reason == .restored && item.transaction.appAccountToken == nil
        }
        setAside.removeAll(where: isWithoutCustomer)
        for (id, delivery) in deliveries {
            deliveries[id]?.recipients.isRestore = false
            deliveries[id]?.recipients.presentations = []
            deliveries[id]?.isOfFormerCustomer = true
            guard isWithoutCustomer(delivery.item) else { continue }
            deliveries[id]?.isAbandoned = true
            if !delivery.isRunning { deliveries[id] = nil }
        }
    }
}
