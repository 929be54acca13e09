import Foundation

/// POST `/feature-provisioner/get-features`: the request.
package struct GetFeaturesRequestPayload: Codable, Hashable, Sendable {
    package var customerId: UserId

    package init(customerId: UserId) { self.customerId = customerId }
}

/// POST `/feature-provisioner/get-features`: the answer.
package struct FeaturesResponse: Codable, Hashable, Sendable {
    package var features: [FeatureInternal]

    package init(features: [FeatureInternal]) { self.features = features }
}

/// A feature in the answer of `/feature-provisioner/get-features`.
package struct FeatureInternal: Codable, Hashable, Sendable {
    package var quantity: Int
    /// The first instant of access; for a subscription, the start of its current period.
    package var actualFrom: Date
    /// The end of access, exclusive, or `nil` if access does not end.
    package var actualTill: Date?
    package var feature: String
    /// The subscription that gives the feature, by its id in `SubscriptionsResponse`.
    package var lastSubscriptionId: UUID?

    package init(
        quantity: Int = 1, actualFrom: Date, actualTill: Date? = nil, feature: String, lastSubscriptionId: UUID? = nil
    ) {
        self.quantity = quantity
        self.actualFrom = actualFrom
        self.actualTill = actualTill
        self.feature = feature
        self.lastSubscriptionId = lastSubscriptionId
    }
}
