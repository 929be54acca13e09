import Primitives

/// A value of an enumeration that Apple may extend. Unknown values are kept.
public protocol OpenAppStoreValue: RawRepresentable, Hashable, Sendable, Codable, CustomStringConvertible
where RawValue: Hashable & Sendable & Codable {
    /// Takes any value, known or not.
    init(rawValue: RawValue)
}

extension OpenAppStoreValue {
    public var description: String { "\(rawValue)" }
}

extension OpenEnum: OpenAppStoreValue {}

/// One value of an open set of numbers that Apple may extend: a number, with names for the values that are known.
///
/// `Owner` is the type that the values belong to, as in `OpenEnum`. A number that is not known is kept as it is.
public struct OpenCode<Owner>: OpenAppStoreValue {
    public let rawValue: Int

    /// Creates a value, known or unknown.
    public init(rawValue: Int) { self.rawValue = rawValue }
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
    public typealias InAppOwnershipType = OpenEnum<StoreTransaction>

    /// Whether the customer purchased, or a subscription renewed itself.
    public struct TransactionReason: OpenAppStoreValue {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        public static let purchase = Self(rawValue: "PURCHASE")
        public static let renewal = Self(rawValue: "RENEWAL")
    }

    /// The state of an auto-renewable subscription as the store sees it.
    public typealias Status = OpenCode<StoreSubscriptionStatus>

    /// The kind of offer a period was sold under.
    public typealias OfferType = OpenCode<TransactionOffer>

    /// How an offer lowers the price.
    public typealias OfferDiscountType = OpenEnum<TransactionOffer>

    /// The reason for which the store took a purchase back.
    public typealias RevocationReason = OpenCode<StoreTransaction>
}

extension AppStoreServerAPI.InAppOwnershipType {
    public static var purchased: Self { Self(rawValue: "PURCHASED") }
    public static var familyShared: Self { Self(rawValue: "FAMILY_SHARED") }
}

extension AppStoreServerAPI.Status {
    public static var active: Self { Self(rawValue: 1) }
    public static var expired: Self { Self(rawValue: 2) }
    public static var billingRetry: Self { Self(rawValue: 3) }
    public static var billingGracePeriod: Self { Self(rawValue: 4) }
    public static var revoked: Self { Self(rawValue: 5) }
}

extension AppStoreServerAPI.OfferType {
    public static var introductory: Self { Self(rawValue: 1) }
    public static var promotional: Self { Self(rawValue: 2) }
    public static var offerCode: Self { Self(rawValue: 3) }
    public static var winBack: Self { Self(rawValue: 4) }
}

extension AppStoreServerAPI.OfferDiscountType {
    public static var freeTrial: Self { Self(rawValue: "FREE_TRIAL") }
    public static var payAsYouGo: Self { Self(rawValue: "PAY_AS_YOU_GO") }
    public static var payUpFront: Self { Self(rawValue: "PAY_UP_FRONT") }
    public static var oneTime: Self { Self(rawValue: "ONE_TIME") }
}

extension AppStoreServerAPI.RevocationReason {
    public static var other: Self { Self(rawValue: 0) }
    public static var issueWithinApp: Self { Self(rawValue: 1) }
}
