import Foundation
import GooglePlay
import Primitives
import SimulatorControl
import StoreModel

/// The catalogue and the orders of Google Play, for testers.
extension SimulatedAppStore {
    /// Returns what is sold in a country, by default in that of the catalogue. Throws `SimulatorError` (`notNow`).
    package func playProducts(in region: String? = nil) throws -> StoreControlWire.PlayProducts {
        let catalogue = try requireGooglePlay().catalogue
        let region = region ?? catalogue.regionCode
        return StoreControlWire.PlayProducts(
            regionCode: region,
            products: catalogue.products.compactMap { $0.described(in: region) }
                + catalogue.subscriptions.compactMap { $0.described(in: region) })
    }

    /// Returns the orders of an account's purchases, oldest first. Throws `SimulatorError` (`unknownAccount`, `notNow`).
    package func playOrders(of name: AccountName) async throws -> [StoreControlWire.PlayOrder] {
        try await readPlayDatabase { records, _ in
            try records.orders(of: try records.db.existingAccount(name).id).map(\.described)
        }
    }
}

extension PlayProduct {
    /// Returns the product with its options; `nil` if none is sold in the region.
    fileprivate func described(in region: String) -> StoreControlWire.PlayProduct? {
        var wire = StoreControlWire.PlayProduct(productID: id, title: title, kind: "product")
        let sold = options.compactMap { option -> StoreControlWire.PlayOption? in
            guard option.isActive, let price = option.prices.price(in: region) else { return nil }
            var sold = StoreControlWire.PlayOption(
                purchaseOptionID: option.id, price: Price(price), allowsSeveral: option.allowsSeveral)
            sold.offers = offers.filter { $0.isActive && $0.optionID == option.id }.compactMap { offer in
                offer.prices.price(in: region).map {
                    .init(offerID: offer.id, price: Price($0), startTime: offer.start, endTime: offer.end)
                }
            }
            return sold
        }
        wire.options = sold
        return sold.isEmpty ? nil : wire
    }
}

extension PlaySubscriptionProduct {
    /// Returns the subscription with its base plans and offers; `nil` if no base plan is sold in the region.
    fileprivate func described(in region: String) -> StoreControlWire.PlayProduct? {
        var wire = StoreControlWire.PlayProduct(productID: id, title: title, kind: "subscription")
        let plans = basePlans.compactMap { plan in PlayTerms(plan, nil, in: region).map { (plan, $0) } }
        wire.basePlans = plans.map { _, terms in
            .init(
                basePlanID: terms.basePlanID, kind: terms.kind.rawValue, period: terms.period,
                price: Price(terms.price),
                committedPayments: terms.kind == .installments ? terms.committedPayments : nil)
        }
        wire.offers = offers.compactMap { offer in
            guard let (plan, _) = plans.first(where: { $0.0.id.hasSameBytes(as: offer.basePlanID) }),
                let terms = PlayTerms(plan, offer, in: region)
            else { return nil }
            return .init(
                offerID: offer.id, basePlanID: plan.id,
                phases: terms.phases.map { .init(duration: $0.duration, count: $0.count, price: Price($0.price)) })
        }
        return plans.isEmpty ? nil : wire
    }
}

extension AndroidPublisher.Order {
    fileprivate var described: StoreControlWire.PlayOrder {
        let item = lineItems?.first
        let period = item?.subscriptionDetails
        return StoreControlWire.PlayOrder(
            orderID: orderId ?? "", purchaseToken: purchaseToken ?? "",
            productID: ProductID(unchecked: item?.productId ?? ""), state: state?.rawValue ?? "",
            at: createTime ?? .distantPast, total: Price(total ?? .zero("")),
            quantity: item?.oneTimePurchaseDetails?.quantity, phase: period?.offerPhase,
            from: period?.servicePeriodStartTime, until: period?.servicePeriodEndTime,
            refundedAt: orderHistory?.refundEvent?.eventTime ?? orderHistory?.partialRefundEvents?.last?.processTime)
    }
}

extension Price {
    init(_ money: AndroidPublisher.Money) { self.init(amount: money.amount, currency: money.currencyCode) }
}
