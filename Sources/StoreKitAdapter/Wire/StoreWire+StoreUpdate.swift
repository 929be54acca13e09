import StoreModel

extension StoreWire.Update {
    /// The update for `StoreConnection`; `nil` for a state that this version does not know.
    package var storeUpdate: StoreUpdate? {
        let known: StoreUpdate.State? =
            switch (state, transaction) {
            case ("purchased", let transaction?): .purchased(transaction, alreadyOwned: alreadyOwned ?? false)
            case ("revoked", let transaction?): .revoked(transaction)
            case ("renewalChanged", let transaction?): .renewalChanged(transaction)
            case ("deferred", _): .deferred
            case ("failed", _): .failed(failure ?? StoreFailure(code: .unknown, reason: "The store gave no reason."))
            default: nil
            }
        return known.map { StoreUpdate(paymentID: paymentID, productID: productID, state: $0) }
    }

    package init?(_ update: StoreUpdate) {
        self.init(paymentID: update.paymentID, productID: update.productID, state: "")
        switch update.state {
        case .purchasing: return nil
        case .purchased(let transaction, let alreadyOwned):
            state = "purchased"
            self.transaction = transaction
            self.alreadyOwned = alreadyOwned ? true : nil
        case .deferred: state = "deferred"
        case .failed(let failure):
            state = "failed"
            self.failure = failure
        case .revoked(let transaction):
            state = "revoked"
            self.transaction = transaction
        case .renewalChanged(let transaction):
            state = "renewalChanged"
            self.transaction = transaction
        }
    }
}
