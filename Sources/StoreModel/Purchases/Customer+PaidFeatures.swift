import Foundation

extension PaidFeatures {
    /// Creates the paid features from an answer of the entitlement server.
    ///
    /// - Parameter customer: The answer.
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
    /// Creates the features from an answer of the entitlement server.
    ///
    /// - Parameter customer: The answer.
    public init(_ customer: Customer) {
        self.init(
            features: customer.features.map {
                Feature(name: $0.name, startDate: $0.from, endDate: $0.end(asOf: customer.asOf))
            })
    }
}

extension CustomerFeature {
    /// The first instant without access. If a feature has begun and the answer states that it is inactive, it has
    /// ended, even if its end date is later.
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
                    currencyCode: subscription.price?.currency, managementURL: subscription.managementURL)))
    }
}

extension PaidFeature.TransactionType {
    /// Creates a type from the source of a purchase. Every source other than the App Store and Google Play becomes
    /// `web`, including grants.
    ///
    /// - Parameter source: The source.
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
    /// Creates a subscription from an answer of the entitlement server, at the instant of the answer.
    ///
    /// - Parameters:
    ///   - subscription: The subscription in the answer.
    ///   - features: The names of the features that it gives.
    public init(_ subscription: CustomerSubscription, providing features: [String] = []) {
        // A paused subscription gives no access. It becomes active again when the customer resumes it.
        let hasEnded = [.expired, .revoked, .paused].contains(subscription.state)
        self.init(
            productIdentifier: subscription.productID.rawValue, startDate: subscription.startedAt,
            endDate: subscription.effectiveUntil,
            state: hasEnded ? .expired : subscription.cancelledAt != nil ? .cancelled : .active,
            type: Origin(subscription.source), price: subscription.price?.amount,
            currencyCode: subscription.price?.currency, providedFeatures: features,
            originalTransactionID: subscription.originalTransactionID.rawValue,
            managementURL: subscription.managementURL)
    }
}

extension Subscription.Origin {
    /// Creates an origin from the source of a purchase.
    ///
    /// - Parameter source: The source.
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
