import StoreModel

extension PaymentQueueStateMachine {
    enum Event {
        case purchase(Payment)
        case inquired(Payment)
        case inquiryFailed(PaymentID, any Error)
        case submissionFailed(PaymentID, any Error)
        case update(StoreUpdate)
        case delivered([TransactionID: DeliveryVerdict])
        case retryDue(TransactionID, attempt: Int)
        case redeliver(TransactionID, Caller)
        case redeliverAll
        case finished(TransactionID)
        case finishFailed(TransactionID)
        case finishRetryDue(TransactionID)
        case finishRequested(TransactionID)
        case gaveUp(PaymentID)
        case gaveUpRedelivery(Caller)
        case restore(Caller)
        case restored(UInt64, [StoreTransaction])
        case restoreFailed(UInt64, any Error)
        case gaveUpRestore(Caller)
        /// Deliver what the customer owns, and answer as a restore.
        case present([StoreTransaction], Caller)
        case customerChanged
        case shutDown
    }

    enum Action {
        /// Find out whether it can be bought at all, and come back with `inquired` or `inquiryFailed`.
        case inquire(Payment)
        case submit(Payment)
        case deliver([StoreTransaction])
        case finish(TransactionID)
        case answer(PaymentID, PaymentAnswer)
        /// Come back with `restored` or `restoreFailed` of the same number.
        case requestRestore(UInt64)
        case answerRestore(Caller, Result<[StoreTransaction], any Error>)
        /// Something ended that no caller waits for.
        case complete(StoreUpdate)
        case answerRedelivery(Caller, Result<Void, any Error>)
        /// Come back with `retryDue` of the same attempt (for a failed finish: `finishRetryDue`) after its back-off.
        case retryDelivery(TransactionID, attempt: Int)
        case retryFinish(TransactionID, attempt: Int)
    }
}
