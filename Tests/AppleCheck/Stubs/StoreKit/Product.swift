import AppKit
import Foundation
import UIKit

/// https://developer.apple.com/documentation/storekit/product
public struct Product: Identifiable, Hashable, Sendable {
    public let id: String
    public let type: ProductType
    public let displayName: String
    public let description: String
    public let price: Decimal
    public let displayPrice: String
    public let isFamilyShareable: Bool
    public let subscription: SubscriptionInfo?
    public var priceFormatStyle: Decimal.FormatStyle.Currency { declared() }
    public var subscriptionPeriodFormatStyle: Date.ComponentsFormatStyle { declared() }

    public static func products<Identifiers: Collection>(for identifiers: Identifiers) async throws -> [Product]
    where Identifiers.Element == String { declared() }

    // …/product/purchase(options:), which visionOS does not have
    @MainActor public func purchase(options: Set<PurchaseOption> = []) async throws -> PurchaseResult { declared() }

    // …/product/purchase(confirmin:options:)-6dj6y, which iOS, Mac Catalyst, tvOS and visionOS have
    @MainActor public func purchase(
        confirmIn scene: some UIScene, options: Set<PurchaseOption> = []
    ) async throws -> PurchaseResult { declared() }

    // …/product/purchase(confirmin:options:), with a window of macOS
    @available(macOS 15.2, *)
    @MainActor public func purchase(
        confirmIn window: NSWindow, options: Set<PurchaseOption> = []
    ) async throws -> PurchaseResult { declared() }

    public static func == (left: Product, right: Product) -> Bool { declared() }
    public func hash(into hasher: inout Hasher) { declared() }

    /// …/product/producttype
    public struct ProductType: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        // …/product/producttype/consumable, nonconsumable, nonrenewable, autorenewable
        public static let consumable = ProductType(rawValue: "")
        public static let nonConsumable = ProductType(rawValue: "")
        public static let nonRenewable = ProductType(rawValue: "")
        public static let autoRenewable = ProductType(rawValue: "")
    }

    /// …/product/purchaseresult
    public enum PurchaseResult: Sendable {
        case success(VerificationResult<Transaction>)
        case userCancelled
        case pending
    }

    /// …/product/purchaseerror
    public enum PurchaseError: Error, Sendable {
        case invalidQuantity
        case productUnavailable
        case purchaseNotAllowed
        case ineligibleForOffer
        case invalidOfferIdentifier
        case invalidOfferPrice
        case invalidOfferSignature
        case missingOfferParameters
    }

    /// …/product/purchaseoption
    public struct PurchaseOption: Hashable, Sendable {
        public static func appAccountToken(_ token: UUID) -> PurchaseOption { declared() }
        public static func quantity(_ quantity: Int) -> PurchaseOption { declared() }
        public static func simulatesAskToBuyInSandbox(_ simulateAskToBuy: Bool) -> PurchaseOption { declared() }
        public static func promotionalOffer(
            offerID: String, keyID: String, nonce: UUID, signature: Data, timestamp: Int
        ) -> PurchaseOption { declared() }
        // …/product/purchaseoption/promotionaloffer(_:compactjws:), deployed back to every version
        public static func promotionalOffer(_ offerID: String, compactJWS: String) -> [PurchaseOption] { declared() }
        // …/product/purchaseoption/introductoryoffereligibility(compactjws:), deployed back to every version
        public static func introductoryOfferEligibility(compactJWS: String) -> PurchaseOption { declared() }
        @available(iOS 18.0, macOS 15.0, tvOS 18.0, watchOS 11.0, visionOS 2.0, *)
        public static func winBackOffer(_ offer: SubscriptionOffer) -> PurchaseOption { declared() }
    }
}

/// https://developer.apple.com/documentation/storekit/product/subscriptionperiod
extension Product {
    public struct SubscriptionPeriod: Hashable, Sendable {
        // …/product/subscriptionperiod/unit-swift.property
        public let unit: Unit
        public let value: Int
        // …/product/subscriptionperiod/formatted(_:referencedate:)-3t7wd
        public func formatted<S: FormatStyle>(_ format: S, referenceDate: Date = .now) -> S.FormatOutput
        where S.FormatInput == Range<Date> { declared() }

        /// …/product/subscriptionperiod/unit-swift.enum
        public enum Unit: Hashable, Sendable {
            case day
            case week
            case month
            case year
        }
    }
}

/// https://developer.apple.com/documentation/storekit/product/subscriptionoffer
extension Product {
    public struct SubscriptionOffer: Hashable, Sendable {
        public let id: String?
        public let price: Decimal
        public let displayPrice: String
        public let period: SubscriptionPeriod
        public let periodCount: Int
        // …/product/subscriptionoffer/paymentmode-swift.property
        public let paymentMode: PaymentMode

        /// …/product/subscriptionoffer/paymentmode-swift.struct
        public struct PaymentMode: RawRepresentable, Hashable, Sendable {
            public let rawValue: String
            public init(rawValue: String) { self.rawValue = rawValue }
            public static let payAsYouGo = PaymentMode(rawValue: "")
            public static let payUpFront = PaymentMode(rawValue: "")
            public static let freeTrial = PaymentMode(rawValue: "")
        }
    }
}

/// https://developer.apple.com/documentation/storekit/product/subscriptioninfo
extension Product {
    public struct SubscriptionInfo: Hashable, Sendable {
        public let subscriptionGroupID: String
        public let subscriptionPeriod: SubscriptionPeriod
        public let introductoryOffer: SubscriptionOffer?
        public let promotionalOffers: [SubscriptionOffer]
        @available(iOS 18.0, macOS 15.0, tvOS 18.0, watchOS 11.0, visionOS 2.0, *)
        public var winBackOffers: [SubscriptionOffer] { declared() }
        public var groupDisplayName: String { declared() }
        public var groupLevel: Int { declared() }
        public static func isEligibleForIntroOffer(for groupID: String) async -> Bool { declared() }

        /// …/product/subscriptioninfo/renewalinfo
        public struct RenewalInfo: Hashable, Sendable {}

        /// …/product/subscriptioninfo/renewalstate
        public struct RenewalState: RawRepresentable, Hashable, Sendable {
            public let rawValue: Int
            public init(rawValue: Int) { self.rawValue = rawValue }
            // …/renewalstate/subscribed, expired, inbillingretryperiod, ingraceperiod, revoked
            public static let subscribed = RenewalState(rawValue: 0)
            public static let expired = RenewalState(rawValue: 0)
            public static let inBillingRetryPeriod = RenewalState(rawValue: 0)
            public static let inGracePeriod = RenewalState(rawValue: 0)
            public static let revoked = RenewalState(rawValue: 0)
        }

        /// …/product/subscriptioninfo/status-swift.struct
        public struct Status: Hashable, Sendable {
            public let state: RenewalState
            public let transaction: VerificationResult<Transaction>
            public let renewalInfo: VerificationResult<RenewalInfo>
            public static var updates: Statuses { declared() }
            @available(iOS 17.0, macOS 14.0, tvOS 17.0, watchOS 10.0, visionOS 1.0, *)
            public static var all: AsyncStream<(groupID: String, statuses: [Status])> { declared() }

            /// …/status-swift.struct/statuses
            public struct Statuses: AsyncSequence, Sendable {
                public typealias Element = Status
                public struct AsyncIterator: AsyncIteratorProtocol {
                    public mutating func next() async -> Status? { declared() }
                }
                public func makeAsyncIterator() -> AsyncIterator { declared() }
            }
        }
    }
}

// A part of Foundation that Linux does not have.

/// https://developer.apple.com/documentation/foundation/date/componentsformatstyle
extension Date.ComponentsFormatStyle: @retroactive FormatStyle {
    public typealias FormatInput = Range<Date>
    public typealias FormatOutput = String
    public func format(_ v: Range<Date>) -> String { declared() }
}
