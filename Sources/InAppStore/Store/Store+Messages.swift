import StoreKitAdapter
import StoreModel

/// Messages of the App Store, and offer codes.
extension Store {
    /// The open messages of the App Store to the customer, such as a price increase. Each change sends all open
    /// messages. The stream ends at once if the App Store shows them itself. On iOS, the app shows them if it has
    /// called `StoreKitConnection.Configuration.present(in:)`.
    public var messages: AsyncStream<[StoreMessage]> { queue.messages }

    /// Answers a message of the App Store: shows it, or passes on the customer's answer.
    ///
    /// - Parameters:
    ///   - message: The id of the message.
    ///   - answer: The answer.
    /// - Throws: `PurchaseError`: `operationCancelled`, `unsupported` for an answer that this store does not accept,
    ///   otherwise `messageFailed`.
    public func answer(_ message: StoreMessage.ID, with answer: StoreMessage.Answer) async throws {
        do {
            try await queue.answer(message, with: answer)
        } catch {
            throw PurchaseError.ofStoreRequest(error, otherwise: .messageFailed)
        }
    }

    /// Redeems an offer code. The purchase that it gives arrives as a completed transaction, and changes the snapshot
    /// like any purchase.
    ///
    /// - Parameter code: The code; `nil` shows the App Store's sheet for it.
    /// - Throws: `PurchaseError`: `operationCancelled`, `unsupported` if the store accepts codes only on its own sheet
    ///   or not at all, otherwise `codeRedemptionFailed`, for example for a code that is unknown, used up, expired or
    ///   not for this customer.
    public func redeemOfferCode(_ code: String? = nil) async throws {
        let owner = coordinator.owner
        do {
            try await queue.redeemOfferCode(
                code, appAccountToken: owner.isAnonymous ? nil : owner.customer.appAccountToken)
        } catch {
            throw PurchaseError.ofStoreRequest(error, otherwise: .codeRedemptionFailed)
        }
    }
}

extension PurchaseError {
    /// Converts the error of a request to the store.
    static func ofStoreRequest(_ error: any Error, otherwise code: Code) -> PurchaseError {
        guard let error = error as? PaymentError else {
            return PurchaseError(code, "The request to the store failed. Try again.", underlying: error)
        }
        let isUnsupported = (error.underlying as? StoreFailure)?.code == .unsupported
        return PurchaseError(
            error.code == .cancelled ? .operationCancelled : isUnsupported ? .unsupported : code, error.sentence,
            underlying: error)
    }
}
