import StoreModel
import StoreTestSupport
import Testing

@testable import StoreKitAdapter

struct PaymentQueueStateMachineTests {
    private typealias Machine = PaymentQueueStateMachine

    /// Runs events through one machine and expects, for each, its actions in words.
    private func expect(
        policy: FinishPolicy = .afterAcknowledgement, _ table: [(Machine.Event, [String])],
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        var machine = Machine(policy: policy)
        for (step, (event, actions)) in table.enumerated() {
            #expect(
                machine.handle(event).map(\.words) == actions, "step \(step + 1): \(event)",
                sourceLocation: sourceLocation)
        }
    }

    private func sold(_ id: TransactionID, _ payment: PaymentID? = nil, owned: Bool = false) -> Machine.Event {
        .update(StoreUpdate(paymentID: payment, productID: "pack", state: .purchased(.of(id), alreadyOwned: owned)))
    }

    private func update(_ payment: PaymentID?, _ state: StoreUpdate.State) -> Machine.Event {
        .update(StoreUpdate(paymentID: payment, productID: "pack", state: state))
    }

    private func buy(_ id: PaymentID) -> Machine.Event { .purchase(Payment(id: id, productID: "pack")) }
    private func acknowledged(_ ids: TransactionID...) -> Machine.Event {
        .delivered(Dictionary(uniqueKeysWithValues: ids.map { ($0, .acknowledged) }))
    }
    private func unavailable(_ id: TransactionID) -> Machine.Event { .delivered([id: .unavailable(Silence())]) }
    private func rejected(_ id: TransactionID) -> Machine.Event { .delivered([id: .rejected(Silence())]) }
    private func held(_ id: TransactionID) -> Machine.Event { .delivered([id: .held(Silence())]) }

    // MARK: - Payments

    @Test func `a payment is delivered, acknowledged, finished and then answered`() {
        expect([
            (buy("p"), ["submit p"]), (update("p", .purchasing), []), (sold("1", "p"), ["deliver 1"]),
            (acknowledged("1"), ["finish 1", "answer p purchased pack"]), (.finished("1"), []),
        ])
    }

    @Test func `two payments of one product are answered by name`() {
        expect([
            (buy("p"), ["submit p"]), (buy("q"), ["submit q"]), (sold("2", "q"), ["deliver 2"]),
            (sold("1", "p"), ["deliver 1"]), (acknowledged("1"), ["finish 1", "answer p purchased pack"]),
            (update("q", .failed(StoreFailure(code: .declined, reason: "late"))), ["answer q failed storeFailed"]),
            (acknowledged("2"), ["finish 2", "complete 2"]),
        ])
    }

    @Test func `an unnamed transaction of the same product never answers a payment`() {
        expect([
            (buy("p"), ["submit p"]), (sold("1"), ["deliver 1"]), (acknowledged("1"), ["finish 1", "complete 1"]),
            (sold("2", "somebody else's"), ["deliver 2"]), (sold("3", "p"), ["deliver 3"]),
            (acknowledged("2", "3"), ["finish 2", "complete 2", "finish 3", "answer p purchased pack"]),
        ])
    }

    @Test func `two payments that the store answers with one transaction are both answered`() {
        expect([
            (buy("p"), ["submit p"]), (buy("q"), ["submit q"]), (sold("1", "p"), ["deliver 1"]),
            (sold("1", "q", owned: true), []),
            (acknowledged("1"), ["finish 1", "answer p purchased pack", "answer q purchased pack owned"]),
        ])
    }

    @Test func `what is owned already is acknowledged again and marked`() {
        expect([
            (buy("p"), ["submit p"]), (sold("1", "p", owned: true), ["deliver 1"]),
            (acknowledged("1"), ["finish 1", "answer p purchased pack owned"]),
        ])
    }

    @Test func `a deferred payment is answered, and its approval completes later`() {
        expect([
            (buy("p"), ["submit p"]), (update("p", .deferred), ["answer p failed deferred"]),
            (update("p", .deferred), []), (sold("1", "p"), ["deliver 1"]),
            (acknowledged("1"), ["finish 1", "complete 1"]),
        ])
    }

    @Test func `a refusal of the store is answered once, with its reason`() {
        let cancelled = StoreFailure(code: .cancelled, reason: "changed their mind")
        expect([
            (buy("p"), ["submit p"]), (update("p", .failed(cancelled)), ["answer p failed cancelled"]),
            (update("p", .failed(cancelled)), []), (update(nil, .failed(cancelled)), []),
            (buy("q"), ["submit q"]),
            (.submissionFailed("q", StoreFailure(code: .unreachable, reason: "gone")), ["answer q failed storeFailed"]),
            (buy("r"), ["submit r"]), (.submissionFailed("r", CancellationError()), ["answer r failed cancelled"]),
            (buy("s"), ["submit s"]), (.submissionFailed("s", Silence()), ["answer s failed storeFailed"]),
        ])
    }

    @Test func `a purchase whose submission failed and that was made all the same is completed`() {
        expect([
            (buy("p"), ["submit p"]), (.submissionFailed("p", Silence()), ["answer p failed storeFailed"]),
            (sold("1", "p"), ["deliver 1"]), (acknowledged("1"), ["finish 1", "complete 1"]),
        ])
    }

    @Test func `who gave up is answered, and the purchase is completed all the same`() {
        expect([
            (buy("p"), ["submit p"]), (.gaveUp("p"), ["answer p failed cancelled"]), (.gaveUp("p"), []),
            (sold("1", "p"), ["deliver 1"]), (acknowledged("1"), ["finish 1", "complete 1"]),
            (buy("q"), ["submit q"]), (sold("2", "q"), ["deliver 2"]), (.gaveUp("q"), ["answer q failed cancelled"]),
            (acknowledged("2"), ["finish 2", "complete 2"]),
        ])
    }

    @Test func `a purchase taken back before it was delivered is answered and delivered`() {
        expect([
            (buy("p"), ["submit p"]),
            (update("p", .revoked(.of("1"))), ["deliver 1", "answer p failed storeFailed"]),
            (acknowledged("1"), ["finish 1", "complete 1"]),
        ])
    }

    // MARK: - What happens by itself

    @Test func `a revocation is delivered and finished`() {
        expect([
            (update(nil, .revoked(.of("1"))), ["deliver 1"]), (acknowledged("1"), ["finish 1", "complete 1"]),
        ])
    }

    @Test func `a changed renewal is delivered, and there is nothing to finish or complete`() {
        expect([
            (update(nil, .renewalChanged(.of("1"))), ["deliver 1"]), (acknowledged("1"), []),
            (update(nil, .renewalChanged(.of("2"))), ["deliver 2"]), (unavailable("2"), ["retry 2 after 1"]),
            (.retryDue("2", attempt: 1), ["deliver 2"]), (acknowledged("2"), []),
        ])
    }

    @Test func `a repeated update is delivered once`() {
        expect([
            (sold("1"), ["deliver 1"]), (sold("1"), []), (acknowledged("1"), ["finish 1", "complete 1"]),
            (sold("1"), []), (.finished("1"), []),
        ])
    }

    @Test func `a newer signature follows the one under way`() {
        let newer = update(nil, .renewalChanged(.of("1", signature: "newer")))
        expect([
            (sold("1"), ["deliver 1"]), (newer, []), (newer, []),
            (acknowledged("1"), ["finish 1", "complete 1", "deliver 1 newer"]), (acknowledged("1"), []),
        ])
    }

    @Test func `a revocation that overtakes the acknowledgement of its purchase is finished too`() {
        expect([
            (sold("1"), ["deliver 1"]), (update(nil, .revoked(.of("1", signature: "revoked"))), []),
            (acknowledged("1"), ["finish 1", "complete 1", "deliver 1 revoked"]),
            (acknowledged("1"), ["complete 1 revoked"]), (.finished("1"), ["finish 1"]), (.finished("1"), []),
        ])
    }

    @Test func `a newer signature takes the place of a rejected one, which is then finished`() {
        expect([
            (buy("p"), ["submit p"]), (sold("1", "p"), ["deliver 1"]),
            (update(nil, .renewalChanged(.of("1", signature: "newer"))), []),
            (rejected("1"), ["answer p failed rejected", "deliver 1 newer"]),
            (acknowledged("1"), ["finish 1", "complete 1 newer"]),
        ])
    }

    // MARK: - No answer

    @Test func `what cannot be acknowledged is answered as pending and delivered until it is`() {
        expect([
            (buy("p"), ["submit p"]), (sold("1", "p"), ["deliver 1"]),
            (unavailable("1"), ["answer p failed acknowledgementPending", "retry 1 after 1"]),
            (.retryDue("1", attempt: 1), ["deliver 1"]), (unavailable("1"), ["retry 1 after 2"]),
            (.retryDue("1", attempt: 2), ["deliver 1"]), (acknowledged("1"), ["finish 1", "complete 1"]),
            (.retryDue("1", attempt: 2), []),
        ])
    }

    @Test func `an update while the next attempt is awaited is that attempt, and its old timer counts no more`() {
        expect([
            (sold("1"), ["deliver 1"]), (unavailable("1"), ["retry 1 after 1"]), (sold("1"), ["deliver 1"]),
            (.retryDue("1", attempt: 1), []), (unavailable("1"), ["retry 1 after 2"]),
            (.retryDue("1", attempt: 1), []), (.retryDue("1", attempt: 2), ["deliver 1"]),
            (acknowledged("1"), ["finish 1", "complete 1"]),
        ])
    }

    @Test func `a newer signature is what the next attempt presents`() {
        expect([
            (sold("1"), ["deliver 1"]), (update(nil, .renewalChanged(.of("1", signature: "newer"))), []),
            (unavailable("1"), ["retry 1 after 1"]), (.retryDue("1", attempt: 1), ["deliver 1 newer"]),
            (acknowledged("1"), ["finish 1", "complete 1 newer"]),
        ])
    }

    @Test func `what is not true is answered, and stays unfinished`() {
        expect([
            (buy("p"), ["submit p"]), (sold("1", "p"), ["deliver 1"]), (rejected("1"), ["answer p failed rejected"]),
            (.retryDue("1", attempt: 0), []), (acknowledged("1"), []),
        ])
    }

    @Test func `a finish that fails is repeated, however often it is asked for`() {
        expect([
            (sold("1"), ["deliver 1"]), (acknowledged("1"), ["finish 1", "complete 1"]),
            (.finishFailed("1"), ["retry finish 1 after 1"]), (.finishRetryDue("1"), ["finish 1"]),
            (.finishRetryDue("1"), []), (.finishFailed("1"), ["retry finish 1 after 2"]), (sold("1"), []),
            (.finishRetryDue("1"), ["finish 1"]), (.finished("1"), []), (.finishRetryDue("1"), []),
            (.finishFailed("1"), []),
        ])
    }

    @Test func `an app that finishes itself is asked to`() {
        expect(
            policy: .byCaller,
            [
                (buy("p"), ["submit p"]), (sold("1", "p"), ["deliver 1"]),
                (acknowledged("1"), ["answer p purchased pack"]), (.finishRequested("1"), ["finish 1"]),
                (.finishRequested("1"), []), (.finished("1"), []),
            ])
    }

    // MARK: - Delivering on request

    @Test func `a redelivery is answered by the verdict it got`() {
        expect([
            (.redeliver("1", 1), ["redelivered 1 failed unknownTransaction"]), (sold("1"), ["deliver 1"]),
            (.redeliver("1", 2), []),
            (unavailable("1"), ["redelivered 2 failed acknowledgementPending", "retry 1 after 1"]),
            (.redeliver("1", 3), ["deliver 1"]), (.redeliver("1", 4), []),
            (.gaveUpRedelivery(3), ["redelivered 3 failed cancelled"]), (.gaveUpRedelivery(3), []),
            (acknowledged("1"), ["finish 1", "redelivered 4"]),
            (.redeliver("1", 5), ["redelivered 5 failed unknownTransaction"]),
        ])
    }

    // MARK: - Somebody else is there

    @Test func `what is held is answered as pending, and waits without a timer until everything is asked for`() {
        expect([
            (buy("p"), ["submit p"]), (sold("1", "p"), ["deliver 1"]),
            (held("1"), ["answer p failed acknowledgementPending"]), (.retryDue("1", attempt: 0), []),
            (.redeliverAll, ["deliver 1"]), (held("1"), []), (.redeliverAll, ["deliver 1"]),
            (acknowledged("1"), ["finish 1", "complete 1"]), (.redeliverAll, []),
        ])
    }

    @Test func `what was rejected or waits for its next attempt is presented with what is held`() {
        expect([
            (sold("3"), ["deliver 3"]), (rejected("3"), []), (sold("2"), ["deliver 2"]), (held("2"), []),
            (sold("1"), ["deliver 1"]), (unavailable("1"), ["retry 1 after 1"]),
            (.redeliverAll, ["deliver 1 2 3"]), (.retryDue("1", attempt: 1), []),
            (unavailable("1"), ["retry 1 after 2"]), (acknowledged("2"), ["finish 2", "complete 2"]),
            (rejected("3"), []), (.redeliver("3", 1), ["deliver 3"]),
            (rejected("3"), ["redelivered 1 failed rejected"]), (.redeliver("3", 2), ["deliver 3"]),
            (.gaveUpRedelivery(2), ["redelivered 2 failed cancelled"]),
            (acknowledged("3"), ["finish 3", "complete 3"]),
        ])
    }

    @Test func `a refusal that somebody else overtakes is not the last word, and is nobody's answer`() {
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

    @Test func `a newer update of what is held takes its place and finishes it`() {
        expect([
            (sold("1"), ["deliver 1"]), (held("1"), []),
            (update(nil, .renewalChanged(.of("1", signature: "newer"))), ["deliver 1 newer"]),
            (acknowledged("1"), ["finish 1", "complete 1 newer"]), (.redeliverAll, []),
            (update(nil, .renewalChanged(.of("2"))), ["deliver 2"]), (held("2"), []), (.redeliverAll, ["deliver 2"]),
            (acknowledged("2"), []),
        ])
    }

    @Test func `of what is set aside the latest is kept`() {
        var machine = Machine(policy: .afterAcknowledgement)
        let ids = (0...Machine.maximumSetAside).map { TransactionID(unchecked: "\(10_000 + $0)") }
        for id in ids {
            _ = machine.handle(sold(id))
            #expect(machine.handle(held(id)).isEmpty)
        }
        #expect(
            machine.handle(.redeliverAll).map(\.words) == [
                "deliver " + ids.dropFirst().map(\.rawValue).joined(separator: " ")
            ])
    }

    // MARK: - Restoring

    @Test func `what is held is left out of a restore, also when nothing else is in it`() {
        expect([
            (.restore(1), ["request restore"]), (.restored([.of("1"), .of("2")]), ["deliver 1 2"]),
            (held("1"), []), (acknowledged("2"), ["restored 1: 2"]), (.restore(2), ["request restore"]),
            (.restored([.of("1")]), ["deliver 1"]), (held("1"), ["restored 2: "]), (.redeliverAll, ["deliver 1"]),
            (acknowledged("1"), []), (.restore(3), ["request restore"]),
            (.restored([.of("3"), .of("4")]), ["deliver 3 4"]), (held("3"), []),
            (rejected("4"), ["restored 3 failed rejected"]),
        ])
    }

    @Test func `a restore delivers everything and answers all who joined`() {
        expect([
            (.restore(1), ["request restore"]), (.restore(2), []),
            (.restored([.of("1"), .of("2")]), ["deliver 1 2"]), (acknowledged("2"), []),
            (acknowledged("1"), ["restored 1: 1 2", "restored 2: 1 2"]), (.restore(3), ["request restore"]),
        ])
    }

    @Test func `nothing to restore is an answer`() {
        expect([(.restore(1), ["request restore"]), (.restored([]), ["restored 1: "]), (.restored([.of("1")]), [])])
    }

    @Test func `a restore that the store refuses fails for all`() {
        expect([
            (.restore(1), ["request restore"]), (.restore(2), []),
            (.restoreFailed(Silence()), ["restored 1 failed storeFailed", "restored 2 failed storeFailed"]),
        ])
    }

    @Test func `a restore that is partly unavailable is pending, and goes on by itself`() {
        expect([
            (.restore(1), ["request restore"]), (.restored([.of("1"), .of("2")]), ["deliver 1 2"]),
            (acknowledged("1"), []),
            (unavailable("2"), ["restored 1 failed acknowledgementPending", "retry 2 after 1"]),
            (.retryDue("2", attempt: 1), ["deliver 2"]), (acknowledged("2"), []),
        ])
    }

    @Test func `a rejected transaction does not keep the others from being restored`() {
        expect([
            (.restore(1), ["request restore"]), (.restored([.of("1"), .of("2")]), ["deliver 1 2"]),
            (rejected("1"), []), (acknowledged("2"), ["restored 1: 2"]), (.restore(2), ["request restore"]),
            (.restored([.of("1")]), ["deliver 1"]), (rejected("1"), ["restored 2 failed rejected"]),
        ])
    }

    @Test func `a restored transaction that is on its way already is delivered once and finished`() {
        expect([
            (sold("1"), ["deliver 1"]), (.restore(1), ["request restore"]), (.restored([.of("1")]), []),
            (acknowledged("1"), ["finish 1", "restored 1: 1"]),
        ])
    }

    @Test func `payments come before a restore`() {
        expect([
            (.restore(1), ["request restore"]), (buy("p"), ["submit p"]), (sold("1", "p"), ["deliver 1"]),
            (.restored([.of("1")]), []), (acknowledged("1"), ["finish 1", "answer p purchased pack", "restored 1: 1"]),
        ])
    }

    @Test func `who gave up restoring is answered, and the restore goes on`() {
        expect([
            (.restore(1), ["request restore"]), (.gaveUpRestore(1), ["restored 1 failed cancelled"]),
            (.gaveUpRestore(1), []), (.restored([.of("1")]), ["deliver 1"]), (.restore(2), []),
            (acknowledged("1"), ["restored 2: 1"]),
        ])
    }

    // MARK: - The end

    @Test func `shutting down answers everybody, and what comes later changes nothing`() {
        expect([
            (buy("p"), ["submit p"]), (buy("q"), ["submit q"]), (.restore(1), ["request restore"]),
            (sold("1", "p"), ["deliver 1"]), (.redeliver("1", 2), []),
            (
                .shutDown,
                [
                    "answer p failed shutDown", "answer q failed shutDown", "redelivered 2 failed shutDown",
                    "restored 1 failed shutDown",
                ]
            ),
            (.shutDown, []), (unavailable("1"), []), (.retryDue("1", attempt: 1), []), (sold("2"), []),
            (.restored([.of("1")]), []), (buy("r"), ["answer r failed shutDown"]),
            (.restore(3), ["restored 3 failed shutDown"]), (.redeliver("1", 4), ["redelivered 4 failed shutDown"]),
            (.finishRequested("1"), []),
        ])
    }
}

struct Silence: Error {}

extension StoreTransaction {
    static func of(_ id: TransactionID, signature: String = "signed") -> StoreTransaction {
        ScriptedStoreConnection.transaction(id, "pack", signature: signature)
    }

    fileprivate var words: String {
        let signature = signedTransaction.split(separator: ".")[0]
        return signature == "signed" ? id.rawValue : "\(id) \(signature)"
    }
}

extension PaymentQueueStateMachine.Action {
    fileprivate var words: String {
        switch self {
        case .submit(let payment): "submit \(payment.id)"
        case .deliver(let transactions): "deliver " + transactions.map(\.words).joined(separator: " ")
        case .finish(let id): "finish \(id)"
        case .answer(let id, let answer):
            "answer \(id) \(answer.outcome.words)" + (answer.isAlreadyOwned ? " owned" : "")
        case .requestRestore: "request restore"
        case .answerRestore(let caller, .success(let transactions)):
            "restored \(caller): " + transactions.map(\.words).joined(separator: " ")
        case .answerRestore(let caller, .failure(let error)): "restored \(caller) \(error.words)"
        case .complete(let transaction): "complete \(transaction.words)"
        case .answerRedelivery(let caller, .success): "redelivered \(caller)"
        case .answerRedelivery(let caller, .failure(let error)): "redelivered \(caller) \(error.words)"
        case .retryDelivery(let id, let attempt): "retry \(id) after \(attempt)"
        case .retryFinish(let id, let attempt): "retry finish \(id) after \(attempt)"
        }
    }
}

extension PurchaseOutcome {
    var words: String {
        switch self {
        case .purchased(let product): "purchased \(product)"
        case .restored(let product): "restored \(product)"
        case .nothingToRestore: "nothing to restore"
        case .failed(let error): error.words
        }
    }
}

extension Error {
    var words: String { "failed " + ((self as? PaymentError)?.code.rawValue ?? "\(self)") }
}
