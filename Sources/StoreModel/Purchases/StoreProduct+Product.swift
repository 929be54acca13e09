import Foundation

extension Product {
    /// Creates a product from a product of a store.
    ///
    /// - Parameter product: The product of the store.
    public init(_ product: StoreProduct) {
        let currency = product.price.currency
        self.init(
            productIdentifier: product.id.rawValue, productType: product.kind, price: product.price.amount,
            currencyCode: currency, localizedTitle: product.displayName, localizedDescription: product.description,
            localizedPriceString: product.displayPrice, subscriptionPeriod: product.subscription?.period,
            introductoryDiscount: product.subscription?.introductoryOffer.map {
                ProductDiscount($0, type: .introductory, currency: currency)
            },
            discounts: product.subscription?.promotionalOffers.map {
                ProductDiscount($0, type: .promotional, currency: currency)
            } ?? [], localizedSubscriptionPeriod: product.subscription?.displayPeriod ?? "")
    }
}

extension ProductDiscount {
    init(_ offer: Offer, type: DiscountType, currency: String) {
        self.init(
            identifier: offer.id, type: type, paymentMode: offer.paymentMode, price: offer.price?.amount ?? 0,
            currencyCode: offer.price?.currency ?? currency, localizedPriceString: offer.displayPrice ?? "",
            subscriptionPeriod: offer.period, numberOfPeriods: offer.periodCount,
            localizedSubscriptionPeriod: offer.displayPeriod ?? "")
    }
}
