import StoreModel
import Testing

@testable import StoreKitAdapter

/// Restores, and the shutdown. The numbers in the names of tests are issues of SwiftyStoreKit.
struct RestoreTableTests: PaymentQueueTable {
    @Test func `a restore leaves out held transactions, even if it has no others`() {
        expect([
            (.restore(1), ["request restore 1"]), (.restored(1, [.of("1"), .of("2")]), ["deliver 1 2"]),
            (held("1"), []), (acknowledged("2"), ["restored 1: 2"]), (.restore(2), ["request restore 2"]),
            (.restored(2, [.of("1")]), ["deliver 1"]), (held("1"), ["restored 2: "]), (.redeliverAll, ["deliver 1"]),
            (acknowledged("1"), []), (.restore(3), ["request restore 3"]),
            (.restored(3, [.of("3"), .of("4")]), ["deliver 3 4"]), (held("3"), []),
            (rejected("4"), ["restored 3 failed rejected"]),
        ])
    }

    @Test func `a restore delivers everything and answers all its callers`() {
        expect([
            (.restore(1), ["request restore 1"]), (.restore(2), []),
            (.restored(1, [.of("1"), .of("2")]), ["deliver 1 2"]), (acknowledged("2"), []),
            (acknowledged("1"), ["restored 1: 1 2", "restored 2: 1 2"]), (.restore(3), ["request restore 2"]),
        ])
    }

    @Test func `an empty restore is answered`() {
        expect([
            (.restore(1), ["request restore 1"]), (.restored(1, []), ["restored 1: "]), (.restored(1, [.of("1")]), []),
        ])
    }

    @Test func `a restore that the store refuses fails for all callers`() {
        expect([
            (.restore(1), ["request restore 1"]), (.restore(2), []),
            (.restoreFailed(1, Silence()), ["restored 1 failed storeFailed", "restored 2 failed storeFailed"]),
        ])
    }

    @Test func `a restore that is partly unavailable is pending, and continues without a caller`() {
        expect([
            (.restore(1), ["request restore 1"]), (.restored(1, [.of("1"), .of("2")]), ["deliver 1 2"]),
            (acknowledged("1"), []),
            (unavailable("2"), ["restored 1 failed acknowledgementPending", "retry 2 after 1"]),
            (.retryDue("2", attempt: 1), ["deliver 2"]), (acknowledged("2"), []),
        ])
    }

    @Test func `a rejected transaction does not prevent the restore of the others`() {
        expect([
            (.restore(1), ["request restore 1"]), (.restored(1, [.of("1"), .of("2")]), ["deliver 1 2"]),
            (rejected("1"), []), (acknowledged("2"), ["restored 1: 2"]), (.restore(2), ["request restore 2"]),
            (.restored(2, [.of("1")]), ["deliver 1"]), (rejected("1"), ["restored 2 failed rejected"]),
        ])
    }

    @Test func `a restored transaction that is already being delivered is delivered once and finished`() {
        expect([
            (sold("1"), ["deliver 1"]), (.restore(1), ["request restore 1"]), (.restored(1, [.of("1")]), []),
            (acknowledged("1"), ["finish 1", "restored 1: 1"]),
        ])
    }

    @Test func `a transaction of a payment and a restore answers the payment first`() {
        expect([
            (.restore(1), ["request restore 1"]), (buy("p"), ["submit p"]), (sold("1", "p"), ["deliver 1"]),
            (.restored(1, [.of("1")]), []),
            (acknowledged("1"), ["finish 1", "answer p purchased pack", "restored 1: 1"]),
        ])
    }

    @Test func `a caller that cancels a restore is answered, and the restore continues`() {
        expect([
            (.restore(1), ["request restore 1"]), (.restoreCancelled(1), ["restored 1 failed cancelled"]),
            (.restoreCancelled(1), []), (.restored(1, [.of("1")]), ["deliver 1"]), (.restore(2), []),
            (acknowledged("1"), ["restored 2: 1"]),
        ])
    }

    @Test func `a restore that is acknowledged in several batches is answered once, with everything (18)`() {
        expect([
            (.restore(1), ["request restore 1"]), (.restored(1, [.of("1"), .of("2"), .of("3")]), ["deliver 1 2 3"]),
            (acknowledged("1"), []), (acknowledged("3"), []), (sold("4"), ["deliver 4"]),
            (acknowledged("4"), ["finish 4", "complete 4"]), (acknowledged("2"), ["restored 1: 1 2 3"]),
            (acknowledged("2"), []),
        ])
    }

    @Test func `a concurrent purchase and restore do not take each other's answers`() {
        expect([
            (buy("p"), ["submit p"]), (.restore(1), ["request restore 1"]), (.restored(1, [.of("8")]), ["deliver 8"]),
            (acknowledged("8"), ["restored 1: 8"]), (sold("9", "p"), ["deliver 9"]),
            (acknowledged("9"), ["finish 9", "answer p purchased pack"]),
        ])
        expect([
            (.restore(1), ["request restore 1"]), (buy("p"), ["submit p"]), (sold("9", "p"), ["deliver 9"]),
            (acknowledged("9"), ["finish 9", "answer p purchased pack"]), (.restored(1, []), ["restored 1: "]),
        ])
    }

    @Test func `every caller of an empty restore is answered (620)`() {
        expect([
            (.restore(1), ["request restore 1"]), (.restore(2), []),
            (.restored(1, []), ["restored 1: ", "restored 2: "]),
        ])
    }

    // MARK: - Owned purchases

    @Test func `owned transactions are delivered and answered beside a restore, and not finished`() {
        expect([
            (.present([.of("1"), .of("2")], 7), ["deliver 1 2"]), (.restore(1), ["request restore 1"]),
            (.restored(1, [.of("2")]), []), (acknowledged("1"), []),
            (acknowledged("2"), ["restored 1: 2", "restored 7: 1 2"]), (.present([], 8), ["restored 8: "]),
            (.present([.of("1")], 9), ["deliver 1"]), (rejected("1"), ["restored 9 failed rejected"]),
        ])
    }

    @Test func `an owned transaction that is also unfinished is finished and completed`() {
        expect([
            (.present([.of("1")], 7), ["deliver 1"]), (sold("1"), []),
            (acknowledged("1"), ["finish 1", "complete 1", "restored 7: 1"]),
        ])
    }

    @Test func `an owned transaction that cannot be acknowledged is delivered again`() {
        expect([
            (.present([.of("1")], 7), ["deliver 1"]),
            (unavailable("1"), ["restored 7 failed acknowledgementPending", "retry 1 after 1"]),
            (.retryDue("1", attempt: 1), ["deliver 1"]), (acknowledged("1"), []),
        ])
    }

    @Test
    func
        `callers that present transactions are answered on cancellation, change of customer and shutdown`()
    {
        expect([
            (.present([.of("1")], 7), ["deliver 1"]), (.restoreCancelled(7), ["restored 7 failed cancelled"]),
            (.restoreCancelled(7), []), (.present([.of("1")], 8), []),
            (.customerChanged, ["restored 8 failed customerChanged"]), (.present([.of("1")], 9), []),
            (acknowledged("1"), ["deliver 1"]), (acknowledged("1"), ["restored 9: 1"]),
            (.present([.of("2")], 10), ["deliver 2"]), (.shutDown, ["restored 10 failed shutDown"]),
            (.present([.of("3")], 11), ["restored 11 failed shutDown"]),
        ])
    }

    // MARK: - Shutdown

    @Test func `a shutdown answers every caller, and later events change nothing`() {
        expect([
            (buy("p"), ["submit p"]), (buy("q"), ["submit q"]), (.restore(1), ["request restore 1"]),
            (sold("1", "p"), ["deliver 1"]), (.redeliver("1", 2), []),
            (
                .shutDown,
                [
                    "answer p failed shutDown", "answer q failed shutDown", "redelivered 2 failed shutDown",
                    "restored 1 failed shutDown",
                ]
            ),
            (.shutDown, []), (unavailable("1"), []), (.retryDue("1", attempt: 1), []), (sold("2"), []),
            (.restored(1, [.of("1")]), []), (buy("r"), ["answer r failed shutDown"]),
            (.restore(3), ["restored 3 failed shutDown"]), (.redeliver("1", 4), ["redelivered 4 failed shutDown"]),
            (.finishRequested("1"), []),
        ])
    }
}
