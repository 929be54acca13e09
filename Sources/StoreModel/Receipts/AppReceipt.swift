import Foundation

/// What an app receipt says: the app, the copy of it on one device, and what was bought in it (Apple: Receipt Fields).
///
/// A plain value: that somebody holds one proves nothing. `SignedData` verifies the signed form and decodes it.
///
/// Attributes Apple gave a meaning are members here; all others, and those whose value is not what it should be, are
/// kept in `otherAttributes` as they came. A value that is there but empty (no text, no date) reads as absent. Of two
/// attributes with the same number the first that is not empty counts, the rest are kept in `otherAttributes`.
public struct AppReceipt: Hashable, Sendable {
    /// The kind of store that made it, in Apple's words (attribute 0): `Production`, `ProductionVPP`,
    /// `ProductionSandbox`, `ProductionVPPSandbox`, `Xcode`.
    public var receiptType: String?
    /// The app (2).
    public var bundleID: BundleID?
    /// The app's version: `CFBundleVersion` on iOS, `CFBundleShortVersionString` on macOS (3).
    public var appVersion: String?
    /// The version the customer first downloaded; `1.0` in the sandbox (19).
    public var originalAppVersion: String?
    /// When the receipt was made (12).
    public var creationDate: Date?
    /// When it ends, for apps bought through the Volume Purchase Program (21).
    public var expirationDate: Date?
    /// Random bytes that go into `sha1Hash` (4).
    public var opaqueValue: [UInt8]?
    /// SHA-1 of the device's identifier, `opaqueValue` and the attribute of the bundle id: binds the receipt to one
    /// device (5).
    public var sha1Hash: [UInt8]?
    /// What was bought in the app (17, one attribute each).
    public var inAppPurchases: [InAppPurchase]
    /// Everything else, in the order it came.
    package var otherAttributes: ReceiptAttributes

    package init(
        receiptType: String? = nil, bundleID: BundleID? = nil, appVersion: String? = nil,
        originalAppVersion: String? = nil, creationDate: Date? = nil, expirationDate: Date? = nil,
        opaqueValue: [UInt8]? = nil, sha1Hash: [UInt8]? = nil, inAppPurchases: [InAppPurchase] = [],
        otherAttributes: ReceiptAttributes = []
    ) {
        self.receiptType = receiptType
        self.bundleID = bundleID
        self.appVersion = appVersion
        self.originalAppVersion = originalAppVersion
        self.creationDate = creationDate
        self.expirationDate = expirationDate
        self.opaqueValue = opaqueValue
        self.sha1Hash = sha1Hash
        self.inAppPurchases = inAppPurchases
        self.otherAttributes = otherAttributes
    }

    /// Which store signed it, by `receiptType`. A type nobody knows is an environment of that name; `nil` without a type.
    public var environment: AppStoreEnvironment? {
        switch receiptType {
        case "Production", "ProductionVPP": .production
        case "ProductionSandbox", "ProductionVPPSandbox", "Sandbox": .sandbox
        case let type?: AppStoreEnvironment(rawValue: type)
        case nil: nil
        }
    }

    /// Whether the receipt itself has ended: exclusive, as every expiry. One without `expirationDate` never ends.
    public func isExpired(at now: Date) -> Bool { expirationDate.map { now >= $0 } ?? false }
}

extension AppReceipt {
    /// One purchase in a receipt (Apple: Receipt Fields, In-App Purchase Receipt Fields).
    public struct InAppPurchase: Hashable, Sendable {
        /// How many were bought (attribute 1701).
        public var quantity: Int?
        /// What was bought (1702).
        public var productID: ProductID?
        /// The transaction (1703).
        public var transactionID: TransactionID?
        /// When it was made; of a restored purchase, when it was restored (1704).
        public var purchaseDate: Date?
        /// The first transaction of the subscription or purchase (1705).
        public var originalTransactionID: TransactionID?
        /// When that was made (1706).
        public var originalPurchaseDate: Date?
        /// The kind of product (1707). A number that has no meaning is kept as its digits.
        public var productType: ProductType?
        /// The kind of product; `nil` for a number that has no meaning.
        package var knownType: ProductType? { productType.flatMap { $0.isKnown ? $0 : nil } }
        /// When the subscription period ends; at that instant it is over (1708).
        public var expiresDate: Date?
        /// The period of a subscription, across devices (1711).
        public var webOrderLineItemID: String?
        /// When the store took the purchase back (1712).
        public var cancellationDate: Date?
        /// Whether the period was free (1713).
        public var isTrialPeriod: Bool?
        /// Whether the period was sold at an introductory price (1719).
        public var isInIntroOfferPeriod: Bool?
        /// The promotional offer it was sold under (1721).
        public var promotionalOfferID: String?
        /// Everything else, in the order it came.
        package var otherAttributes: ReceiptAttributes

        /// With nothing in it: what a decoder fills in place, several times faster than the other.
        package init() { otherAttributes = ReceiptAttributes() }

        package init(
            quantity: Int? = nil, productID: ProductID? = nil, transactionID: TransactionID? = nil,
            purchaseDate: Date? = nil, originalTransactionID: TransactionID? = nil, originalPurchaseDate: Date? = nil,
            productType: ProductType? = nil, expiresDate: Date? = nil, webOrderLineItemID: String? = nil,
            cancellationDate: Date? = nil, isTrialPeriod: Bool? = nil, isInIntroOfferPeriod: Bool? = nil,
            promotionalOfferID: String? = nil, otherAttributes: ReceiptAttributes = []
        ) {
            self.quantity = quantity
            self.productID = productID
            self.transactionID = transactionID
            self.purchaseDate = purchaseDate
            self.originalTransactionID = originalTransactionID
            self.originalPurchaseDate = originalPurchaseDate
            self.productType = productType
            self.expiresDate = expiresDate
            self.webOrderLineItemID = webOrderLineItemID
            self.cancellationDate = cancellationDate
            self.isTrialPeriod = isTrialPeriod
            self.isInIntroOfferPeriod = isInIntroOfferPeriod
            self.promotionalOfferID = promotionalOfferID
            self.otherAttributes = otherAttributes
        }
    }
}
