import Foundation

extension PaidFeatures {
    /// What the entitlement server says a customer paid for.
    public init(_ customer: Customer) {
        let subscriptions = Dictionary(
            customer.subscriptions.map { ($0.originalTransactionID, $0) }, uniquingKeysWith: { first, _ in first })
        self.init(
            features: customer.features.map { feature in
                PaidFeature(
                    name: feature.name, productIdentifier: feature.productID?.rawValue,
                    originalTransactionID: feature.originalTransactionID?.rawValue,
                    paymentType: .init(
                        feature, subscription: feature.originalTransactionID.flatMap { subscriptions[$0] },
                        asOf: customer.asOf),
                    transactionType: .init(feature.source), authority: .server)
            })
    }
}

extension Features {
    /// What the entitlement server says a customer may use.
    public init(_ customer: Customer) {
        self.init(
            features: customer.features.map {
                Feature(name: $0.name, startDate: $0.from, endDate: $0.end(asOf: customer.asOf))
            })
    }
}

extension CustomerFeature {
    /// The first instant without access. What the server calls inactive is over, whatever its dates say, unless it has
    /// yet to begin.
    fileprivate func end(asOf: Date) -> Date? {
        guard !isActive, from <= asOf else { return effectiveUntil }
        return min(effectiveUntil ?? asOf, asOf)
    }
}

extension PaidFeature.PaymentType {
    fileprivate init(_ feature: CustomerFeature, subscription: CustomerSubscription?, asOf: Date) {
        let end = feature.end(asOf: asOf)
        guard let subscription else {
            self = end.map { .until($0) } ?? .oneOff
            return
        }
        self = .subscription(
            .init(
                current: .init(
                    startDate: feature.from, endDate: end ?? subscription.effectiveUntil,
                    cancellationDate: subscription.cancelledAt, isTrial: subscription.isTrial,
                    isIntroductory: subscription.isIntroductory, price: subscription.price?.amount,
                    currencyCode: subscription.price?.currency)))
    }
}

extension PaidFeature.TransactionType {
    /// Everything that is not a device's store was given on the web, grants included.
    public init(_ source: PurchaseSource) {
        self =
            switch source {
            case .appStore: .appStore
            case .googlePlay: .googlePlay
            default: .web
            }
    }
}

extension Subscription {
    /// A subscription as the entitlement server states it, at the instant of its answer.
    public init(_ subscription: CustomerSubscription, providing features: [String] = []) {
        let hasEnded = [.expired, .revoked].contains(subscription.state)
        self.init(
            productIdentifier: subscription.productID.rawValue, startDate: subscription.startedAt,
            endDate: subscription.effectiveUntil,
            state: hasEnded ? .expired : subscription.cancelledAt != nil ? .cancelled : .active,
            type: Origin(subscription.source), price: subscription.price?.amount,
            currencyCode: subscription.price?.currency, providedFeatures: features,
            originalTransactionID: subscription.originalTransactionID.rawValue)
    }
}

extension Subscription.Origin {
    public init(_ source: PurchaseSource) {
        self =
            switch source {
            case .appStore: .apple
            case .googlePlay: .android
            case .web, .grant: .web
            default: .other
            }
    }
}
