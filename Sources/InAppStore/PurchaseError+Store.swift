import Purchases

/// The failures of the in-app store, whose calls throw `PurchaseError` as those of `PurchaseClient` do.
extension PurchaseError.Code {
    /// A setting that the one-argument configuration needs is missing.
    public static let missingSetting = Self(rawValue: "missingSetting")
    /// Another store of this process uses the same storage.
    public static let alreadyInUse = Self(rawValue: "alreadyInUse")
    public static let productListUnreadable = Self(rawValue: "productListUnreadable")
    public static let productListMalformed = Self(rawValue: "productListMalformed")
    /// The product is not in the list, or the store does not sell it.
    public static let invalidProductForPurchasing = Self(rawValue: "invalidProductForPurchasing")
    public static let invalidProductIdentifier = Self(rawValue: "invalidProductIdentifier")
    public static let invalidQuantityForPurchasing = Self(rawValue: "invalidQuantityForPurchasing")
    public static let invalidTransactionIdentifier = Self(rawValue: "invalidTransactionIdentifier")
    public static let acquireAllRequestedForNonSubscriber = Self(rawValue: "acquireAllRequestedForNonSubscriber")
    public static let operationCancelled = Self(rawValue: "operationCancelled")
    /// The purchase waits for an approval.
    public static let purchaseDeferred = Self(rawValue: "purchaseDeferred")
    public static let purchaseNotAllowed = Self(rawValue: "purchaseNotAllowed")
    public static let purchaseFailed = Self(rawValue: "purchaseFailed")
    /// No error: something was bought or acquired.
    public static let purchaseSuccessful = Self(rawValue: "purchaseSuccessful")
    /// What waited for somebody's approval did not get it.
    public static let purchaseDeclined = Self(rawValue: "purchaseDeclined")
    /// The store took a purchase back: refunded, or no longer shared by the family.
    public static let purchaseRevoked = Self(rawValue: "purchaseRevoked")
    /// No error: what the customer began in the App Store goes on.
    public static let promotedPurchaseBegun = Self(rawValue: "promotedPurchaseBegun")
    /// No error: what the customer began in the App Store waits until the app goes on with it.
    public static let promotedPurchasePostponed = Self(rawValue: "promotedPurchasePostponed")
    /// No error: what the customer began in the App Store is not in the list, or the app does not want it.
    public static let promotedPurchaseRefused = Self(rawValue: "promotedPurchaseRefused")
    public static let receiptValidationFailed = Self(rawValue: "receiptValidationFailed")
    /// The store could not be asked what it sells; `underlying` is the `ProductRequestError`.
    public static let productsMetadataFetchingFailed = Self(rawValue: "productsMetadataFetchingFailed")
    /// The store did not take the offer code.
    public static let codeRedemptionFailed = Self(rawValue: "codeRedemptionFailed")
    /// The store could not show a message or take the answer to it.
    public static let messageFailed = Self(rawValue: "messageFailed")
    /// The store could not show where subscriptions are managed.
    public static let manageSubscriptionsFailed = Self(rawValue: "manageSubscriptionsFailed")
    /// The store did not take a refund request.
    public static let refundRequestFailed = Self(rawValue: "refundRequestFailed")
    /// The store could not say whether the customer may get an offer.
    public static let offerEligibilityFailed = Self(rawValue: "offerEligibilityFailed")
    /// The store could not say how the customer got the app.
    public static let appTransactionFailed = Self(rawValue: "appTransactionFailed")
    public static let restorePurchasesFailed = Self(rawValue: "restorePurchasesFailed")
    /// No error: the device's clock reads an earlier instant than is known to have come.
    public static let clockSetBack = Self(rawValue: "clockSetBack")
    /// What a sibling app told of its subscriptions is not what it wrote.
    public static let sharedUserInfoDamaged = Self(rawValue: "sharedUserInfoDamaged")
    /// A sibling app tells of its subscriptions in a form of another version; one of the two is to be updated.
    public static let sharedUserInfoOfOtherVersion = Self(rawValue: "sharedUserInfoOfOtherVersion")
    /// The server could not be asked about credit, or knows no such credit.
    public static let creditFailed = Self(rawValue: "creditFailed")
    /// There is less credit than the items cost; nothing was spent.
    public static let insufficientCredit = Self(rawValue: "insufficientCredit")
    /// The customer has not bought or acquired the product, so its content is not fetched.
    public static let contentNotAcquired = Self(rawValue: "contentNotAcquired")
    /// The product's `contentFetcherParameters` lack what its fetcher needs.
    public static let invalidContentFetcherParameters = Self(rawValue: "invalidContentFetcherParameters")
    /// The `type` of a product's `contentFetcherParameters` names no fetcher of this store.
    public static let contentFetcherNotRegistered = Self(rawValue: "contentFetcherNotRegistered")
    /// The content could not be had from where it is; trying again later goes on where it broke off.
    public static let contentFetchFailed = Self(rawValue: "contentFetchFailed")
    /// What was fetched is not what the product list says: its size, its SHA-256, its checksum.
    public static let contentMismatch = Self(rawValue: "contentMismatch")
    /// What was fetched cannot be unpacked; `underlying` is the `ExtractionError` of an archive.
    public static let contentExtractionFailed = Self(rawValue: "contentExtractionFailed")
    /// There is no room for the content; freeing some helps.
    public static let diskFull = Self(rawValue: "diskFull")
    /// This user may not write where content is kept, or not read it.
    public static let notPermitted = Self(rawValue: "notPermitted")
}
