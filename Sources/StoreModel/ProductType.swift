/// The kind of a product. An open set: a kind that this version does not know is kept.
public struct ProductType: RawRepresentable, Hashable, Sendable, Codable, CaseIterable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    public static let consumable = ProductType(rawValue: "consumable")
    public static let nonConsumable = ProductType(rawValue: "nonConsumable")
    public static let autoRenewableSubscription = ProductType(rawValue: "autoRenewableSubscription")
    public static let nonRenewingSubscription = ProductType(rawValue: "nonRenewingSubscription")
    /// The name in seed 000 of `nonRenewingSubscription`.
    public static let nonRenewableSubscription = nonRenewingSubscription
    /// The name in seed 001 of `autoRenewableSubscription`.
    public static let renewableSubscription = autoRenewableSubscription

    /// The four kinds that stores sell.
    public static let allCases = [consumable, nonConsumable, nonRenewingSubscription, autoRenewableSubscription]

    /// Whether it lasts for a period.
    public var isSubscription: Bool { self == .autoRenewableSubscription || self == .nonRenewingSubscription }

    /// Whether it is one of `allCases`.
    package var isKnown: Bool { Self.allCases.contains(self) }
}

// MARK: - The spellings of others

extension ProductType {
    private static let appleTexts: [(ProductType, String)] = [
        (.consumable, "Consumable"), (.nonConsumable, "Non-Consumable"),
        (.autoRenewableSubscription, "Auto-Renewable Subscription"),
        (.nonRenewingSubscription, "Non-Renewing Subscription"),
    ]

    /// From Apple's `type` in signed transactions, for example `Auto-Renewable Subscription`.
    public init(apple text: String) {
        self = Self.appleTexts.first { $0.1 == text }?.0 ?? ProductType(rawValue: text)
    }

    /// Apple's spelling in signed transactions.
    public var appleText: String { Self.appleTexts.first { $0.0 == self }?.1 ?? rawValue }

    /// In the order of Apple's numbers.
    private static let inReceipts = [
        nonConsumable, consumable, nonRenewingSubscription, autoRenewableSubscription,
    ]

    /// From the number in an app receipt (1707). A number without a meaning is kept as its digits.
    package init(receiptNumber number: Int) {
        self = Self.inReceipts.indices.contains(number) ? Self.inReceipts[number] : ProductType(rawValue: "\(number)")
    }

    /// The number in an app receipt; `nil` for a kind that receipts have none for.
    package var receiptNumber: Int? { Self.inReceipts.firstIndex(of: self) ?? Int(rawValue) }
}
