import Foundation
import GooglePlay
import StoreModel

/// The rules for a purchase that replaces a subscription: an upgrade or downgrade, a top-up, or a new purchase of a
/// cancelled subscription.
extension PlaySubscription.Replacement {
    /// Throws `PlayRefusal` if the subscription cannot be replaced by these terms in this mode.
    init(
        of old: PlaySubscription, by product: ProductID, _ terms: PlayTerms, mode: AndroidPublisher.ReplacementMode?,
        at instant: Date
    ) throws(PlayRefusal) {
        token = old.info.token
        productID = old.info.productID
        basePlanID = old.terms.basePlanID
        offerID = old.terms.offerID
        guard old.deferredItem == nil else {
            throw PlayRefusal(
                "invalidSubscriptionState", "The subscription waits for a deferred replacement; another one is refused."
            )
        }
        guard !old.isEnded, old.state != .pending else {
            throw PlayRefusal("invalidSubscriptionState", "The subscription to be replaced has ended or is pending.")
        }
        guard old.terms.price.currencyCode == terms.price.currencyCode else {
            throw PlayRefusal("invalidValue", "The subscription to be replaced has another currency.")
        }
        let rest = max(0, old.paidUntil.timeIntervalSince(instant))
        if old.terms.kind == .prepaid, terms.kind == .prepaid, old.info.productID == product {
            guard mode == nil || mode == .chargeFullPrice, old.terms.allowsExtension else {
                throw PlayRefusal("invalidValue", "A top-up needs a plan that can be extended, and no other mode.")
            }
            end = terms.period.end(from: max(old.paidUntil, instant))
            return
        }
        guard let mode else {
            // A new purchase of a cancelled subscription begins after the time that is paid.
            guard old.state == .canceled, old.info.productID == product else {
                throw PlayRefusal("invalidValue", "The replacement needs a replacementMode.")
            }
            end = terms.period.end(from: old.paidUntil)
            return
        }
        self.mode = mode
        let zero = AndroidPublisher.Money.zero(terms.price.currencyCode)
        switch mode {
        case .withTimeProration:
            payment = zero
            end = instant.addingTimeInterval(Self.credit(rest, of: old, in: terms, at: instant))
        case .withoutProration:
            payment = zero
            end = max(old.paidUntil, instant)
        case .chargeFullPrice:
            let first = PlayPeriod().duration(in: terms).end(from: instant)
            end = first.addingTimeInterval(Self.credit(rest, of: old, in: terms, at: instant))
        case .chargeProratedPrice:
            payment = try Self.difference(rest, old, terms, at: instant)
            end = max(old.paidUntil, instant)
        case .deferred:
            guard old.state == .active || old.state == .canceled, old.terms.kind != .prepaid, terms.kind != .prepaid
            else {
                throw PlayRefusal(
                    "invalidValue", "DEFERRED is for an active subscription and for plans that renew automatically.")
            }
            end = max(old.paidUntil, instant)
            deferredItem = PlaySubscription.DeferredItem(terms: old.terms, orderID: old.latestOrderID)
        default: throw PlayRefusal("invalidValue", "The replacement mode is not one of Google's.")
        }
    }

    /// The time for which the unused value of the old period pays at the new price, in whole milliseconds. The time of a
    /// free period has no value.
    private static func credit(
        _ rest: TimeInterval, of old: PlaySubscription, in terms: PlayTerms, at instant: Date
    ) -> TimeInterval {
        let oldPrice = Double(old.period.price(in: old.terms).billionths)
        guard terms.price.billionths > 0, oldPrice > 0, old.state == .active || old.state == .canceled else { return 0 }
        let oldLength = Double(old.periodLength) / 1000
        let value = oldPrice * min(1, rest / oldLength)
        let time = value / Double(terms.price.billionths) * terms.length(from: instant)
        return (min(time, 10 * 366 * 86400) * 1000).rounded(.down) / 1000
    }

    /// The price of the new plan for the rest of the old period, less the unused value.
    private static func difference(
        _ rest: TimeInterval, _ old: PlaySubscription, _ terms: PlayTerms, at instant: Date
    ) throws(PlayRefusal) -> AndroidPublisher.Money {
        func part(_ price: AndroidPublisher.Money, _ length: Int64) -> AndroidPublisher.Money? {
            price.share(min(Int64(rest * 1000), length), of: length)
        }
        let newLength = max(1, Int64(terms.length(from: instant) * 1000))
        guard let due = part(terms.price, newLength),
            let unused = part(old.period.price(in: old.terms), old.periodLength),
            let payment = due.subtracting(unused), payment.billionths > 0
        else {
            throw PlayRefusal(
                "invalidValue", "CHARGE_PRORATED_PRICE is only for a plan with a higher price for the same time.")
        }
        return payment
    }
}
