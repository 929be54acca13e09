/// The kind of a product, from an open set: an unknown kind is kept.
public struct ProductType: RawRepresentable, Hashable, Sendable, Codable, CaseIterable {
    public let rawValue: String
    /// Creates a kind, known or unknown.
    ///
    /// - Parameter rawValue: The name, for example `consumable`.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// A product that is used up and can be bought again.
    public static let consumable = ProductType(rawValue: "consumable")
    /// A product that is bought once and does not expire.
    public static let nonConsumable = ProductType(rawValue: "nonConsumable")
    /// A subscription that renews until the customer or the store ends it.
    public static let autoRenewableSubscription = ProductType(rawValue: "autoRenewableSubscription")
    /// A subscription that lasts for a period and does not renew.
    public static let nonRenewingSubscription = ProductType(rawValue: "nonRenewingSubscription")
    /// Another name of ``nonRenewingSubscription``.
    public static let nonRenewableSubscription = nonRenewingSubscription
    /// Another name of ``autoRenewableSubscription``.
    public static let renewableSubscription = autoRenewableSubscription

    /// The four kinds that stores sell.
    public static let allCases = [consumable, nonConsumable, nonRenewingSubscription, autoRenewableSubscription]

    /// Whether the product lasts for a period.
    public var isSubscription: Bool { self == .autoRenewableSubscription || self == .nonRenewingSubscription }

    /// Whether the kind is one of `allCases`.
    package var isKnown: Bool { Self.allCases.contains(self) }
}

extension ProductType {
    private static let appleTexts: [(ProductType, String)] = [
        (.consumable, "Consumable"), (.nonConsumable, "Non-Consumable"),
        (.autoRenewableSubscription, "Auto-Renewable Subscription"),
        (.nonRenewingSubscription, "Non-Renewing Subscription"),
    ]

    /// Creates a kind from Apple's `type` in signed transactions, for example `Auto-Renewable Subscription`. A string
    /// that Apple does not use becomes the raw value.
    ///
    /// - Parameter text: The value of the transaction's `type`.
    public init(apple text: String) {
        self = Self.appleTexts.first { $0.1 == text }?.0 ?? ProductType(rawValue: text)
    }

    /// The kind in Apple's spelling in signed transactions.
    public var appleText: String { Self.appleTexts.first { $0.0 == self }?.1 ?? rawValue }

    /// The kinds in the order of Apple's numbers.
    private static let inReceipts = [
        nonConsumable, consumable, nonRenewingSubscription, autoRenewableSubscription,
    ]

    /// Creates a kind from the number in an app receipt (1707). The digits of an unknown number become the raw value.
    package init(receiptNumber number: Int) {
        self = Self.inReceipts.indices.contains(number) ? Self.inReceipts[number] : ProductType(rawValue: "\(number)")
    }

    /// The number in an app receipt, or `nil` if receipts have none for this kind.
    package var receiptNumber: Int? { Self.inReceipts.firstIndex(of: self) ?? Int(rawValue) }
}
