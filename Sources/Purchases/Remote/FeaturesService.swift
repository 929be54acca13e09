import StoreModel

/// The features that a user may use, from the backend.
struct FeaturesService: Sendable {
    let requests: CachedRequests<FeaturesResponse>

    func features(of user: UserId, ignoringCache: Bool = false) async throws -> Sourced<[FeatureInternal]> {
        try await requests.answer(to: .getFeatures(.init(customerId: user)), ignoringCache: ignoringCache).map(
            \.features)
    }
}

extension Features {
    init(_ rows: [FeatureInternal]) {
        self.init(
            features: rows.map { Feature(name: $0.feature, startDate: $0.actualFrom, endDate: $0.actualTill) })
    }
}
