import HTTPCore
import StoreModel

/// The services of the remote plugin.
struct PaymentsAssembly: Sendable {
    let featuresService: FeaturesService
    let subscriptionsService: SubscriptionsService
    let paidFeaturesService: PaidFeaturesService
    let publicSubscriptionsService: PublicSubscriptionsService
    let showcaseService: ShowcaseService

    init(
        configuration: RemotePurchasePlugin.Configuration, transport: any HTTPTransport,
        report: @escaping @Sendable (RemoteAnswer) -> Void
    ) {
        let connection = ServiceConnection(
            settings: .init(
                baseURL: configuration.baseURL, otherURLs: configuration.otherURLs,
                key: .apiKeyHeader(configuration.key), timeout: configuration.timeout, backoff: configuration.backoff,
                maximumAnswerBytes: configuration.maximumAnswerBytes, sleep: configuration.sleep,
                random: configuration.random,
                answerRequirements: .init(
                    verifier: configuration.answerVerifier, isRequired: configuration.requiresSignedAnswers,
                    tolerance: configuration.signatureTolerance, clock: configuration.signatureClock,
                    makeNonce: configuration.makeNonce)),
            transport: transport)
        let (freshness, isInBackground) = (configuration.freshness, configuration.isInBackground)
        let context = RemoteContext(
            connection: connection, environment: configuration.environment, pluginName: configuration.name,
            clock: configuration.clock,
            freshness: { isInBackground() ? freshness.background : freshness.foreground }, report: report)
        featuresService = FeaturesService(requests: CachedRequests(context))
        subscriptionsService = SubscriptionsService(requests: CachedRequests(context))
        paidFeaturesService = PaidFeaturesService(features: featuresService, subscriptions: subscriptionsService)
        publicSubscriptionsService = PublicSubscriptionsService(subscriptions: subscriptionsService)
        showcaseService = ShowcaseService(requests: CachedRequests(context), locale: configuration.locale)
    }

    /// Removes all cached answers, so that the next requests go to the backend.
    func removeAnswers() {
        featuresService.requests.removeAll()
        subscriptionsService.requests.removeAll()
        showcaseService.requests.removeAll()
    }
}
