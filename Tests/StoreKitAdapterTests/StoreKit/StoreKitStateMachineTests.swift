import Foundation
import StoreModel
import Testing

@testable import StoreKitAdapter

/// The reports of a connection to StoreKit. A table has each event with its actions, as words.
struct StoreKitStateMachineTests {
    private typealias Machine = StoreKitStateMachine

    /// Returns the journal after the events.
    @discardableResult private func play(
        after journal: PaymentJournal = PaymentJournal(), _ table: [(Machine.Event, [String])],
        sourceLocation: SourceLocation = #_sourceLocation
    ) -> PaymentJournal {
        var machine = Machine(journal: journal)
        for (step, (event, actions)) in table.enumerated() {
            #expect(
                machine.handle(event).map(\.words) == actions, "step \(step + 1): \(event)",
                sourceLocation: sourceLocation)
        }
        return machine.journal
    }

    private func transaction(
        _ id: TransactionID, of product: ProductID = "pack", original: TransactionID? = nil,
        kind: ProductType = .consumable, quantity: Int = 1, token: UUID? = nil,
        reason: AppStoreServerAPI.TransactionReason = .purchase,
        ownership: AppStoreServerAPI.InAppOwnershipType = .purchased, revoked: Date? = nil, renewal: String? = nil
    ) -> StoreTransaction {
        StoreTransaction(
            id: id, originalID: original ?? id, productID: product, kind: kind, purchaseDate: .distantPast,
            revocationDate: revoked, quantity: quantity, appAccountToken: token, reason: reason, ownership: ownership,
            signedTransaction: "signed", signedRenewalInfo: renewal)
    }

    private func buy(_ id: PaymentID, _ product: ProductID = "pack", quantity: Int = 1, token: UUID? = nil)
        -> Machine.Event
    {
        .add(Payment(id: id, productID: product, quantity: quantity, appAccountToken: token))
    }

    private func bought(_ payment: PaymentID, _ id: TransactionID) -> Machine.Event {
        .answered(payment, .bought(transaction(id), owned: nil))
    }

    private let refused = StoreFailure(code: .cancelled, reason: "No.")

    // MARK: - The list and the updates

    @Test func `unfinished transactions come first, whatever happens while they are listed`() {
        play([
            (.updated(transaction("2")), []), (buy("p", "coins"), []), (.unfinished(transaction("1")), ["pack 1"]),
            (.renewalChanged(transaction("3", renewal: "r")), []),
            (.listed, ["pack 2", "p coins purchasing", "buy p", "pack renewal of 3"]),
        ])
    }

    @Test func `a transaction that is in the list and among the updates is reported once`() {
        play([
            (.updated(transaction("1")), []), (.unfinished(transaction("1")), ["pack 1"]), (.listed, []),
            (.updated(transaction("1")), []),
        ])
    }

    @Test func `a revocation and its reversal are reported for a known transaction`() {
        let refunded = transaction("1", revoked: .distantFuture)
        play([
            (.listed, []), (.updated(transaction("1")), ["pack 1"]), (.updated(refunded), ["pack revoked 1"]),
            (.updated(refunded), []), (.updated(transaction("1")), ["pack 1"]),
        ])
    }

    @Test func `a renewal is reported when its signed renewal info changes, and not for a revoked transaction`() {
        play([
            (.listed, []), (.renewalChanged(transaction("1", renewal: "on")), ["pack renewal of 1"]),
            (.renewalChanged(transaction("1", renewal: "on")), []),
            (.renewalChanged(transaction("1", renewal: "off")), ["pack renewal of 1"]),
            (.renewalChanged(transaction("1", revoked: .distantPast, renewal: "gone")), []),
            (.renewalChanged(transaction("2")), []),
        ])
    }

    // MARK: - Payments

    @Test func `a payment is written to the journal before the request to the store, and its result has its id`() {
        let journal = play([
            (.listed, []), (buy("p"), ["p pack purchasing", "buy p"]), (bought("p", "1"), ["write", "p pack 1"]),
        ])
        #expect(journal["p"]?.state == .bought)
        #expect(journal["p"]?.transaction == "1")
    }

    @Test func `two payments of one product get their own answers in any order`() {
        play([
            (.listed, []), (buy("p"), ["p pack purchasing", "buy p"]), (buy("q"), ["q pack purchasing", "buy q"]),
            (bought("q", "2"), ["write", "q pack 2"]), (bought("p", "1"), ["write", "p pack 1"]),
        ])
    }

    @Test func `the same payment never buys twice in one run`() {
        play([
            (.listed, []), (buy("p"), ["p pack purchasing", "buy p"]), (buy("p"), []),
            (bought("p", "1"), ["write", "p pack 1"]), (buy("p"), ["p pack 1"]), (bought("p", "9"), []),
        ])
    }

    @Test func `an answer that also arrives as an update is reported once`() {
        play([
            (.listed, []), (buy("p"), ["p pack purchasing", "buy p"]), (.updated(transaction("1")), []),
            (.updated(transaction("2")), []), (bought("p", "1"), ["write", "p pack 1", "pack 2"]),
            (.updated(transaction("1")), []),
        ])
    }

    @Test func `a renewal, a refund and another product do not wait for a purchase`() {
        play([
            (.listed, []), (buy("p"), ["p pack purchasing", "buy p"]),
            (.updated(transaction("1", reason: .renewal)), ["pack 1"]),
            (.updated(transaction("2", revoked: .distantPast)), ["pack revoked 2"]),
            (.updated(transaction("3", of: "coins")), ["coins 3"]),
        ])
    }

    @Test func `transactions that waited for a purchase are reported when the product's last purchase has ended`() {
        play([
            (.listed, []), (buy("p"), ["p pack purchasing", "buy p"]), (buy("q"), ["q pack purchasing", "buy q"]),
            (.updated(transaction("5")), []),
            (.answered("p", .failed(refused)), ["write", "p pack failed cancelled"]),
            (.answered("q", .failed(refused)), ["write", "q pack failed cancelled", "pack 5"]),
        ])
    }

    @Test func `a failed payment fails again in the same run, and may be tried in the next`() {
        let journal = play([
            (.listed, []), (buy("p"), ["p pack purchasing", "buy p"]),
            (.answered("p", .failed(refused)), ["write", "p pack failed cancelled"]),
            (buy("p"), ["p pack failed cancelled"]),
        ])
        play(after: journal, [(.listed, []), (buy("p"), ["p pack purchasing", "buy p"])])
    }

    @Test func `a payment with an unknown outcome fails, and is not repeated because it may have been bought`() {
        let silence = StoreFailure(code: .unreachable, reason: "No answer.")
        let asked: [(Machine.Event, [String])] = [
            (.listed, []), (buy("p"), ["p pack purchasing", "buy p"]),
            (.answered("p", .unknown(silence)), ["p pack failed unreachable"]),
            (buy("p"), ["p pack failed unreachable"]),
        ]
        let journal = play(asked)
        play(after: journal, [(.listed, []), (buy("p"), ["p pack failed unknown"])])
        play(asked + [(.updated(transaction("1")), ["write", "p pack 1"]), (buy("p"), ["p pack 1"])])
    }

    @Test(
        arguments: [
            ("1", "1", false, true), ("2", "1", false, true), ("2", "2", false, false), ("1", "1", true, false),
        ] as [(TransactionID, TransactionID, Bool, Bool)])
    func `for a product that can be owned once, the store may return the earlier purchase`(
        id: TransactionID, original: TransactionID, wasRevoked: Bool, isOwned: Bool
    ) {
        let owned = transaction("1", kind: .nonConsumable, revoked: wasRevoked ? .distantPast : nil)
        let answer = transaction(id, original: original, kind: .nonConsumable)
        play([
            (.listed, []), (buy("p"), ["p pack purchasing", "buy p"]),
            (.answered("p", .bought(answer, owned: owned)), ["write", "p pack \(id)\(isOwned ? " owned" : "")"]),
        ])
    }

    @Test func `a renewed subscription is not an earlier purchase`() {
        let before = transaction("1", kind: .autoRenewableSubscription)
        let answer = transaction("2", original: "1", kind: .autoRenewableSubscription)
        play([
            (.listed, []), (buy("p"), ["p pack purchasing", "buy p"]),
            (.answered("p", .bought(answer, owned: before)), ["write", "p pack 2"]),
        ])
    }

    // MARK: - Approval

    @Test func `an approved purchase answers its payment, in this run or a later one`() {
        let token = UUID()
        let asked: [(Machine.Event, [String])] = [
            (.listed, []), (buy("p", token: token), ["p pack purchasing", "buy p"]),
            (.answered("p", .pending), ["write", "p pack deferred"]), (buy("p", token: token), ["p pack deferred"]),
        ]
        let approval: (Machine.Event, [String]) = (.updated(transaction("1", token: token)), ["write", "p pack 1"])
        play(asked + [approval, (buy("p", token: token), ["p pack 1"])])
        let journal = play(asked)
        play(after: journal, [(.listed, []), (buy("p", token: token), ["p pack deferred"]), approval])
        play(after: journal, [(.unfinished(transaction("1", token: token)), ["write", "p pack 1"]), (.listed, [])])
    }

    @Test func `an approval is never taken for a payment of another customer, quantity or product`() {
        let token = UUID()
        play([
            (.listed, []), (buy("p", quantity: 2, token: token), ["p pack purchasing", "buy p"]),
            (.answered("p", .pending), ["write", "p pack deferred"]),
            (.updated(transaction("1", quantity: 2)), ["pack 1"]),
            (.updated(transaction("2", token: token)), ["pack 2"]),
            (.updated(transaction("3", of: "coins", quantity: 2, token: token)), ["coins 3"]),
            (.updated(transaction("4", quantity: 2, token: token, reason: .renewal)), ["pack 4"]),
            (.updated(transaction("5", quantity: 2, token: token, ownership: .familyShared)), ["pack 5"]),
            (.updated(transaction("6", quantity: 2, token: token)), ["write", "p pack 6"]),
            (.updated(transaction("7", quantity: 2, token: token)), ["pack 7"]),
        ])
    }

    // MARK: - Later runs

    @Test func `a payment of an earlier run is looked up and not bought again`() {
        var journal = PaymentJournal()
        journal.begin(Payment(id: "p", productID: "pack"))
        journal.set("p", to: .bought, transaction: "1")
        play(
            after: journal,
            [
                (.unfinished(transaction("1")), ["pack 1"]), (.listed, []), (buy("p"), ["find 1 for p"]),
                (.found("p", transaction("1")), ["p pack 1"]), (buy("p"), ["p pack 1"]),
            ])
        play(
            after: journal,
            [
                (.listed, []), (buy("p"), ["find 1 for p"]), (.found("p", nil), ["p pack failed unknown"]),
            ])
        play(
            after: journal,
            [
                (.listed, []), (buy("p"), ["find 1 for p"]),
                (.found("p", transaction("1", revoked: .distantPast)), ["p pack failed declined"]),
            ])
    }

    @Test func `the purchase of one payment of an earlier run does not answer another open payment`() {
        var journal = PaymentJournal()
        journal.begin(Payment(id: "p", productID: "pack"))
        journal.set("p", to: .bought, transaction: "1")
        journal.begin(Payment(id: "q", productID: "pack"))
        play(
            after: journal,
            [
                (.unfinished(transaction("1")), ["pack 1"]), (.unfinished(transaction("2")), ["write", "q pack 2"]),
                (.listed, []),
            ])
    }

    @Test func `a payment whose result a crash lost is answered by its unfinished transaction, and not repeated`() {
        let journal = play([(.listed, []), (buy("p"), ["p pack purchasing", "buy p"])])
        play(
            after: journal,
            [(.unfinished(transaction("1")), ["write", "p pack 1"]), (.listed, []), (buy("p"), ["p pack 1"])])
        play(after: journal, [(.listed, []), (buy("p"), ["p pack failed unknown"])])
    }

    // MARK: - The journal

    @Test func `a full journal drops the oldest purchases and keeps the open payments`() {
        var journal = PaymentJournal()
        for number in 0..<PaymentJournal.maximumEntries {
            let id = PaymentID(unchecked: "\(number)")
            journal.begin(Payment(id: id, productID: "pack"))
            if number != 0 { journal.set(id, to: .bought, transaction: "1") }
        }
        journal.begin(Payment(id: "last", productID: "pack"))
        #expect(journal.entries.count == PaymentJournal.maximumEntries)
        #expect(journal["0"] != nil)
        #expect(journal["1"] == nil)
        #expect(journal["2"] != nil)
        #expect(journal["last"]?.state == .begun)
    }

    @Test func `a journal is read as it was written`() throws {
        var journal = PaymentJournal()
        journal.begin(Payment(id: "p", productID: "pack", quantity: 3, appAccountToken: UUID()))
        journal.set("p", to: .bought, transaction: "1")
        journal.begin(Payment(id: "q", productID: "coins"))
        #expect(try WireJSON.decode(PaymentJournal.self, from: try WireJSON.encode(journal)) == journal)
    }
}

extension StoreKitStateMachine.Action {
    fileprivate var words: String {
        switch self {
        case .buy(let payment): return "buy \(payment.id)"
        case .find(let payment, let transaction): return "find \(transaction) for \(payment)"
        case .writeJournal: return "write"
        case .report(let update):
            let who = update.paymentID.map { "\($0) " } ?? ""
            return "\(who)\(update.productID) \(update.state.words)"
        }
    }
}

extension StoreUpdate.State {
    fileprivate var words: String {
        switch self {
        case .purchasing: "purchasing"
        case .purchased(let transaction, let alreadyOwned): "\(transaction.id)\(alreadyOwned ? " owned" : "")"
        case .deferred: "deferred"
        case .failed(let failure): "failed \(failure.code.rawValue)"
        case .revoked(let transaction): "revoked \(transaction.id)"
        case .renewalChanged(let transaction): "renewal of \(transaction.id)"
        }
    }
}
