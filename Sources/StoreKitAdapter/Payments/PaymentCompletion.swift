import StoreModel

/// What came to its end at the store without a caller waiting for it: renewals, approvals and refusals of what was
/// deferred, refunds, codes, what earlier runs left unfinished.
public struct PaymentCompletion: Hashable, Sendable {
    /// The payment that this answers, where the store names one; its caller was answered before.
    public var paymentID: PaymentID?
    public var productID: ProductID
    public var event: Event

    public init(paymentID: PaymentID? = nil, productID: ProductID, event: Event) {
        self.paymentID = paymentID
        self.productID = productID
        self.event = event
    }

    /// Closed: the ways in which something ends at a store. The transactions were delivered and acknowledged.
    public enum Event: Hashable, Sendable {
        case purchased(StoreTransaction)
        /// Refunded, or no longer shared by the family: what it gave is over.
        case revoked(StoreTransaction)
        /// The subscription goes on differently, or not at all, after its period; `signedRenewalInfo` says how.
        case renewalChanged(StoreTransaction)
        /// What was deferred is declined, or what its caller no longer waited for was refused.
        case failed(StoreFailure)
    }

    /// What was bought or taken back; `nil` where nothing was and for a changed renewal.
    public var completedTransaction: StoreTransaction? {
        switch event {
        case .purchased(let transaction), .revoked(let transaction): transaction
        case .renewalChanged, .failed: nil
        }
    }
}
