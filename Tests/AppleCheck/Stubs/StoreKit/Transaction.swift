import AppKit
import Foundation
import UIKit

/// https://developer.apple.com/documentation/storekit/verificationresult
@frozen public enum VerificationResult<SignedType> {
    case unverified(SignedType, VerificationError)
    case verified(SignedType)

    /// …/verificationresult/verificationerror
    public enum VerificationError: Error, Sendable {
        case invalidSignature
    }

    public var unsafePayloadValue: SignedType { declared() }
}

/// https://developer.apple.com/documentation/storekit/verificationresult
extension VerificationResult: Sendable where SignedType: Sendable {}

/// https://developer.apple.com/documentation/storekit/verificationresult
extension VerificationResult: Equatable where SignedType: Equatable {}

/// https://developer.apple.com/documentation/storekit/verificationresult
extension VerificationResult: Hashable where SignedType: Hashable {}

/// https://developer.apple.com/documentation/storekit/verificationresult/jwsrepresentation-21vgo
extension VerificationResult where SignedType == Transaction {
    public var jwsRepresentation: String { declared() }
}

/// https://developer.apple.com/documentation/storekit/verificationresult/jwsrepresentation-178oj
extension VerificationResult where SignedType == Product.SubscriptionInfo.RenewalInfo {
    public var jwsRepresentation: String { declared() }
}

/// https://developer.apple.com/documentation/storekit/verificationresult/jwsrepresentation-6ma59
@available(iOS 16.0, macOS 13.0, tvOS 16.0, watchOS 9.0, visionOS 1.0, *)
extension VerificationResult where SignedType == AppTransaction {
    public var jwsRepresentation: String { declared() }
}

/// https://developer.apple.com/documentation/storekit/transaction
public struct Transaction: Identifiable, Hashable, Sendable {
    public let id: UInt64
    public let originalID: UInt64
    public let productID: String
    public let productType: Product.ProductType
    public let subscriptionGroupID: String?
    public let purchaseDate: Date
    public let originalPurchaseDate: Date
    public let expirationDate: Date?
    public let purchasedQuantity: Int
    public let isUpgraded: Bool
    // …/transaction/ownershiptype-swift.property
    public let ownershipType: OwnershipType
    public let revocationDate: Date?
    // …/transaction/revocationreason-swift.property
    public let revocationReason: RevocationReason?
    public let appAccountToken: UUID?
    // …/transaction/reason-swift.property
    public let reason: Reason
    // …/transaction/offer-swift.property
    @available(iOS 17.2, macOS 14.2, tvOS 17.2, watchOS 10.2, visionOS 1.1, *)
    public var offer: Offer? { declared() }
    public var subscriptionStatus: Product.SubscriptionInfo.Status? { get async { declared() } }

    public func finish() async { declared() }

    // …/transaction/beginrefundrequest(for:in:)-65tph, with a scene of iOS, Mac Catalyst or visionOS
    @MainActor public static func beginRefundRequest(
        for transactionID: UInt64, in scene: UIWindowScene
    ) async throws -> RefundRequestStatus { declared() }
    // …/transaction/beginrefundrequest(for:in:)-9mscy, with a controller of macOS
    public static func beginRefundRequest(
        for transactionID: UInt64, in controller: NSViewController
    ) async throws -> RefundRequestStatus { declared() }

    public static func latest(for productID: String) async -> VerificationResult<Transaction>? { declared() }
    public static var updates: Transactions { declared() }
    public static var unfinished: Transactions { declared() }
    public static var currentEntitlements: Transactions { declared() }
    public static var all: Transactions { declared() }

    /// …/transaction/transactions
    public struct Transactions: AsyncSequence, Sendable {
        public typealias Element = VerificationResult<Transaction>
        public struct AsyncIterator: AsyncIteratorProtocol {
            public mutating func next() async -> VerificationResult<Transaction>? { declared() }
        }
        public func makeAsyncIterator() -> AsyncIterator { declared() }
    }

    /// …/transaction/refundrequeststatus
    public enum RefundRequestStatus: Sendable {
        case success
        case userCancelled
    }

    /// …/transaction/refundrequesterror
    public enum RefundRequestError: Error, Sendable {
        case duplicateRequest
        case failed
    }

    /// …/transaction/ownershiptype-swift.struct
    public struct OwnershipType: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        public static let purchased = OwnershipType(rawValue: "")
        public static let familyShared = OwnershipType(rawValue: "")
    }

    /// …/transaction/revocationreason-swift.struct
    public struct RevocationReason: RawRepresentable, Hashable, Sendable {
        public let rawValue: Int
        public init(rawValue: Int) { self.rawValue = rawValue }
    }

    /// …/transaction/reason-swift.struct
    public struct Reason: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        public static let purchase = Reason(rawValue: "")
        public static let renewal = Reason(rawValue: "")
    }

    /// …/transaction/offertype-swift.struct
    public struct OfferType: RawRepresentable, Hashable, Sendable {
        public let rawValue: Int
        public init(rawValue: Int) { self.rawValue = rawValue }
    }

    /// …/transaction/offer-swift.struct
    public struct Offer: Hashable, Sendable {
        public let type: OfferType
        public let id: String?
        // …/transaction/offer-swift.struct/paymentmode-swift.property
        public let paymentMode: PaymentMode?
        /// …/transaction/offer-swift.struct/paymentmode-swift.struct
        public struct PaymentMode: RawRepresentable, Hashable, Sendable {
            public let rawValue: String
            public init(rawValue: String) { self.rawValue = rawValue }
            public static let freeTrial = PaymentMode(rawValue: "")
            public static let payAsYouGo = PaymentMode(rawValue: "")
            public static let payUpFront = PaymentMode(rawValue: "")
        }
    }
}
