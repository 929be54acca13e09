import BaseTestSupport
import Foundation
import StoreModel
import StoreTestSupport
import Testing

@testable import StoreKitAdapter

/// Deliveries, repeated deliveries, and finishing.
struct DeliveryTableTests: PaymentQueueTable {
    @Test func `an unacknowledged transaction is answered as pending, and delivered again until it is acknowledged`() {
        expect([
            (buy("p"), ["submit p"]), (sold("1", "p"), ["deliver 1"]),
            (unavailable("1"), ["answer p failed acknowledgementPending", "retry 1 after 1"]),
            (.retryDue("1", attempt: 1), ["deliver 1"]), (unavailable("1"), ["retry 1 after 2"]),
            (.retryDue("1", attempt: 2), ["deliver 1"]), (acknowledged("1"), ["finish 1", "complete 1 of p"]),
            (.retryDue("1", attempt: 2), []),
        ])
    }

    @Test func `an update before the next attempt replaces that attempt and its timer`() {
        expect([
            (sold("1"), ["deliver 1"]), (unavailable("1"), ["retry 1 after 1"]), (sold("1"), ["deliver 1"]),
            (.retryDue("1", attempt: 1), []), (unavailable("1"), ["retry 1 after 2"]),
            (.retryDue("1", attempt: 1), []), (.retryDue("1", attempt: 2), ["deliver 1"]),
            (acknowledged("1"), ["finish 1", "complete 1"]),
        ])
    }

    @Test func `the next attempt presents the newer signature`() {
        expect([
            (sold("1"), ["deliver 1"]), (update(nil, .renewalChanged(.of("1", signature: "newer"))), []),
            (unavailable("1"), ["retry 1 after 1"]), (.retryDue("1", attempt: 1), ["deliver 1 newer"]),
            (acknowledged("1"), ["finish 1", "complete 1 newer"]),
        ])
    }

    @Test func `a rejected transaction is answered, and stays unfinished`() {
        expect([
            (buy("p"), ["submit p"]), (sold("1", "p"), ["deliver 1"]), (rejected("1"), ["answer p failed rejected"]),
            (.retryDue("1", attempt: 0), []), (acknowledged("1"), []),
        ])
    }

    @Test func `a failed finish is repeated, and repeated events do not add attempts`() {
        expect([
            (sold("1"), ["deliver 1"]), (acknowledged("1"), ["finish 1", "complete 1"]),
            (.finishFailed("1"), ["retry finish 1 after 1"]), (.finishRetryDue("1"), ["finish 1"]),
            (.finishRetryDue("1"), []), (.finishFailed("1"), ["retry finish 1 after 2"]), (sold("1"), []),
            (.finishRetryDue("1"), ["finish 1"]), (.finished("1"), []), (.finishRetryDue("1"), []),
            (.finishFailed("1"), []),
        ])
    }

    @Test func `with the policy byCaller a transaction is finished when the app requests it`() {
        expect(
            policy: .byCaller,
            [
                (buy("p"), ["submit p"]), (sold("1", "p"), ["deliver 1"]),
                (acknowledged("1"), ["answer p purchased pack"]), (.finishRequested("1"), ["finish 1"]),
                (.finishRequested("1"), []), (.finished("1"), []),
            ])
    }

    @Test func `with the policy immediately a transaction is finished first and then delivered`() {
        expect(
            policy: .immediately,
            [
                (buy("p"), ["submit p"]), (sold("1", "p"), ["finish 1", "deliver 1"]), (.finished("1"), []),
                (unavailable("1"), ["answer p failed acknowledgementPending", "retry 1 after 1"]),
                (.retryDue("1", attempt: 1), ["deliver 1"]), (acknowledged("1"), ["complete 1 of p"]),
                (update(nil, .revoked(.of("1", signature: "revoked"))), ["finish 1", "deliver 1 revoked"]),
                (.finishFailed("1"), ["retry finish 1 after 1"]), (.finishRetryDue("1"), ["finish 1"]),
                (acknowledged("1"), ["complete revoked 1 revoked"]),
                (update(nil, .renewalChanged(.of("2"))), ["deliver 2"]), (acknowledged("2"), ["complete changed 2"]),
                (.restore(1), ["request restore 1"]), (.restored(1, [.of("3")]), ["deliver 3"]),
                (acknowledged("3"), ["restored 1: 3"]),
            ])
    }

    // MARK: - Redelivery

    @Test func `a redelivery is answered with its result`() {
        expect([
            (.redeliver("1", 1), ["redelivered 1 failed unknownTransaction"]), (sold("1"), ["deliver 1"]),
            (.redeliver("1", 2), []),
            (unavailable("1"), ["redelivered 2 failed acknowledgementPending", "retry 1 after 1"]),
            (.redeliver("1", 3), ["deliver 1"]), (.redeliver("1", 4), []),
            (.redeliveryCancelled(3), ["redelivered 3 failed cancelled"]), (.redeliveryCancelled(3), []),
            (acknowledged("1"), ["finish 1", "redelivered 4"]),
            (.redeliver("1", 5), ["redelivered 5 failed unknownTransaction"]),
        ])
    }

    // MARK: - Customer changes

    @Test func `a held transaction is answered as pending, and waits without a timer until all are delivered again`() {
        expect([
            (buy("p"), ["submit p"]), (sold("1", "p"), ["deliver 1"]),
            (held("1"), ["answer p failed acknowledgementPending"]), (.retryDue("1", attempt: 0), []),
            (.redeliverAll, ["deliver 1"]), (held("1"), []), (.redeliverAll, ["deliver 1"]),
            (acknowledged("1"), ["finish 1", "complete 1 of p"]), (.redeliverAll, []),
        ])
    }

    @Test func `rejected and waiting transactions are presented together with held ones`() {
        expect([
            (sold("3"), ["deliver 3"]), (rejected("3"), []), (sold("2"), ["deliver 2"]), (held("2"), []),
            (sold("1"), ["deliver 1"]), (unavailable("1"), ["retry 1 after 1"]),
            (.redeliverAll, ["deliver 1 2 3"]), (.retryDue("1", attempt: 1), []),
            (unavailable("1"), ["retry 1 after 2"]), (acknowledged("2"), ["finish 2", "complete 2"]),
            (rejected("3"), []), (.redeliver("3", 1), ["deliver 3"]),
            (rejected("3"), ["redelivered 1 failed rejected"]), (.redeliver("3", 2), ["deliver 3"]),
            (.redeliveryCancelled(2), ["redelivered 2 failed cancelled"]),
            (acknowledged("3"), ["finish 3", "complete 3"]),
        ])
    }

    @Test func `a delivery refused while a redelivery is requested is repeated, and answers no caller`() {
        let newer = update(nil, .renewalChanged(.of("1", signature: "newer")))
        for refused in [held("1"), rejected("1")] {
            expect([
                (buy("p"), ["submit p"]), (sold("1", "p"), ["deliver 1"]), (.redeliverAll, []), (.redeliverAll, []),
                (refused, ["deliver 1"]), (acknowledged("1"), ["finish 1", "answer p purchased pack"]),
            ])
            expect([
                (sold("1"), ["deliver 1"]), (newer, []), (.redeliverAll, []), (refused, ["deliver 1 newer"]),
                (refused, []), (.redeliverAll, ["deliver 1 newer"]), (.shutDown, []), (refused, []),
            ])
        }
        expect([
            (sold("1"), ["deliver 1"]), (.redeliverAll, []), (unavailable("1"), ["retry 1 after 1"]),
            (.retryDue("1", attempt: 1), ["deliver 1"]), (held("1"), []),
        ])
    }

    @Test func `a newer update of a held transaction replaces and finishes it`() {
        expect([
            (sold("1"), ["deliver 1"]), (held("1"), []),
            (update(nil, .renewalChanged(.of("1", signature: "newer"))), ["deliver 1 newer"]),
            (acknowledged("1"), ["finish 1", "complete 1 newer"]), (.redeliverAll, []),
            (update(nil, .renewalChanged(.of("2"))), ["deliver 2"]), (held("2"), []), (.redeliverAll, ["deliver 2"]),
            (acknowledged("2"), ["complete changed 2"]),
        ])
    }

    @Test func `a change of the customer answers callers that wait for the store, and others after their delivery`() {
        expect([
            (buy("p"), ["submit p"]), (buy("q"), ["submit q"]), (.restore(1), ["request restore 1"]),
            (sold("1", "p"), ["deliver 1"]), (.redeliver("1", 2), []),
            (.customerChanged, ["answer q failed customerChanged", "restored 1 failed customerChanged"]),
            (.customerChanged, []), (.restored(1, [.of("9")]), []),
            (acknowledged("1"), ["finish 1", "answer p purchased pack", "redelivered 2"]),
            (sold("2", "q"), ["deliver 2"]), (acknowledged("2"), ["finish 2", "complete 2 of q"]),
        ])
    }

    @Test func `restored transactions are not presented as the next customer's`() {
        let named = ScriptedStoreConnection.transaction("3", "pack", appAccountToken: UUID())
        expect([
            (.restore(1), ["request restore 1"]), (.restored(1, [.of("1"), .of("2"), named]), ["deliver 1 2 3"]),
            (unavailable("1"), ["retry 1 after 1"]), (held("3"), []),
            (.customerChanged, ["restored 1 failed customerChanged", "deliver 3"]), (.retryDue("1", attempt: 1), []),
            (rejected("2"), []), (acknowledged("3"), []), (.redeliverAll, []),
            (.redeliver("1", 4), ["redelivered 4 failed unknownTransaction"]),
        ])
    }

    @Test func `a restore of the next customer is theirs, even if the previous one had requested a restore`() {
        expect([
            (.restore(1), ["request restore 1"]), (.customerChanged, ["restored 1 failed customerChanged"]),
            (.restore(2), ["request restore 2"]), (.restored(1, [.of("1")]), []),
            (.restoreFailed(1, Silence()), []), (.restored(2, [.of("2")]), ["deliver 2"]),
            (acknowledged("2"), ["restored 2: 2"]),
        ])
    }

    @Test func `transactions presented for one customer do not answer the restore of the next`() {
        expect([
            (sold("1"), ["deliver 1"]), (.customerChanged, []), (.restore(1), ["request restore 1"]),
            (.restored(1, [.of("1")]), []), (acknowledged("1"), ["finish 1", "complete 1", "deliver 1"]),
            (acknowledged("1"), ["restored 1: 1"]),
        ])
        expect([
            (sold("1"), ["deliver 1"]), (.customerChanged, []), (.restore(1), ["request restore 1"]),
            (.restored(1, [.of("1")]), []), (rejected("1"), ["deliver 1"]),
            (acknowledged("1"), ["finish 1", "restored 1: 1"]),
        ])
    }

    @Test func `of the transactions that are set aside, the latest are kept`() {
        var machine = Machine(policy: .afterAcknowledgement)
        let ids = (0...Deliveries.maximumSetAside).map { TransactionID(unchecked: "\(10_000 + $0)") }
        for id in ids {
            _ = machine.handle(sold(id))
            #expect(machine.handle(held(id)).isEmpty)
        }
        #expect(
            machine.handle(.redeliverAll).map(\.words) == [
                "deliver " + ids.dropFirst().map(\.rawValue).joined(separator: " ")
            ])
    }
}
