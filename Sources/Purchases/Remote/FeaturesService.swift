import StoreModel

/// What a user may use, as the backend says it.
struct FeaturesService: Sendable {
    let connection: ServiceConnection
    let environment: StoreEnvironment?

    func features(of user: UserId) async throws -> [FeatureInternal] {
        let request = PaymentsHTTPRequest.getFeatures(.init(customerId: user))
        return try await connection.send(request.httpRequest(environment: environment))
            .decoded(FeaturesResponse.self).features
    }
}

extension Features {
    init(_ rows: [FeatureInternal]) {
        self.init(
            features: rows.map { Feature(name: $0.feature, startDate: $0.actualFrom, endDate: $0.actualTill) })
    }
}
