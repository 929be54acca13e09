import Primitives

/// A value of an enumeration that Apple can extend. Unknown values are kept.
public protocol OpenAppStoreValue: RawRepresentable, Hashable, Sendable, Codable, CustomStringConvertible
where RawValue: Hashable & Sendable & Codable {
    /// Creates a value from any raw value, known or unknown.
    ///
    /// - Parameter rawValue: The raw value in Apple's payloads.
    init(rawValue: RawValue)
}

extension OpenAppStoreValue {
    public var description: String { "\(rawValue)" }
}

extension OpenEnum: OpenAppStoreValue {}

/// A number from an open set that Apple can extend, with names for the known values.
///
/// `Owner` is the type that the values belong to, as in `OpenEnum`. An unknown number is kept as it is.
public struct OpenCode<Owner>: OpenAppStoreValue {
    public let rawValue: Int

    /// Creates a value, known or unknown.
    ///
    /// - Parameter rawValue: The number in Apple's payloads.
    public init(rawValue: Int) { self.rawValue = rawValue }
}

/// The store that signed a payload: the App Store, its sandbox or a development machine.
public struct AppStoreEnvironment: OpenAppStoreValue {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The App Store, where customers pay with money.
    public static let production = Self(rawValue: "Production")
    /// Apple's sandbox, for testers with sandbox accounts.
    public static let sandbox = Self(rawValue: "Sandbox")
    /// StoreKit testing in Xcode, which signs with a certificate of the development machine.
    public static let xcode = Self(rawValue: "Xcode")
    /// Local tests. A local certificate signs the payloads, as in Xcode.
    public static let localTesting = Self(rawValue: "LocalTesting")
}

/// The values of Apple's App Store Server API that occur in transactions. Type names are Apple's. The module
/// `AppStorePayloads` adds the requests and responses of that API.
public enum AppStoreServerAPI {
    /// Whether the customer bought the product, has it through Family Sharing, or has a seat of another customer's
    /// subscription.
    public typealias InAppOwnershipType = OpenEnum<StoreTransaction>

    /// Whether the customer made the purchase or a subscription renewed.
    public struct TransactionReason: OpenAppStoreValue {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The customer made the purchase.
        public static let purchase = Self(rawValue: "PURCHASE")
        /// The subscription renewed.
        public static let renewal = Self(rawValue: "RENEWAL")
    }

    /// The status of an auto-renewable subscription at the store.
    public typealias Status = OpenCode<StoreSubscriptionStatus>

    /// The kind of the offer under which a period was sold.
    public typealias OfferType = OpenCode<TransactionOffer>

    /// The way in which an offer lowers the price.
    public typealias OfferDiscountType = OpenEnum<TransactionOffer>

    /// The reason for which the store revoked a purchase.
    public typealias RevocationReason = OpenCode<StoreTransaction>
}

extension AppStoreServerAPI.InAppOwnershipType {
    /// The customer bought the product.
    public static var purchased: Self { Self(rawValue: "PURCHASED") }
    /// Another family member bought the product and shares it.
    public static var familyShared: Self { Self(rawValue: "FAMILY_SHARED") }
    /// The customer has a seat of a subscription that another customer bought for several.
    public static var assigned: Self { Self(rawValue: "ASSIGNED") }
}

extension AppStoreServerAPI.Status {
    /// The subscription is active.
    public static var active: Self { Self(rawValue: 1) }
    /// The subscription has expired.
    public static var expired: Self { Self(rawValue: 2) }
    /// A renewal failed, and the store repeats the payment.
    public static var billingRetry: Self { Self(rawValue: 3) }
    /// A renewal failed, and the subscription stays active in the grace period.
    public static var billingGracePeriod: Self { Self(rawValue: 4) }
    /// The store revoked the subscription, for example after a refund.
    public static var revoked: Self { Self(rawValue: 5) }
}

extension AppStoreServerAPI.OfferType {
    /// An offer for the first subscription in a group.
    public static var introductory: Self { Self(rawValue: 1) }
    /// An offer that the app's server signs, for current or former subscribers.
    public static var promotional: Self { Self(rawValue: 2) }
    /// An offer that the customer redeems with a code.
    public static var offerCode: Self { Self(rawValue: 3) }
    /// An offer to a customer whose subscription has expired.
    public static var winBack: Self { Self(rawValue: 4) }
}

extension AppStoreServerAPI.OfferDiscountType {
    /// The period is free.
    public static var freeTrial: Self { Self(rawValue: "FREE_TRIAL") }
    /// The customer pays a lower price for each of several periods.
    public static var payAsYouGo: Self { Self(rawValue: "PAY_AS_YOU_GO") }
    /// The customer pays once, for all periods of the offer.
    public static var payUpFront: Self { Self(rawValue: "PAY_UP_FRONT") }
    /// The customer pays once, for a product that does not renew.
    public static var oneTime: Self { Self(rawValue: "ONE_TIME") }
}

extension AppStoreServerAPI.RevocationReason {
    /// A reason other than a problem with the app.
    public static var other: Self { Self(rawValue: 0) }
    /// The customer had, or perceived, a problem with the app.
    public static var issueWithinApp: Self { Self(rawValue: 1) }
}
