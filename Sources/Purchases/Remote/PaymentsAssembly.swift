import HTTPCore

/// Puts the services of the remote plugin together.
struct PaymentsAssembly: Sendable {
    let featuresService: FeaturesService
    let subscriptionsService: SubscriptionsService
    let paidFeaturesService: PaidFeaturesService
    let publicSubscriptionsService: PublicSubscriptionsService

    init(configuration: RemotePurchasePlugin.Configuration, transport: any HTTPTransport) {
        let connection = ServiceConnection(
            settings: .init(
                baseURL: configuration.baseURL, key: .apiKeyHeader(configuration.key), timeout: configuration.timeout,
                backoff: configuration.backoff, maximumAnswerBytes: configuration.maximumAnswerBytes,
                sleep: configuration.sleep, random: configuration.random),
            transport: transport)
        featuresService = FeaturesService(connection: connection, environment: configuration.environment)
        subscriptionsService = SubscriptionsService(connection: connection, environment: configuration.environment)
        paidFeaturesService = PaidFeaturesService(features: featuresService, subscriptions: subscriptionsService)
        publicSubscriptionsService = PublicSubscriptionsService(subscriptions: subscriptionsService)
    }
}
