/// A value of an enumeration that Apple may extend. Unknown values are kept.
public protocol OpenAppStoreValue: RawRepresentable, Hashable, Sendable, Codable, CustomStringConvertible
where RawValue: Hashable & Sendable & Codable {
    /// Takes any value, known or not.
    init(rawValue: RawValue)
}

extension OpenAppStoreValue {
    public var description: String { "\(rawValue)" }
}

/// Which App Store signed something: the real one, its sandbox, or a development machine.
public struct AppStoreEnvironment: OpenAppStoreValue {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    public static let production = Self(rawValue: "Production")
    public static let sandbox = Self(rawValue: "Sandbox")
    public static let xcode = Self(rawValue: "Xcode")
    public static let localTesting = Self(rawValue: "LocalTesting")
}

/// Values of Apple's App Store Server API that transactions have. Type names are Apple's. The module `AppStorePayloads` adds
/// the requests and responses of that API.
public enum AppStoreServerAPI {
    /// Whether the customer bought it or has it from their family.
    public struct InAppOwnershipType: OpenAppStoreValue {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        public static let purchased = Self(rawValue: "PURCHASED")
        public static let familyShared = Self(rawValue: "FAMILY_SHARED")
    }

    /// Whether the customer purchased, or a subscription renewed itself.
    public struct TransactionReason: OpenAppStoreValue {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        public static let purchase = Self(rawValue: "PURCHASE")
        public static let renewal = Self(rawValue: "RENEWAL")
    }

    /// The state of an auto-renewable subscription as the store sees it.
    public struct Status: OpenAppStoreValue {
        public let rawValue: Int
        public init(rawValue: Int) { self.rawValue = rawValue }

        public static let active = Self(rawValue: 1)
        public static let expired = Self(rawValue: 2)
        public static let billingRetry = Self(rawValue: 3)
        public static let billingGracePeriod = Self(rawValue: 4)
        public static let revoked = Self(rawValue: 5)
    }

    /// The kind of offer a period was sold under.
    public struct OfferType: OpenAppStoreValue {
        public let rawValue: Int
        public init(rawValue: Int) { self.rawValue = rawValue }

        public static let introductory = Self(rawValue: 1)
        public static let promotional = Self(rawValue: 2)
        public static let offerCode = Self(rawValue: 3)
        public static let winBack = Self(rawValue: 4)
    }

    /// How an offer lowers the price.
    public struct OfferDiscountType: OpenAppStoreValue {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        public static let freeTrial = Self(rawValue: "FREE_TRIAL")
        public static let payAsYouGo = Self(rawValue: "PAY_AS_YOU_GO")
        public static let payUpFront = Self(rawValue: "PAY_UP_FRONT")
        public static let oneTime = Self(rawValue: "ONE_TIME")
    }

    /// The reason for which the store took a purchase back.
    public struct RevocationReason: OpenAppStoreValue {
        public let rawValue: Int
        public init(rawValue: Int) { self.rawValue = rawValue }

        public static let other = Self(rawValue: 0)
        public static let issueWithinApp = Self(rawValue: 1)
    }
}
