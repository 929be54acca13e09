import StoreModel
import StoreTestSupport
import Testing

@testable import StoreKitAdapter

/// A table of events and the resulting actions, to test the state machine without `await`.
protocol PaymentQueueTable {}

extension PaymentQueueTable {
    typealias Machine = PaymentQueueStateMachine

    /// Sends events to one state machine, and expects the actions of each, as words.
    func expect(
        policy: FinishPolicy = .afterAcknowledgement, checksProductFirst: Bool = false,
        _ table: [(Machine.Event, [String])],
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        var machine = Machine(policy: policy, checksProductFirst: checksProductFirst)
        for (step, (event, actions)) in table.enumerated() {
            #expect(
                machine.handle(event).map(\.words) == actions, "step \(step + 1): \(event)",
                sourceLocation: sourceLocation)
        }
    }

    func sold(_ id: TransactionID, _ payment: PaymentID? = nil, owned: Bool = false) -> Machine.Event {
        .update(StoreUpdate(paymentID: payment, productID: "pack", state: .purchased(.of(id), alreadyOwned: owned)))
    }

    func update(_ payment: PaymentID?, _ state: StoreUpdate.State) -> Machine.Event {
        .update(StoreUpdate(paymentID: payment, productID: "pack", state: state))
    }

    func payment(_ id: PaymentID) -> Payment { Payment(id: id, productID: "pack") }
    func buy(_ id: PaymentID) -> Machine.Event { .purchase(payment(id)) }
    func acknowledged(_ ids: TransactionID...) -> Machine.Event {
        .delivered(Dictionary(uniqueKeysWithValues: ids.map { ($0, .acknowledged) }))
    }
    func unavailable(_ id: TransactionID) -> Machine.Event { .delivered([id: .unavailable(Silence())]) }
    func rejected(_ id: TransactionID) -> Machine.Event { .delivered([id: .rejected(Silence())]) }
    func held(_ id: TransactionID) -> Machine.Event { .delivered([id: .held(Silence())]) }
}

struct Silence: Error {}

extension StoreTransaction {
    static func of(_ id: TransactionID, signature: String = "signed") -> StoreTransaction {
        ScriptedStoreConnection.transaction(id, "pack", signature: signature)
    }

    var words: String {
        let signature = signedTransaction.split(separator: ".")[0]
        return signature == "signed" ? id.rawValue : "\(id) \(signature)"
    }
}

extension PaymentQueueStateMachine.Action {
    var words: String {
        switch self {
        case .submit(let payment): "submit \(payment.id)"
        case .deliver(let transactions): "deliver " + transactions.map(\.words).joined(separator: " ")
        case .finish(let id): "finish \(id)"
        case .answer(let id, let answer):
            "answer \(id) \(answer.outcome.words)" + (answer.isAlreadyOwned ? " owned" : "")
        case .requestRestore(let number): "request restore \(number)"
        case .answerRestore(let caller, .success(let transactions)):
            "restored \(caller): " + transactions.map(\.words).joined(separator: " ")
        case .answerRestore(let caller, .failure(let error)): "restored \(caller) \(error.words)"
        case .complete(let completion): "complete \(completion.words)"
        case .checkProduct(let payment): "check \(payment.id)"
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

extension StoreUpdate {
    var words: String {
        let payment = paymentID.map { " of \($0)" } ?? ""
        return switch state {
        case .purchasing: "purchasing" + payment
        case .deferred: "deferred" + payment
        case .purchased(let transaction, _): transaction.words + payment
        case .revoked(let transaction): "revoked \(transaction.words)" + payment
        case .renewalChanged(let transaction): "changed \(transaction.words)" + payment
        case .failed(let failure): "failed \(failure.code.rawValue)" + payment
        }
    }
}
