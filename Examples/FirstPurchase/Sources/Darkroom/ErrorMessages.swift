import InAppStore

/// Returns the sentence for the customer about an error; `nil` when none is needed.
func words(for error: any Error) -> String? {
    guard let error = error as? PurchaseError else { return "That did not work: \(error)" }
    switch error.code {
    case .operationCancelled: return nil
    case .purchaseDeferred: return "Now somebody has to approve it. It opens by itself when they do."
    case .purchaseDeclined: return "It was not approved."
    case .acknowledgementPending: return "You have paid, and nothing is lost. It opens as soon as we can be reached."
    case .purchaseNotAllowed: return "This device may not buy. See the restrictions in its settings."
    case .invalidProductForPurchasing: return "The App Store does not sell this now. Try again later."
    case .purchaseFailed: return "The App Store did not take the payment. You have not paid."
    case .acquireAllRequestedForNonSubscriber, .contentNotAcquired: return "This comes with a subscription or purchase."
    case .contentFetchFailed: return "The files could not be fetched. Try again to continue the download."
    case .diskFull: return "There is not enough space for the files. Free some space and try again."
    case .receiptValidationFailed, .restorePurchasesFailed, .productsMetadataFetchingFailed:
        return "The shop cannot be reached. What you have stays open."
    default: return error.reason
    }
}
