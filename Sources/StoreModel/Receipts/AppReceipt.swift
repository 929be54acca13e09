import Foundation

/// The content of an app receipt: the app and its version, the device, and the purchases in the app (Apple: Receipt
/// Fields).
///
/// The value itself proves nothing. `SignedData` verifies the signed receipt and decodes it.
///
/// Attributes with a documented meaning are properties. All others, and those with an unexpected value, are in
/// `otherAttributes` unchanged. An empty value counts as missing. Of several attributes with the same number, the first
/// one that is not empty counts; the others are in `otherAttributes`.
public struct AppReceipt: Hashable, Sendable {
    /// The kind of store that made the receipt, in Apple's words (attribute 0): `Production`, `ProductionVPP`,
    /// `ProductionSandbox`, `ProductionVPPSandbox` or `Xcode`.
    public var receiptType: String?
    /// The bundle identifier of the app (2).
    public var bundleID: BundleID?
    /// The version of the app (3): `CFBundleVersion` on iOS, `CFBundleShortVersionString` on macOS.
    public var appVersion: String?
    /// The version that the customer downloaded first (19). It is `1.0` in the sandbox.
    public var originalAppVersion: String?
    /// The date on which the receipt was made (12).
    public var creationDate: Date?
    /// The date on which the receipt expires (21), for apps of the Volume Purchase Program.
    public var expirationDate: Date?
    /// Random bytes that are part of `sha1Hash` (4).
    public var opaqueValue: [UInt8]?
    /// The SHA-1 of the device's identifier, `opaqueValue` and the attribute with the bundle identifier (5). It binds
    /// the receipt to one device.
    public var sha1Hash: [UInt8]?
    /// The purchases in the app (17, one attribute for each).
    public var inAppPurchases: [InAppPurchase]
    /// All other attributes, in their original order.
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

    /// The store that signed the receipt, from `receiptType`. An unknown type becomes an environment with the same
    /// name. `nil` without a type.
    public var environment: AppStoreEnvironment? {
        switch receiptType {
        case "Production", "ProductionVPP": .production
        case "ProductionSandbox", "ProductionVPPSandbox", "Sandbox": .sandbox
        case let type?: AppStoreEnvironment(rawValue: type)
        case nil: nil
        }
    }

    /// Returns whether the receipt has expired at an instant. It has expired from `expirationDate` on. A receipt without
    /// `expirationDate` never expires.
    ///
    /// - Parameter now: The instant.
    /// - Returns: Whether the receipt has expired.
    public func isExpired(at now: Date) -> Bool { expirationDate.map { now >= $0 } ?? false }
}

extension AppReceipt {
    /// A purchase in a receipt (Apple: Receipt Fields, In-App Purchase Receipt Fields).
    public struct InAppPurchase: Hashable, Sendable {
        /// The number of units that were bought (attribute 1701).
        public var quantity: Int?
        /// The product that was bought (1702).
        public var productID: ProductID?
        /// The transaction (1703).
        public var transactionID: TransactionID?
        /// The date of the purchase (1704). For a restored purchase it is the date of the restore.
        public var purchaseDate: Date?
        /// The original transaction of the subscription or purchase (1705).
        public var originalTransactionID: TransactionID?
        /// The date of the original transaction (1706).
        public var originalPurchaseDate: Date?
        /// The kind of the product (1707). An unknown number becomes a type whose name is its digits.
        public var productType: ProductType?
        /// The kind of the product, or `nil` for an unknown number.
        package var knownType: ProductType? { productType.flatMap { $0.isKnown ? $0 : nil } }
        /// The end of the subscription period, exclusive (1708).
        public var expiresDate: Date?
        /// The id of a subscription period, the same on all devices (1711).
        public var webOrderLineItemID: String?
        /// The date on which the store revoked the purchase, or on which the customer upgraded from it (1712).
        public var cancellationDate: Date?
        /// Whether the period is a free trial (1713).
        public var isTrialPeriod: Bool?
        /// Whether the period has an introductory price (1719).
        public var isInIntroOfferPeriod: Bool?
        /// The promotional offer under which the product was sold (1721).
        public var promotionalOfferID: String?
        /// All other attributes, in their original order.
        package var otherAttributes: ReceiptAttributes

        /// Creates an empty purchase. A decoder fills it in place, which is several times faster than the other initialiser.
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
