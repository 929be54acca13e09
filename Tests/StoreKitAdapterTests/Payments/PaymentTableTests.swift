import StoreModel
import Testing

@testable import StoreKitAdapter

/// Payments, and updates without a payment. The numbers in the names of tests are issues of SwiftyStoreKit.
struct PaymentTableTests: PaymentQueueTable {
    @Test func `a payment is delivered, acknowledged, finished and then answered`() {
        expect([
            (buy("p"), ["submit p"]), (update("p", .purchasing), []), (sold("1", "p"), ["deliver 1"]),
            (acknowledged("1"), ["finish 1", "answer p purchased pack"]), (.finished("1"), []),
        ])
    }

    @Test func `two payments of one product are answered by payment id`() {
        expect([
            (buy("p"), ["submit p"]), (buy("q"), ["submit q"]), (sold("2", "q"), ["deliver 2"]),
            (sold("1", "p"), ["deliver 1"]), (acknowledged("1"), ["finish 1", "answer p purchased pack"]),
            (update("q", .failed(StoreFailure(code: .declined, reason: "late"))), ["answer q failed storeFailed"]),
            (acknowledged("2"), ["finish 2", "complete 2 of q"]),
        ])
    }

    @Test func `a transaction of the same product never answers a payment with another id`() {
        expect([
            (buy("p"), ["submit p"]), (sold("1"), ["deliver 1"]), (acknowledged("1"), ["finish 1", "complete 1"]),
            (sold("2", "somebody else's"), ["deliver 2"]), (sold("3", "p"), ["deliver 3"]),
            (
                acknowledged("2", "3"),
                ["finish 2", "complete 2 of somebody else's", "finish 3", "answer p purchased pack"]
            ),
        ])
    }

    @Test func `two payments that the store answers with one transaction are both answered`() {
        expect([
            (buy("p"), ["submit p"]), (buy("q"), ["submit q"]), (sold("1", "p"), ["deliver 1"]),
            (sold("1", "q", owned: true), []),
            (acknowledged("1"), ["finish 1", "answer p purchased pack", "answer q purchased pack owned"]),
        ])
    }

    @Test func `a transaction that is already owned is acknowledged again and marked`() {
        expect([
            (buy("p"), ["submit p"]), (sold("1", "p", owned: true), ["deliver 1"]),
            (acknowledged("1"), ["finish 1", "answer p purchased pack owned"]),
        ])
    }

    @Test func `a deferred payment is answered, and its approval completes later`() {
        expect([
            (buy("p"), ["submit p"]), (update("p", .deferred), ["answer p failed deferred"]),
            (update("p", .deferred), []), (sold("1", "p"), ["deliver 1"]),
            (acknowledged("1"), ["finish 1", "complete 1 of p"]),
        ])
    }

    @Test func `a refusal of the store is answered once, with its reason`() {
        let cancelled = StoreFailure(code: .cancelled, reason: "changed their mind")
        expect([
            (buy("p"), ["submit p"]), (update("p", .failed(cancelled)), ["answer p failed cancelled"]),
            (update("p", .failed(cancelled)), []), (update(nil, .failed(cancelled)), ["complete failed cancelled"]),
            (buy("q"), ["submit q"]),
            (.submissionFailed("q", StoreFailure(code: .unreachable, reason: "gone")), ["answer q failed storeFailed"]),
            (buy("r"), ["submit r"]), (.submissionFailed("r", CancellationError()), ["answer r failed cancelled"]),
            (buy("s"), ["submit s"]), (.submissionFailed("s", Silence()), ["answer s failed storeFailed"]),
        ])
    }

    @Test func `a purchase that was made although its submission failed is completed`() {
        expect([
            (buy("p"), ["submit p"]), (.submissionFailed("p", Silence()), ["answer p failed storeFailed"]),
            (sold("1", "p"), ["deliver 1"]), (acknowledged("1"), ["finish 1", "complete 1 of p"]),
        ])
    }

    @Test func `a cancelled caller is answered, and the purchase is still completed`() {
        expect([
            (buy("p"), ["submit p"]), (.purchaseCancelled("p"), ["answer p failed cancelled"]),
            (.purchaseCancelled("p"), []),
            (sold("1", "p"), ["deliver 1"]), (acknowledged("1"), ["finish 1", "complete 1 of p"]),
            (buy("q"), ["submit q"]), (sold("2", "q"), ["deliver 2"]),
            (.purchaseCancelled("q"), ["answer q failed cancelled"]),
            (acknowledged("2"), ["finish 2", "complete 2 of q"]),
        ])
    }

    @Test func `a purchase that was revoked before its delivery is answered and delivered`() {
        expect([
            (buy("p"), ["submit p"]),
            (update("p", .revoked(.of("1"))), ["deliver 1", "answer p failed storeFailed"]),
            (acknowledged("1"), ["finish 1", "complete revoked 1 of p"]),
        ])
    }

    @Test func `a lost response has no effect if the store has already reported the payment`() {
        let lost = StoreFailure(code: .unreachable, reason: "The connection broke.")
        let declined = StoreFailure(code: .declined, reason: "Not today.")
        expect([
            (buy("p"), ["submit p"]), (sold("1", "p"), ["deliver 1"]), (.submissionFailed("p", lost), []),
            (acknowledged("1"), ["finish 1", "answer p purchased pack"]), (buy("q"), ["submit q"]),
            (update("q", .deferred), ["answer q failed deferred"]), (.submissionFailed("q", lost), []),
            (update("q", .failed(declined)), ["complete failed declined of q"]),
        ])
    }

    @Test func `a decline of a deferred purchase is reported once, with its payment (652)`() {
        let declined = StoreFailure(code: .declined, reason: "Not today.")
        expect([
            (buy("p"), ["submit p"]), (update("p", .deferred), ["answer p failed deferred"]),
            (update("p", .failed(declined)), ["complete failed declined of p"]), (update("p", .failed(declined)), []),
            (update("of an earlier run", .deferred), []),
            (update("of an earlier run", .failed(declined)), ["complete failed declined of of an earlier run"]),
            (update("of an earlier run", .failed(declined)), []),
        ])
    }

    @Test func `the latest reported refusals are remembered`() {
        var payments = OpenPayments()
        let ids = (0...OpenPayments.maximumRefused).map { PaymentID(unchecked: "\($0)") }
        for id in ids { #expect(payments.refuse(id) == .noCaller) }
        #expect(payments.refuse(ids[1]) == .alreadyReported)
        #expect(payments.refuse(ids[0]) == .noCaller)
    }

    @Test(arguments: [0, 11, -1]) func `a quantity that no store sells is refused before the request to the store`(
        _ count: Int
    ) {
        expect([
            (.purchase(Payment(id: "p", productID: "pack", quantity: count)), ["answer p failed storeFailed"]),
            (buy("q"), ["submit q"]),
        ])
    }

    @Test func `a product is checked with the store before its purchase`() {
        expect(
            checksProductFirst: true,
            [
                (buy("p"), ["check p"]), (.productChecked(payment("p")), ["submit p"]),
                (sold("1", "p"), ["deliver 1"]),
                (acknowledged("1"), ["finish 1", "answer p purchased pack"]), (buy("q"), ["check q"]),
                (.productCheckFailed("q", PaymentError(.storeFailed, "")), ["answer q failed storeFailed"]),
                (.productChecked(payment("q")), []), (buy("r"), ["check r"]),
                (.purchaseCancelled("r"), ["answer r failed cancelled"]),
                (.productChecked(payment("r")), []), (buy("s"), ["check s"]),
                (.customerChanged, ["answer s failed customerChanged"]), (.productChecked(payment("s")), []),
            ])
    }

    // MARK: - Known problems of other libraries

    @Test func `an old renewal of the same product never satisfies a new purchase (657, 636, 587)`() {
        expect([
            (buy("p"), ["submit p"]), (update("p", .purchasing), []), (sold("90"), ["deliver 90"]),
            (acknowledged("90"), ["finish 90", "complete 90"]),
            (update(nil, .renewalChanged(.of("91"))), ["deliver 91"]), (acknowledged("91"), ["complete changed 91"]),
            (update("p", .failed(StoreFailure(code: .cancelled, reason: ""))), ["answer p failed cancelled"]),
        ])
    }

    @Test func `buying an owned product again answers with the owned transaction (25, 26, 98, 105, 402)`() {
        expect([
            (sold("1"), ["deliver 1"]), (acknowledged("1"), ["finish 1", "complete 1"]), (.finished("1"), []),
            (buy("p"), ["submit p"]), (sold("1", "p", owned: true), ["deliver 1"]),
            (acknowledged("1"), ["finish 1", "answer p purchased pack owned"]), (buy("q"), ["submit q"]),
            (sold("1", "q", owned: true), ["deliver 1"]), (.finished("1"), []),
            (acknowledged("1"), ["finish 1", "answer q purchased pack owned"]),
        ])
    }

    @Test func `a result that comes before its payment is a completion, and a later result answers the payment`() {
        expect([
            (sold("1", "p"), ["deliver 1"]), (buy("p"), ["submit p"]),
            (acknowledged("1"), ["finish 1", "complete 1 of p"]), (.finished("1"), []), (sold("1", "p"), ["deliver 1"]),
            (acknowledged("1"), ["finish 1", "answer p purchased pack"]),
        ])
    }

    @Test
    func `without unfinished transactions a purchase is answered, and there is no completion (171, 187, 500, 378)`() {
        expect([
            (buy("p"), ["submit p"]), (sold("1", "p"), ["deliver 1"]),
            (acknowledged("1"), ["finish 1", "answer p purchased pack"]),
        ])
    }

    // MARK: - Updates

    @Test func `a revocation is delivered and finished`() {
        expect([
            (update(nil, .revoked(.of("1"))), ["deliver 1"]), (acknowledged("1"), ["finish 1", "complete revoked 1"]),
        ])
    }

    @Test func `a changed renewal is delivered, and there is nothing to finish`() {
        expect([
            (update(nil, .renewalChanged(.of("1"))), ["deliver 1"]), (acknowledged("1"), ["complete changed 1"]),
            (update(nil, .renewalChanged(.of("2"))), ["deliver 2"]), (unavailable("2"), ["retry 2 after 1"]),
            (.retryDue("2", attempt: 1), ["deliver 2"]), (acknowledged("2"), ["complete changed 2"]),
        ])
    }

    @Test func `a repeated update is delivered once`() {
        expect([
            (sold("1"), ["deliver 1"]), (sold("1"), []), (acknowledged("1"), ["finish 1", "complete 1"]),
            (sold("1"), []), (.finished("1"), []),
        ])
    }

    @Test func `a newer signature is delivered after the one being delivered`() {
        let newer = update(nil, .renewalChanged(.of("1", signature: "newer")))
        expect([
            (sold("1"), ["deliver 1"]), (newer, []), (newer, []),
            (acknowledged("1"), ["finish 1", "complete 1", "deliver 1 newer"]),
            (acknowledged("1"), ["complete changed 1 newer"]),
        ])
    }

    @Test func `a revocation that overtakes the acknowledgement of its purchase is finished too`() {
        expect([
            (sold("1"), ["deliver 1"]), (update(nil, .revoked(.of("1", signature: "revoked"))), []),
            (acknowledged("1"), ["finish 1", "complete 1", "deliver 1 revoked"]),
            (acknowledged("1"), ["complete revoked 1 revoked"]), (.finished("1"), ["finish 1"]), (.finished("1"), []),
        ])
    }

    @Test func `a newer signature is delivered after a rejected one, and its transaction is finished`() {
        expect([
            (buy("p"), ["submit p"]), (sold("1", "p"), ["deliver 1"]),
            (update(nil, .renewalChanged(.of("1", signature: "newer"))), []),
            (rejected("1"), ["answer p failed rejected", "deliver 1 newer"]),
            (acknowledged("1"), ["finish 1", "complete 1 newer of p"]),
        ])
    }
}
