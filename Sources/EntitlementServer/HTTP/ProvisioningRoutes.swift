import Foundation
import HTTPCore
import StoreModel

/// The endpoints in the formats of Palta: POST `/feature-provisioner/get-features` and
/// `/subscriptions-tracker/get-subscriptions`.
///
/// The formats have neither inactive features nor expired subscriptions. So inactive features are left out, and an
/// expired subscription appears as a cancelled one whose period has ended. The id of a subscription is the name-based
/// UUID of its original transaction. The tags of a subscription name its source and its original transaction, and mark
/// a trial.
struct ProvisioningRoutes: Sendable {
    private static let maximumBody = 256 << 10

    let ledger: Ledger

    var endpoints: [Endpoint<ServerHandler>] {
        [
            Endpoint(
                .post, "/feature-provisioner/get-features", "getFeatures", "List the active features of a customer",
                tag: .provisioning, body: .init(.getFeatures), answer: .features,
                handler: .authorized(.publicKey, by: .apiKeyOrBearer) { context in
                    answer(context, GetFeaturesRequestPayload.self, about: \.customerId) { customer, _ in
                        FeaturesResponse(customer)
                    }
                }),
            Endpoint(
                .post, "/subscriptions-tracker/get-subscriptions", "getSubscriptions",
                "List the subscriptions of a customer", tag: .provisioning, body: .init(.getSubscriptions),
                answer: .subscriptions,
                handler: .authorized(.publicKey, by: .apiKeyOrBearer) { context in
                    answer(context, GetSubscriptionsRequestPayload.self, about: \.customerId) { customer, asked in
                        SubscriptionsResponse(customer, only: asked.onlyIds.map(Set.init))
                    }
                }),
        ]
    }

    private func answer<Asked: Decodable & Sendable>(
        _ context: RequestContext, _ type: Asked.Type, about user: @escaping @Sendable (Asked) -> UserId,
        _ make: @escaping @Sendable (Customer, Asked) -> any Encodable & Sendable
    ) -> HTTPReply {
        context.later {
            let body = try await RequestBody.bytes(of: context.request, upTo: Self.maximumBody)
            let asked = try RequestBody.decode(type, from: body)
            guard let id = user(asked).customerID else {
                throw Refusal.invalid("customerId/value", "should have \(CustomerID.rule)")
            }
            let answer = try await ledger.answer(try context.key(of: id))
            let customer = try WireJSON.decode(Customer.self, from: answer.bytes)
            return HTTPResponse(
                status: 200, headers: ["Content-Type": "application/json"],
                body: .bytes(try WireJSON.encode(make(customer, asked))))
        }
    }
}

extension FeaturesResponse {
    init(_ customer: Customer) {
        let subscriptions = Set(customer.subscriptions.map(\.originalTransactionID))
        self.init(
            features: customer.features.filter(\.isActive).map { feature in
                let original = feature.originalTransactionID
                let purchase = customer.purchases.first { $0.originalTransactionID == original }
                return FeatureInternal(
                    quantity: purchase?.quantity ?? 1, actualFrom: feature.from, actualTill: feature.effectiveUntil,
                    feature: feature.name,
                    lastSubscriptionId: original.flatMap { subscriptions.contains($0) ? $0.subscriptionUUID : nil })
            })
    }
}

extension SubscriptionsResponse {
    init(_ customer: Customer, only ids: Set<UUID>?) {
        self.init(
            subscriptions: customer.subscriptions.compactMap { subscription in
                let id = subscription.originalTransactionID.subscriptionUUID
                guard ids?.contains(id) ?? true else { return nil }
                let features = customer.features.filter {
                    $0.originalTransactionID == subscription.originalTransactionID
                }
                return SubscriptionInternal(subscription, id: id, features: features)
            })
    }
}

extension SubscriptionInternal {
    fileprivate init(_ subscription: CustomerSubscription, id: UUID, features: [CustomerFeature]) {
        let isOver = [.expired, .revoked, .inBillingRetry, .paused].contains(subscription.state)
        let ended = isOver ? subscription.revokedAt ?? subscription.effectiveUntil : nil
        let cancelled = subscription.cancelledAt ?? ended
        var tags: [Tag] = subscription.isTrial ? [.trial] : []
        tags += [
            Tag(rawValue: "source:\(subscription.source.rawValue)"),
            .originalTransactionID(subscription.originalTransactionID),
        ]
        self.init(
            id: id, state: cancelled == nil ? .active : .canceled, createdAt: subscription.startedAt,
            canceledAt: cancelled, currentPeriodStartAt: features.first?.from ?? subscription.startedAt,
            currentPeriodEndAt: subscription.effectiveUntil, tags: tags,
            pricePoint: PricePoint(subscription, features: features))
    }
}

extension SubscriptionInternal.PricePoint {
    /// A transaction has one price: the introductory or the recurring one.
    fileprivate init(_ subscription: CustomerSubscription, features: [CustomerFeature]) {
        let price = subscription.price.map { "\($0.amount)" }
        let isFirst = subscription.isTrial || subscription.isIntroductory
        self.init(
            ident: subscription.productID.rawValue, services: features.map { Service(featureIdent: $0.name) },
            currencyCode: subscription.price?.currency ?? "", nextTotalPrice: isFirst ? nil : price,
            introTotalPrice: price ?? "0")
    }
}
