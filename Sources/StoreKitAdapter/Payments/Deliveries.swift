import StoreModel

/// Which transactions are on their way to whoever acknowledges them: each handed over once at a time, and again until it
/// is acknowledged or refused.
struct Deliveries {
    typealias Caller = UInt64

    /// What brought a transaction here.
    enum Reason {
        case restored, renewalChanged, purchased, revoked

        /// The store waits to hear that it was delivered.
        var mustFinish: Bool { self == .purchased || self == .revoked }

        /// What counts when a transaction is brought again before it is acknowledged.
        func followed(by newer: Reason) -> Reason {
            newer.mustFinish || (!mustFinish && newer == .renewalChanged) ? newer : self
        }
    }

    struct Parcel {
        var transaction: StoreTransaction
        var reason: Reason
        /// The payment that the store named with it, whether or not somebody waits for it.
        var payment: PaymentID?

        func followed(by newer: Parcel) -> Parcel {
            Parcel(
                transaction: newer.transaction, reason: reason.followed(by: newer.reason),
                payment: newer.payment ?? payment)
        }
    }

    /// Who is to be told how it ends.
    struct Audience {
        /// The payments that this answers, and whether the store gave back an earlier purchase.
        var payments: [PaymentID: Bool] = [:]
        var redeliveries: [Caller] = []
        var isRestore = false
        /// The callers who presented it as owned.
        var presentations: Set<Caller> = []

        /// Those whom only the acknowledgement for the present customer answers.
        fileprivate var ofPresentCustomer: Audience? {
            isRestore || !presentations.isEmpty
                ? Audience(isRestore: isRestore, presentations: presentations) : nil
        }
    }

    struct Settlement {
        var parcel: Parcel
        var audience: Audience
        var ending: Ending
        /// What is to be handed over next.
        var next: StoreTransaction?
        /// The number of the attempt to be made after a pause.
        var retry: Int?
    }

    /// What a verdict leads to.
    enum Step {
        case handOver(StoreTransaction)
        case settled(Settlement)
    }

    private struct Delivery {
        var parcel: Parcel
        var audience = Audience()
        /// Handed over and not yet answered.
        var isRunning = true
        var attempt = 0
        /// A newer signature of the same transaction arrived meanwhile and is delivered next.
        var next: Parcel?
        /// Everything was asked for again while it was handed over: a refusal is one of whoever was there before.
        var isDueAgain = false
        /// Whoever asked for it is gone.
        var isAbandoned = false
        /// Handed over as the purchase of a customer who is gone since.
        var isOfFormerCustomer = false

        /// With the newer signature, if there is one.
        mutating func advance() {
            guard let newer = next else { return }
            parcel = parcel.followed(by: newer)
            next = nil
            isAbandoned = false
        }
    }

    private var deliveries: [TransactionID: Delivery] = [:]
    /// What was rejected or held, oldest first: nothing is done about it until it is asked for again. What there is no
    /// room for is unfinished at the store all the same, and comes back at the next launch.
    private var setAside: [Parcel] = []

    static let maximumSetAside = 1000

    // MARK: - Handing over

    /// Returns whether it is to be handed over now. It is not while it is on its way; a newer signature then follows.
    mutating func add(_ parcel: Parcel, for note: (inout Audience) -> Void = { _ in }) -> Bool {
        let id = parcel.transaction.id
        guard var delivery = deliveries[id] else {
            let kept = setAside.firstIndex { $0.transaction.id == id }.map { setAside.remove(at: $0) }
            var delivery = Delivery(parcel: kept?.followed(by: parcel) ?? parcel)
            note(&delivery.audience)
            deliveries[id] = delivery
            return true
        }
        note(&delivery.audience)
        defer { deliveries[id] = delivery }
        delivery.isAbandoned = false
        if delivery.isRunning {
            if delivery.parcel.transaction == parcel.transaction {
                delivery.parcel = delivery.parcel.followed(by: parcel)
            } else {
                delivery.next = delivery.next?.followed(by: parcel) ?? parcel
            }
            return false
        }
        delivery.parcel = delivery.parcel.followed(by: parcel)
        delivery.isRunning = true
        delivery.isOfFormerCustomer = false
        return true
    }

    /// The next attempt is due; one that was made meanwhile takes its place.
    mutating func retry(_ id: TransactionID, attempt: Int) -> StoreTransaction? {
        deliveries[id]?.attempt == attempt ? handOverAgain(id) : nil
    }

    private mutating func handOverAgain(_ id: TransactionID) -> StoreTransaction? {
        guard let delivery = deliveries[id], !delivery.isRunning else { return nil }
        deliveries[id]?.isRunning = true
        deliveries[id]?.isOfFormerCustomer = false
        return delivery.parcel.transaction
    }

    /// Hands over now what waits for its next attempt or was set aside, and joins what is under way. Returns `nil` when no
    /// such transaction waits.
    mutating func redeliver(_ id: TransactionID, for caller: Caller) -> [StoreTransaction]? {
        if let kept = setAside.first(where: { $0.transaction.id == id }) {
            return add(kept, for: { $0.redeliveries = [caller] }) ? [kept.transaction] : []
        }
        guard deliveries[id] != nil else { return nil }
        deliveries[id]?.audience.redeliveries.append(caller)
        return handOverAgain(id).map { [$0] } ?? []
    }

    /// Hands over now what waits for its next attempt and what was set aside; what is under way is handed over once more
    /// should it be refused.
    mutating func redeliverAll() -> [StoreTransaction] {
        for (id, delivery) in deliveries where delivery.isRunning { deliveries[id]?.isDueAgain = true }
        let due = deliveries.values.filter { !$0.isRunning }.map(\.parcel) + setAside
        return due.sorted { $0.transaction.id < $1.transaction.id }.filter { add($0) }.map(\.transaction)
    }

    // MARK: - Verdicts

    mutating func settle(_ id: TransactionID, _ verdict: DeliveryVerdict) -> Step? {
        guard var delivery = deliveries[id], delivery.isRunning else { return nil }
        let ending = Ending(verdict)
        if delivery.isDueAgain, !delivery.isAbandoned, ending.isRefusal {
            delivery.advance()
            delivery.isDueAgain = false
            delivery.isOfFormerCustomer = false
            deliveries[id] = delivery
            return .handOver(delivery.parcel.transaction)
        }
        var settlement = Settlement(parcel: delivery.parcel, audience: delivery.audience, ending: ending)
        delivery.isRunning = false
        delivery.isDueAgain = false
        delivery.audience = Audience()
        deliveries[id] = nil
        if case .acknowledged = ending, delivery.isOfFormerCustomer, let waiting = settlement.audience.ofPresentCustomer
        {
            // Whoever restores now is told of their own acknowledgement, not of that of the one before.
            settlement.audience.isRestore = false
            settlement.audience.presentations = []
            let again = delivery.next ?? Parcel(transaction: delivery.parcel.transaction, reason: .restored)
            let isDue = add(again) { audience in
                audience.isRestore = waiting.isRestore
                audience.presentations = waiting.presentations
            }
            settlement.next = isDue ? again.transaction : nil
        } else if case .acknowledged = ending {
            settlement.next = delivery.next.flatMap { add($0) ? $0.transaction : nil }
        } else if delivery.isAbandoned, delivery.next == nil {
            return .settled(settlement)
        } else if case .pending = ending {
            delivery.attempt += 1
            delivery.advance()
            deliveries[id] = delivery
            settlement.retry = delivery.attempt
        } else if delivery.next != nil {
            // What a refused signature left unfinished is for the next one to finish.
            delivery.advance()
            settlement.next = add(delivery.parcel) ? delivery.parcel.transaction : nil
        } else {
            if setAside.count == Self.maximumSetAside { setAside.removeFirst() }
            setAside.append(delivery.parcel)
        }
        return .settled(settlement)
    }

    // MARK: - Leaving

    /// The payments whose purchase is handed over.
    var awaitedPayments: Set<PaymentID> { Set(deliveries.values.flatMap(\.audience.payments.keys)) }

    /// Returns whether the caller was waiting.
    mutating func leave(_ caller: Caller) -> Bool {
        for (id, delivery) in deliveries where delivery.audience.redeliveries.contains(caller) {
            deliveries[id]?.audience.redeliveries.removeAll { $0 == caller }
            return true
        }
        return false
    }

    /// Everybody leaves; returns those who waited for a redelivery.
    mutating func leaveAll() -> [Caller] {
        let callers = deliveries.values.flatMap(\.audience.redeliveries).sorted()
        for id in deliveries.keys { deliveries[id]?.audience = Audience() }
        return callers
    }

    /// The customer leaves. What only a restore brought and names nobody is forgotten: it is not to become somebody else's
    /// by itself.
    mutating func customerChanged() {
        func isNobodys(_ parcel: Parcel) -> Bool {
            parcel.reason == .restored && parcel.transaction.appAccountToken == nil
        }
        setAside.removeAll(where: isNobodys)
        for (id, delivery) in deliveries {
            deliveries[id]?.audience.isRestore = false
            deliveries[id]?.audience.presentations = []
            deliveries[id]?.isOfFormerCustomer = true
            guard isNobodys(delivery.parcel) else { continue }
            deliveries[id]?.isAbandoned = true
            if !delivery.isRunning { deliveries[id] = nil }
        }
    }
}
