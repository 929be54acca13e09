import Foundation

/// Why the in-app store could not do something. Equal when the codes are.
public struct StoreError: Error, Equatable, Sendable, CustomStringConvertible, LocalizedError {
    public struct Code: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// A setting that the one-argument configuration needs is missing.
        public static let missingSetting = Code(rawValue: "missingSetting")
        /// Another store of this process uses the same storage.
        public static let alreadyInUse = Code(rawValue: "alreadyInUse")
        public static let productListUnreadable = Code(rawValue: "productListUnreadable")
        public static let productListMalformed = Code(rawValue: "productListMalformed")
        /// The product is not in the list, or the store does not sell it.
        public static let invalidProductForPurchasing = Code(rawValue: "invalidProductForPurchasing")
        public static let invalidProductIdentifier = Code(rawValue: "invalidProductIdentifier")
        public static let invalidQuantityForPurchasing = Code(rawValue: "invalidQuantityForPurchasing")
        public static let invalidTransactionIdentifier = Code(rawValue: "invalidTransactionIdentifier")
        public static let acquireAllRequestedForNonSubscriber = Code(rawValue: "acquireAllRequestedForNonSubscriber")
        public static let operationCancelled = Code(rawValue: "operationCancelled")
        /// Waits for somebody's approval.
        public static let purchaseDeferred = Code(rawValue: "purchaseDeferred")
        public static let purchaseNotAllowed = Code(rawValue: "purchaseNotAllowed")
        public static let purchaseFailed = Code(rawValue: "purchaseFailed")
        /// No error: something was bought or acquired.
        public static let purchaseSuccessful = Code(rawValue: "purchaseSuccessful")
        /// What waited for somebody's approval did not get it.
        public static let purchaseDeclined = Code(rawValue: "purchaseDeclined")
        /// The store took a purchase back: refunded, or no longer shared by the family.
        public static let purchaseRevoked = Code(rawValue: "purchaseRevoked")
        /// No error: what the customer began in the App Store goes on.
        public static let promotedPurchaseBegun = Code(rawValue: "promotedPurchaseBegun")
        /// No error: what the customer began in the App Store waits until the app goes on with it.
        public static let promotedPurchasePostponed = Code(rawValue: "promotedPurchasePostponed")
        /// No error: what the customer began in the App Store is not in the list, or the app does not want it.
        public static let promotedPurchaseRefused = Code(rawValue: "promotedPurchaseRefused")
        /// Paid; the server could not acknowledge it yet and is asked again by itself.
        public static let acknowledgementPending = Code(rawValue: "acknowledgementPending")
        public static let receiptValidationFailed = Code(rawValue: "receiptValidationFailed")
        /// The store could not be asked what it sells; `underlying` is the `ProductRequestError`.
        public static let productsMetadataFetchingFailed = Code(rawValue: "productsMetadataFetchingFailed")
        /// The store did not take the offer code.
        public static let codeRedemptionFailed = Code(rawValue: "codeRedemptionFailed")
        /// The store could not show a message or take the answer to it.
        public static let messageFailed = Code(rawValue: "messageFailed")
        public static let restorePurchasesFailed = Code(rawValue: "restorePurchasesFailed")
        /// No error: the device's clock reads an earlier instant than is known to have come.
        public static let clockSetBack = Code(rawValue: "clockSetBack")
        public static let storageFailed = Code(rawValue: "storageFailed")
        /// What a sibling app told of its subscriptions is not what it wrote.
        public static let sharedUserInfoDamaged = Code(rawValue: "sharedUserInfoDamaged")
        /// A sibling app tells of its subscriptions in a form of another version; one of the two is to be updated.
        public static let sharedUserInfoOfOtherVersion = Code(rawValue: "sharedUserInfoOfOtherVersion")
        /// The server could not be asked about credit, or knows no such credit.
        public static let creditFailed = Code(rawValue: "creditFailed")
        /// There is less credit than the items cost; nothing was spent.
        public static let insufficientCredit = Code(rawValue: "insufficientCredit")
        /// Content is fetched only for whoever bought or acquired the product.
        public static let contentNotAcquired = Code(rawValue: "contentNotAcquired")
        /// The product's `contentFetcherParameters` lack what its fetcher needs.
        public static let invalidContentFetcherParameters = Code(rawValue: "invalidContentFetcherParameters")
        /// The `type` of a product's `contentFetcherParameters` names no fetcher of this store.
        public static let contentFetcherNotRegistered = Code(rawValue: "contentFetcherNotRegistered")
        /// The content could not be had from where it is; trying again later goes on where it broke off.
        public static let contentFetchFailed = Code(rawValue: "contentFetchFailed")
        /// What was fetched is not what the product list says: its size, its SHA-256, its checksum.
        public static let contentMismatch = Code(rawValue: "contentMismatch")
        /// What was fetched cannot be unpacked; `underlying` is the `ExtractionError` of an archive.
        public static let contentExtractionFailed = Code(rawValue: "contentExtractionFailed")
        /// There is no room for the content; freeing some helps.
        public static let diskFull = Code(rawValue: "diskFull")
        /// This user may not write where content is kept, or not read it.
        public static let notPermitted = Code(rawValue: "notPermitted")
        /// Nothing in this store's configuration can do it.
        public static let unsupported = Code(rawValue: "unsupported")
    }

    public let code: Code
    /// What happened and what to do, in one sentence.
    public let sentence: String
    public let underlying: (any Error)?

    public init(_ code: Code, _ sentence: String, underlying: (any Error)? = nil) {
        self.code = code
        self.sentence = sentence
        self.underlying = underlying
    }

    public static func == (left: StoreError, right: StoreError) -> Bool { left.code == right.code }
    public var description: String { sentence }
    public var errorDescription: String? { sentence }
}
