import StoreModel

extension PaymentQueueStateMachine {
    enum Event {
        case purchase(Payment)
        case productChecked(Payment)
        case productCheckFailed(PaymentID, any Error)
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
        case purchaseCancelled(PaymentID)
        case redeliveryCancelled(Caller)
        case restore(Caller)
        case restored(UInt64, [StoreTransaction])
        case restoreFailed(UInt64, any Error)
        case restoreCancelled(Caller)
        /// A caller presents transactions that the customer owns. They are delivered, and answered like a restore.
        case present([StoreTransaction], Caller)
        case customerChanged
        case shutDown
    }

    enum Action {
        /// Check that the product can be bought, then report `productChecked` or `productCheckFailed`.
        case checkProduct(Payment)
        case submit(Payment)
        case deliver([StoreTransaction])
        case finish(TransactionID)
        case answer(PaymentID, PaymentAnswer)
        /// Restore at the store, then report `restored` or `restoreFailed` with the same number.
        case requestRestore(UInt64)
        case answerRestore(Caller, Result<[StoreTransaction], any Error>)
        /// Report a purchase or failure that no caller waits for.
        case complete(StoreUpdate)
        case answerRedelivery(Caller, Result<Void, any Error>)
        /// After the backoff, report `retryDue` with the same attempt, or `finishRetryDue` for a failed finish.
        case retryDelivery(TransactionID, attempt: Int)
        case retryFinish(TransactionID, attempt: Int)
    }
}
