import Foundation
import GooglePlay
import Primitives
import StoreModel

/// A purchase on the simulated Google Play. Its token identifies it.
enum PlayPurchase: Codable, Sendable, Hashable {
    case product(PlayProductPurchase)
    case subscription(PlaySubscription)

    var info: PlayPurchaseInfo {
        get {
            switch self {
            case .product(let purchase): purchase.info
            case .subscription(let purchase): purchase.info
            }
        }
        set {
            switch self {
            case .product(var purchase):
                purchase.info = newValue
                self = .product(purchase)
            case .subscription(var purchase):
                purchase.info = newValue
                self = .subscription(purchase)
            }
        }
    }

    /// The instant of the next change that time causes.
    var nextChange: Date? { [ownChange, reviewDeadline].compactMap(\.self).min() }

    private var ownChange: Date? {
        switch self {
        case .product(let purchase): purchase.nextChange
        case .subscription(let purchase): purchase.nextChange
        }
    }

    private var reviewDeadline: Date? { info.review.flatMap { $0.isDecided ? nil : $0.deadline } }

    /// Performs the change that is due at `nextChange`.
    mutating func step() -> [PlayEffect] {
        if let deadline = reviewDeadline, deadline <= ownChange ?? .distantFuture { return decideReview(at: deadline) }
        switch self {
        case .product(var purchase):
            defer { self = .product(purchase) }
            return purchase.step()
        case .subscription(var purchase):
            defer { self = .subscription(purchase) }
            return purchase.step()
        }
    }

    /// Ends the review of a chargeback. If the developer asked to decline it, Google disputes it with success; otherwise
    /// the bank takes the payment back.
    private mutating func decideReview(at instant: Date) -> [PlayEffect] {
        guard var review = info.review else { return [] }
        review.isDecided = true
        info.review = review
        return review.preference == .decline ? [] : chargeBack(review.orderID, at: instant)
    }

    /// Takes the payment of an order back, as a bank does. The purchase ends.
    mutating func chargeBack(_ order: String, at instant: Date) -> [PlayEffect] {
        switch self {
        case .product(var purchase):
            defer { self = .product(purchase) }
            return purchase.void(at: instant, source: 0, reason: 7, chargeback: true)
        case .subscription(var purchase) where !purchase.isEnded:
            defer { self = .subscription(purchase) }
            return purchase.revoke(at: instant, by: .system, voided: (0, 7), chargeback: true, order: order)
        case .subscription:
            var refund = PlayRefund(order, at: instant, voided: (0, 7))
            refund.reason = .chargeback
            return [.refund(refund)]
        }
    }
}

/// The review of a chargeback by the developer, before Google decides.
struct PlayRefundReview: Codable, Sendable, Hashable {
    /// Identifies the review in Google's API.
    var token: String
    var orderID: String
    /// The instant of the decision.
    var deadline: Date
    /// The developer's first answer.
    var preference: AndroidPublisher.RefundPreference?
    var isDecided = false

    static let length: TimeInterval = 24 * 3600

    init(of order: String, of purchase: PlayPurchaseInfo, at instant: Date) {
        token = Base64.encodeURL(SHA256.hash(Array("play refund review \(purchase.token) \(order)".utf8)))
        orderID = order
        deadline = instant.addingTimeInterval(Self.length).wholeMilliseconds
    }
}

/// The members that every purchase has.
struct PlayPurchaseInfo: Codable, Sendable, Hashable {
    var token: String
    var account: Int64
    var regionCode: String
    var productID: ProductID
    var title: String
    /// The id of the first order; the orders of renewals have it as their prefix.
    var orderID: String
    var obfuscatedAccountID: String?
    var obfuscatedProfileID: String?
    var isTest = false
    var developerPayload: String?
    var isAcknowledged = false
    /// The instant at which the purchase is refunded unless it is acknowledged before; `nil` while it is pending.
    var acknowledgeBy: Date?
    /// The latest review of a chargeback.
    var review: PlayRefundReview?

    /// The time for an acknowledgement.
    static let acknowledgementTime: TimeInterval = 3 * 86400

    /// Sets the time for an acknowledgement. A prepaid plan of less than a week has half of its duration.
    mutating func begin(at instant: Date, prepaidLength: TimeInterval? = nil) {
        let short = prepaidLength.flatMap { $0 < 7 * 86400 ? $0 / 2 : nil }
        acknowledgeBy = instant.addingTimeInterval(short ?? Self.acknowledgementTime).wholeMilliseconds
    }

    /// Acknowledges the purchase. Does nothing if it is acknowledged already.
    mutating func acknowledge(_ payload: String?) {
        guard !isAcknowledged else { return }
        isAcknowledged = true
        if let payload { developerPayload = payload }
    }
}

/// A consequence of a change of a purchase, which the caller writes in the same transaction.
enum PlayEffect: Sendable, Hashable {
    /// A new order.
    case order(AndroidPublisher.Order)
    /// The refund of an order, or of a share of its total.
    case refund(PlayRefund)
    /// A notification about the subscription.
    case subscriptionEvent(DeveloperNotification.SubscriptionEvent, at: Date)
    /// A notification about the one-time product: 1 purchased, 2 cancelled.
    case productEvent(Int, at: Date)
    /// A notification about a chargeback that the developer can review.
    case reviewRequested(PlayRefundReview, at: Date)
}

/// A refund of an order.
struct PlayRefund: Sendable, Hashable {
    var orderID: String
    var at: Date
    var reason = AndroidPublisher.RefundReason.other
    /// The refunded part of the quantity; `nil` for all of it.
    var quantity: Int?
    /// The refunded share of the total, as a numerator and a denominator.
    var numerator: Int64 = 1
    var denominator: Int64 = 1
    /// The initiator and the reason of the voided purchase, as in `VoidedPurchase`; `nil` if the purchase continues.
    var voided: (source: Int, reason: Int)? {
        get { voidedSource.map { ($0, voidedReason) } }
        set {
            voidedSource = newValue?.source
            voidedReason = newValue?.reason ?? 0
        }
    }

    private var voidedSource: Int?
    private var voidedReason = 0

    init(_ orderID: String, at instant: Date, voided: (source: Int, reason: Int)? = nil) {
        self.orderID = orderID
        at = instant
        self.voided = voided
    }
}

/// The reason why an action on a purchase is not possible.
struct PlayRefusal: Error, Hashable {
    /// The reason in Google's error response.
    var reason: String
    /// A sentence that says what is wrong.
    var message: String

    init(_ reason: String, _ message: String) {
        self.reason = reason
        self.message = message
    }
}

extension Date {
    /// The milliseconds since 1970, in Google's form.
    var playMilliseconds: Int64Text { Int64Text(Int64((timeIntervalSince1970 * 1000 + 0.0005).rounded(.down))) }
}

extension PlayPurchase {
    /// Whether an imported purchase has periods that the catalogue allows, so that time changes it in steps of at least
    /// a day.
    var isReadable: Bool {
        guard case .subscription(let purchase) = self else { return true }
        let terms = purchase.terms
        return terms.period.isSellable
            && terms.phases.allSatisfy { $0.duration.isSellable && (1...1000).contains($0.count) }
            && (0...60).contains(terms.graceDays) && (0...60).contains(terms.holdDays)
            && (0...1000).contains(terms.committedPayments)
    }
}
