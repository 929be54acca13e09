import Foundation
import StoreModel

/// The decisions of a connection to StoreKit, without StoreKit: events in, actions out.
///
/// StoreKit returns a purchase to its caller, and reports other transactions as updates. It reports unfinished
/// transactions twice: in a list and as updates. This type reports the list first and each state once, and names the
/// payment in each answer. During a purchase, updates of its product wait for StoreKit's answer, because both can be
/// the same transaction.
///
/// StoreKit has no ids for payments, so the journal stores the payments that were begun. A payment is not bought again
/// in a later run, and a purchase that is approved later is matched with the oldest open payment of the same product,
/// quantity and customer.
struct StoreKitStateMachine {
    enum Event {
        /// An item of the list of unfinished transactions. The list ends with `listed`.
        case unfinished(StoreTransaction)
        case listed
        case updated(StoreTransaction)
        case renewalChanged(StoreTransaction)
        case add(Payment)
        case answered(PaymentID, Answer)
        /// The transaction that a payment bought in an earlier run, if it was found.
        case found(PaymentID, StoreTransaction?)

        fileprivate var waitsForList: Bool {
            switch self {
            case .updated, .renewalChanged, .add: true
            case .unfinished, .listed, .answered, .found: false
            }
        }
    }

    enum Answer {
        /// `owned` is the latest transaction of the product before the purchase.
        case bought(StoreTransaction, owned: StoreTransaction?)
        case pending
        /// Nothing was bought.
        case failed(StoreFailure)
        /// The store may have received the request, and did not report its outcome.
        case unknown(StoreFailure)
    }

    enum Action: Equatable {
        case report(StoreUpdate)
        /// Write the journal, then request the purchase. If writing fails, buy nothing.
        case buy(Payment)
        case find(PaymentID, TransactionID)
        case writeJournal
    }

    /// The fields that distinguish two states of a transaction. Its signature may differ for the same state.
    private struct ReportedState: Equatable {
        let expiresDate: Date?
        let revocationDate: Date?
        let isUpgraded: Bool?

        init(_ transaction: StoreTransaction) {
            expiresDate = transaction.expiresDate
            revocationDate = transaction.revocationDate
            isUpgraded = transaction.isUpgraded
        }
    }

    private(set) var journal: PaymentJournal
    private(set) var isListed = false
    /// The events that arrived while the list was being read.
    private var early: [Event] = []
    private var reported: [TransactionID: ReportedState] = [:]
    private var renewals: [TransactionID: String] = [:]
    private var inProgress: [PaymentID: ProductID] = [:]
    private var answers: [PaymentID: StoreUpdate] = [:]
    /// The updates of a product that arrived during its purchase.
    private var held: [ProductID: [StoreTransaction]] = [:]

    init(journal: PaymentJournal = PaymentJournal()) { self.journal = journal }

    mutating func handle(_ event: Event) -> [Action] {
        guard isListed || !event.waitsForList else {
            early.append(event)
            return []
        }
        switch event {
        case .unfinished(let transaction): return report(transaction)
        case .listed:
            isListed = true
            defer { early = [] }
            return early.flatMap { handle($0) }
        case .updated(let transaction): return updated(transaction)
        case .renewalChanged(let transaction): return renewalChanged(transaction)
        case .add(let payment): return add(payment)
        case .answered(let payment, let answer): return settle(payment, answer)
        case .found(let payment, let transaction): return reportEarlierPurchase(payment, transaction)
        }
    }

    private mutating func updated(_ transaction: StoreTransaction) -> [Action] {
        let mayAnswerPayment = transaction.revocationDate == nil && transaction.reason != .renewal
        if mayAnswerPayment, inProgress.values.contains(transaction.productID) {
            held[transaction.productID, default: []].append(transaction)
            return []
        }
        return report(transaction)
    }

    private mutating func report(_ transaction: StoreTransaction) -> [Action] {
        let state = ReportedState(transaction)
        guard reported.updateValue(state, forKey: transaction.id) != state else { return [] }
        guard transaction.revocationDate == nil else {
            return [.report(StoreUpdate(productID: transaction.productID, state: .revoked(transaction)))]
        }
        let isKnown = journal.entries.contains { $0.transaction == transaction.id }
        let open = isKnown ? nil : journal.payment(for: transaction) { inProgress[$0] != nil }
        guard let payment = open else {
            return [.report(StoreUpdate(productID: transaction.productID, state: .purchased(transaction)))]
        }
        return close(payment, transaction.productID, .purchased(transaction), transaction.id)
    }

    private mutating func renewalChanged(_ transaction: StoreTransaction) -> [Action] {
        guard transaction.revocationDate == nil, let signed = transaction.signedRenewalInfo,
            renewals.updateValue(signed, forKey: transaction.originalID) != signed
        else { return [] }
        return [.report(StoreUpdate(productID: transaction.productID, state: .renewalChanged(transaction)))]
    }

    private mutating func add(_ payment: Payment) -> [Action] {
        guard inProgress[payment.id] == nil else { return [] }
        if let answer = answers[payment.id] { return [.report(answer)] }
        switch journal[payment.id]?.state {
        case nil: break
        case .deferred:
            return [.report(StoreUpdate(paymentID: payment.id, productID: payment.productID, state: .deferred))]
        case .bought:
            if let id = journal[payment.id]?.transaction { return [.find(payment.id, id)] }
            fallthrough
        case .begun: return [.report(Self.unknownOutcome(payment.id, payment.productID))]
        }
        journal.begin(payment)
        inProgress[payment.id] = payment.productID
        return [
            .report(StoreUpdate(paymentID: payment.id, productID: payment.productID, state: .purchasing)),
            .buy(payment),
        ]
    }

    private static func unknownOutcome(_ payment: PaymentID, _ product: ProductID) -> StoreUpdate {
        let failure = StoreFailure(
            code: .unknown,
            reason:
                "This payment was begun in an earlier run, and the store does not report its outcome. If it succeeded, "
                + "its purchase is delivered automatically. Check the owned transactions before you pay again.")
        return StoreUpdate(paymentID: payment, productID: product, state: .failed(failure))
    }

    private mutating func settle(_ payment: PaymentID, _ answer: Answer) -> [Action] {
        guard let product = inProgress.removeValue(forKey: payment) else { return [] }
        let actions: [Action]
        switch answer {
        case .bought(let transaction, let owned):
            reported[transaction.id] = ReportedState(transaction)
            let isOwned = owned.map { Self.isPurchase(transaction, ofOwned: $0) } ?? false
            actions = close(payment, product, .purchased(transaction, alreadyOwned: isOwned), transaction.id)
        case .pending:
            journal.set(payment, to: .deferred)
            actions = [
                .writeJournal, .report(StoreUpdate(paymentID: payment, productID: product, state: .deferred)),
            ]
        case .failed(let failure):
            journal.forget(payment)
            actions = [.writeJournal] + fail(payment, product, failure)
        case .unknown(let failure): actions = fail(payment, product, failure)
        }
        guard !inProgress.values.contains(product) else { return actions }
        return actions + (held.removeValue(forKey: product) ?? []).flatMap { report($0) }
    }

    /// Returns whether StoreKit answered a purchase with an earlier one. For a product that can be owned once, StoreKit
    /// returns the existing transaction, or a new one with the same original transaction.
    private static func isPurchase(_ transaction: StoreTransaction, ofOwned owned: StoreTransaction) -> Bool {
        guard owned.revocationDate == nil else { return false }
        return transaction.id == owned.id
            || transaction.kind == .nonConsumable && transaction.originalID == owned.originalID
    }

    private mutating func fail(_ payment: PaymentID, _ product: ProductID, _ failure: StoreFailure) -> [Action] {
        let update = StoreUpdate(paymentID: payment, productID: product, state: .failed(failure))
        answers[payment] = update
        return [.report(update)]
    }

    private mutating func close(
        _ payment: PaymentID, _ product: ProductID, _ state: StoreUpdate.State, _ transaction: TransactionID
    ) -> [Action] {
        journal.set(payment, to: .bought, transaction: transaction)
        let update = StoreUpdate(paymentID: payment, productID: product, state: state)
        answers[payment] = update
        return [.writeJournal, .report(update)]
    }

    private mutating func reportEarlierPurchase(_ payment: PaymentID, _ transaction: StoreTransaction?) -> [Action] {
        guard let entry = journal[payment] else { return [] }
        guard let transaction else { return [.report(Self.unknownOutcome(payment, entry.product))] }
        let revocation = StoreFailure(code: .declined, reason: "The store revoked the purchase of this payment.")
        let update = StoreUpdate(
            paymentID: payment, productID: entry.product,
            state: transaction.revocationDate == nil ? .purchased(transaction) : .failed(revocation))
        answers[payment] = update
        return [.report(update)]
    }
}
