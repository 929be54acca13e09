import Foundation

/// POST `/feature-provisioner/get-features`: the request.
public struct GetFeaturesRequestPayload: Codable, Hashable, Sendable {
    public var customerId: UserId

    public init(customerId: UserId) { self.customerId = customerId }
}

/// POST `/feature-provisioner/get-features`: the answer.
public struct FeaturesResponse: Codable, Hashable, Sendable {
    public var features: [FeatureInternal]

    public init(features: [FeatureInternal]) { self.features = features }
}

/// A feature on the wire of seed 000.
public struct FeatureInternal: Codable, Hashable, Sendable {
    public var quantity: Int
    /// The first instant; inclusive.
    public var actualFrom: Date
    /// Exclusive; absent for what does not end by itself.
    public var actualTill: Date?
    public var feature: String
    /// The subscription that gives it, by its id in `SubscriptionsResponse`.
    public var lastSubscriptionId: UUID?

    public init(
        quantity: Int = 1, actualFrom: Date, actualTill: Date? = nil, feature: String, lastSubscriptionId: UUID? = nil
    ) {
        self.quantity = quantity
        self.actualFrom = actualFrom
        self.actualTill = actualTill
        self.feature = feature
        self.lastSubscriptionId = lastSubscriptionId
    }
}
