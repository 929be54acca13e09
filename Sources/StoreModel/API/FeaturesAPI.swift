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

/// A feature on the wire of seed 000.
package struct FeatureInternal: Codable, Hashable, Sendable {
    package var quantity: Int
    /// The first instant; inclusive.
    package var actualFrom: Date
    /// Exclusive; absent for what does not end by itself.
    package var actualTill: Date?
    package var feature: String
    /// The subscription that gives it, by its id in `SubscriptionsResponse`.
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
