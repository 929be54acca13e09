import AppKit
import Foundation
import UIKit

/// https://developer.apple.com/documentation/storekit/appstore
public enum AppStore {
    public static var canMakePayments: Bool { declared() }
    public static func sync() async throws { declared() }
    // …/appstore/presentoffercoderedeemsheet(in:), which iOS, Mac Catalyst and visionOS have
    @MainActor public static func presentOfferCodeRedeemSheet(in scene: UIWindowScene) async throws { declared() }
    @available(macOS 15.0, *)
    @MainActor public static func presentOfferCodeRedeemSheet(from controller: NSViewController) async throws {
        declared()
    }
    // …/appstore/showmanagesubscriptions(in:), which iOS, Mac Catalyst and visionOS have
    @MainActor public static func showManageSubscriptions(in scene: UIWindowScene) async throws { declared() }
    // …/appstore/showmanagesubscriptions(in:subscriptiongroupid:), which iOS, Mac Catalyst and visionOS have
    @available(iOS 17.0, visionOS 1.0, *)
    @MainActor public static func showManageSubscriptions(
        in scene: UIWindowScene, subscriptionGroupID: String
    ) async throws { declared() }
}

/// https://developer.apple.com/documentation/storekit/apptransaction
@available(iOS 16.0, macOS 13.0, tvOS 16.0, watchOS 9.0, visionOS 1.0, *)
public struct AppTransaction: Hashable, Sendable {
    public static var shared: VerificationResult<AppTransaction> { get async throws { declared() } }
}

/// https://developer.apple.com/documentation/storekit/storefront
public struct Storefront: Identifiable, Equatable, Sendable {
    public let id: String
    public let countryCode: String
    // …/storefront/currency, deployed back to iOS 17 and macOS 14
    public var currency: Locale.Currency? { declared() }
    public static var current: Storefront? { get async { declared() } }
    public static var updates: Storefronts { declared() }

    /// …/storefront/storefronts
    public struct Storefronts: AsyncSequence, Sendable {
        public typealias Element = Storefront
        public struct AsyncIterator: AsyncIteratorProtocol {
            public mutating func next() async -> Storefront? { declared() }
        }
        public func makeAsyncIterator() -> AsyncIterator { declared() }
    }
}

/// https://developer.apple.com/documentation/storekit/message
public struct Message: Hashable, Sendable {
    // …/message/reason-swift.property
    public let reason: Reason
    // …/message/messages-swift.type.property
    public static var messages: Messages { declared() }
    @MainActor public func display(in scene: UIWindowScene) throws { declared() }

    /// …/message/reason-swift.struct
    public struct Reason: RawRepresentable, Hashable, Sendable {
        public let rawValue: Int
        public init(rawValue: Int) { self.rawValue = rawValue }
        public static let generic = Reason(rawValue: 0)
        public static let priceIncreaseConsent = Reason(rawValue: 1)
        public static let billingIssue = Reason(rawValue: 2)
        @available(iOS 18.0, visionOS 2.0, *)
        public static let winBackOffer = Reason(rawValue: 3)
    }

    /// …/message/messages-swift.struct
    public struct Messages: AsyncSequence, Sendable {
        public typealias Element = Message
        public struct AsyncIterator: AsyncIteratorProtocol {
            public mutating func next() async -> Message? { declared() }
        }
        public func makeAsyncIterator() -> AsyncIterator { declared() }
    }
}

/// https://developer.apple.com/documentation/storekit/purchaseintent
@available(iOS 16.4, macOS 14.4, *)
public struct PurchaseIntent: Sendable {
    public let product: Product
    @available(iOS 18.0, macOS 15.0, *)
    public var offer: Product.SubscriptionOffer? { declared() }
    public static var intents: PurchaseIntents { declared() }

    /// …/purchaseintent/purchaseintents
    public struct PurchaseIntents: AsyncSequence, Sendable {
        public typealias Element = PurchaseIntent
        public struct AsyncIterator: AsyncIteratorProtocol {
            public mutating func next() async -> PurchaseIntent? { declared() }
        }
        public func makeAsyncIterator() -> AsyncIterator { declared() }
    }
}

/// https://developer.apple.com/documentation/storekit/storekiterror
public enum StoreKitError: Error, Sendable {
    case unknown
    case userCancelled
    case networkError(URLError)
    case systemError(any Error)
    case notAvailableInStorefront
    case notEntitled
}

func declared() -> Never { preconditionFailure("This module is for the type checker alone.") }
