import Purchases

/// The codes of the in-app store's errors and events. Its calls throw `PurchaseError`, as those of `PurchaseClient` do.
extension PurchaseError.Code {
    /// A setting that the configuration of the store needs is missing; the message names it.
    public static let missingSetting = Self(rawValue: "missingSetting")
    /// Another store, in this process or in another one, uses the same storage.
    public static let alreadyInUse = Self(rawValue: "alreadyInUse")
    /// The product list cannot be read.
    public static let productListUnreadable = Self(rawValue: "productListUnreadable")
    /// The product list is not valid.
    public static let productListMalformed = Self(rawValue: "productListMalformed")
    /// The product cannot be bought, for example because it is not in the product list, or the App Store does not sell it.
    public static let invalidProductForPurchasing = Self(rawValue: "invalidProductForPurchasing")
    /// A product is not in the product list, or the App Store does not sell it. Not used for purchases.
    public static let invalidProductIdentifier = Self(rawValue: "invalidProductIdentifier")
    /// The quantity is not between 1 and 10, or not 1 for a purchase with an offer.
    public static let invalidQuantityForPurchasing = Self(rawValue: "invalidQuantityForPurchasing")
    /// No unfinished transaction has this identifier.
    public static let invalidTransactionIdentifier = Self(rawValue: "invalidTransactionIdentifier")
    /// The customer has no active subscription, so nothing can be acquired.
    public static let acquireAllRequestedForNonSubscriber = Self(rawValue: "acquireAllRequestedForNonSubscriber")
    /// The caller or the customer cancelled, or a login or logout changed the customer.
    public static let operationCancelled = Self(rawValue: "operationCancelled")
    /// The purchase waits for an approval.
    public static let purchaseDeferred = Self(rawValue: "purchaseDeferred")
    /// This device may not make payments.
    public static let purchaseNotAllowed = Self(rawValue: "purchaseNotAllowed")
    /// The purchase failed for a reason without a code of its own.
    public static let purchaseFailed = Self(rawValue: "purchaseFailed")
    /// Not an error: a product was bought or acquired.
    public static let purchaseSuccessful = Self(rawValue: "purchaseSuccessful")
    /// A deferred purchase was not approved.
    public static let purchaseDeclined = Self(rawValue: "purchaseDeclined")
    /// The App Store revoked a purchase: it was refunded, or is no longer shared with the family.
    public static let purchaseRevoked = Self(rawValue: "purchaseRevoked")
    /// Not an error: a promoted purchase continues.
    public static let promotedPurchaseBegun = Self(rawValue: "promotedPurchaseBegun")
    /// Not an error: a promoted purchase waits until the app continues it.
    public static let promotedPurchasePostponed = Self(rawValue: "promotedPurchasePostponed")
    /// Not an error: the product of a promoted purchase is not in the list, or the app refused the purchase.
    public static let promotedPurchaseRefused = Self(rawValue: "promotedPurchaseRefused")
    /// The server could not be reached, or rejected a transaction.
    public static let receiptValidationFailed = Self(rawValue: "receiptValidationFailed")
    /// The request for products failed; `underlying` is the `ProductRequestError`.
    public static let productsMetadataFetchingFailed = Self(rawValue: "productsMetadataFetchingFailed")
    /// The App Store did not accept the offer code.
    public static let codeRedemptionFailed = Self(rawValue: "codeRedemptionFailed")
    /// The App Store could not show a message, or did not accept the customer's answer to it.
    public static let messageFailed = Self(rawValue: "messageFailed")
    /// The App Store could not show the page for managing subscriptions.
    public static let manageSubscriptionsFailed = Self(rawValue: "manageSubscriptionsFailed")
    /// The App Store did not accept a refund request.
    public static let refundRequestFailed = Self(rawValue: "refundRequestFailed")
    /// The App Store could not check the eligibility for an offer.
    public static let offerEligibilityFailed = Self(rawValue: "offerEligibilityFailed")
    /// The App Store could not provide the app transaction.
    public static let appTransactionFailed = Self(rawValue: "appTransactionFailed")
    /// The restore failed, for example because the App Store is unreachable.
    public static let restorePurchasesFailed = Self(rawValue: "restorePurchasesFailed")
    /// Not an error: the device's clock shows an earlier time than the latest known one.
    public static let clockSetBack = Self(rawValue: "clockSetBack")
    /// The shared subscriptions of a sibling app are damaged.
    public static let sharedUserInfoDamaged = Self(rawValue: "sharedUserInfoDamaged")
    /// A sibling app shares its subscriptions in another format version. Update one of the two apps.
    public static let sharedUserInfoOfOtherVersion = Self(rawValue: "sharedUserInfoOfOtherVersion")
    /// The request for credit failed, or the server has no such credit.
    public static let creditFailed = Self(rawValue: "creditFailed")
    /// The credit is lower than the price of the items; nothing was spent.
    public static let insufficientCredit = Self(rawValue: "insufficientCredit")
    /// The customer has not bought or acquired the product, so its content is not fetched.
    public static let contentNotAcquired = Self(rawValue: "contentNotAcquired")
    /// A value in the product's `contentFetcherParameters` is missing or invalid.
    public static let invalidContentFetcherParameters = Self(rawValue: "invalidContentFetcherParameters")
    /// The store has no fetcher for the `type` of a product's `contentFetcherParameters`.
    public static let contentFetcherNotRegistered = Self(rawValue: "contentFetcherNotRegistered")
    /// The content could not be fetched from its source. A later attempt continues the download if the server permits
    /// it.
    public static let contentFetchFailed = Self(rawValue: "contentFetchFailed")
    /// The fetched content differs from the product list: in its size, its SHA-256 or its checksum.
    public static let contentMismatch = Self(rawValue: "contentMismatch")
    /// The fetched content cannot be unpacked; `underlying` is the `ExtractionError` of an archive.
    public static let contentExtractionFailed = Self(rawValue: "contentExtractionFailed")
    /// The disk has no space for the content.
    public static let diskFull = Self(rawValue: "diskFull")
    /// The process may not read or write a file of the content.
    public static let notPermitted = Self(rawValue: "notPermitted")
}
