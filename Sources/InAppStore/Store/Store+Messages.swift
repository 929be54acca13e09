import StoreKitAdapter
import StoreModel

/// What the App Store says to the customer, and the codes it takes.
extension Store {
    /// What the App Store wants to tell the customer, such as a price that rises: all that is open, again at each change.
    /// Ends at once where it tells them itself; on iOS the connection takes over when it knows where to show it
    /// (`StoreKitConnection.Configuration.present(in:)`).
    public var messages: AsyncStream<[StoreMessage]> { queue.messages }

    /// Has the App Store show a message, or tells it what the customer said. Throws `operationCancelled`, `unsupported` for
    /// an answer that this store does not take, else `messageFailed`.
    public func answer(_ message: StoreMessage.ID, with answer: StoreMessage.Answer) async throws {
        do {
            try await queue.answer(message, with: answer)
        } catch {
            throw PurchaseError.ofQuestion(error, otherwise: .messageFailed)
        }
    }

    /// Redeems an offer code; `nil` has the App Store ask for it on its own sheet. What it gives comes as a completed
    /// transaction and changes the snapshot like any purchase.
    ///
    /// Throws `operationCancelled`, `unsupported` where codes are typed on the store's sheet alone or not at all, else
    /// `codeRedemptionFailed`: the code is unknown, used up, expired or not for this customer.
    public func redeemOfferCode(_ code: String? = nil) async throws {
        let owner = keeper.owner
        do {
            try await queue.redeemOfferCode(
                code, appAccountToken: owner.isAnonymous ? nil : owner.customer.appAccountToken)
        } catch {
            throw PurchaseError.ofQuestion(error, otherwise: .codeRedemptionFailed)
        }
    }
}

extension PurchaseError {
    /// Why the store did not do what it was asked, in its own words.
    static func ofQuestion(_ error: any Error, otherwise code: Code) -> PurchaseError {
        guard let error = error as? PaymentError else {
            return PurchaseError(code, "The request to the store failed. Try again.", underlying: error)
        }
        let isUnsupported = (error.underlying as? StoreFailure)?.code == .unsupported
        return PurchaseError(
            error.code == .cancelled ? .operationCancelled : isUnsupported ? .unsupported : code, error.sentence,
            underlying: error)
    }
}
