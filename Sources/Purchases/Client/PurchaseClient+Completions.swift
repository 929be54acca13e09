/// The same questions for callers that cannot be `async`. Each handler is called exactly once, through
/// `Configuration.callBack`; cancelling the task that is returned ends the waiting with `CancellationError`.
extension PurchaseClient {
    public typealias Completion<Value> = @Sendable (Result<Value, any Error>) -> Void

    @discardableResult public func setup(
        with plugins: [any PurchasePlugin], appUserId: UserId? = nil, completion: @escaping Completion<Void>
    ) -> Task<Void, Never> {
        answering(completion) { try await $0.setup(with: plugins, appUserId: appUserId) }
    }

    @discardableResult public func logIn(
        appUserId: UserId, completion: @escaping Completion<Void>
    ) -> Task<Void, Never> {
        answering(completion) { _ = try await $0.logIn(appUserId: appUserId) }
    }

    @discardableResult public func logOut(completion: @escaping Completion<Void>) -> Task<Void, Never> {
        answering(completion) { await $0.logOut() }
    }

    @discardableResult public func getFeatures(completion: @escaping Completion<Features>) -> Task<Void, Never> {
        answering(completion) { try await $0.getFeatures() }
    }

    @discardableResult public func getPaidFeatures(
        completion: @escaping Completion<PaidFeatures>
    ) -> Task<Void, Never> {
        answering(completion) { try await $0.getPaidFeatures() }
    }

    @discardableResult public func getSubscriptions(
        completion: @escaping Completion<[Subscription]>
    ) -> Task<Void, Never> {
        answering(completion) { try await $0.getSubscriptions() }
    }

    @discardableResult public func getProductsAndPricePoints(
        with identifiers: [String], completion: @escaping Completion<Set<Product>>
    ) -> Task<Void, Never> {
        answering(completion) { try await $0.getProductsAndPricePoints(with: identifiers) }
    }

    @discardableResult public func getWebPricePoints(
        with identifiers: Set<String>, completion: @escaping Completion<[WebPricePoint]>
    ) -> Task<Void, Never> {
        answering(completion) { try await $0.getWebPricePoints(with: identifiers) }
    }

    @discardableResult public func getPromotionalOffer(
        for productDiscount: ProductDiscount, product: Product, completion: @escaping Completion<PromoOffer>
    ) -> Task<Void, Never> {
        answering(completion) { try await $0.getPromotionalOffer(for: productDiscount, product: product) }
    }

    @discardableResult public func purchase(
        _ product: Product, with promoOffer: PromoOffer? = nil, completion: @escaping Completion<SuccessfulPurchase>
    ) -> Task<Void, Never> {
        answering(completion) { try await $0.purchase(product, with: promoOffer) }
    }

    @discardableResult public func restorePurchases(
        completion: @escaping Completion<RestoreResult>
    ) -> Task<Void, Never> {
        answering(completion) { try await $0.restorePurchases() }
    }

    @discardableResult public func cancelSubscription(
        with token: CancellationToken, completion: @escaping Completion<Void>
    ) -> Task<Void, Never> {
        answering(completion) { try await $0.cancelSubscription(with: token) }
    }

    @discardableResult public func sendRestoreLink(
        to email: String, completion: @escaping Completion<Void>
    ) -> Task<Void, Never> {
        answering(completion) { try await $0.sendRestoreLink(to: email) }
    }

    @discardableResult public func presentCodeRedemptionUI(
        completion: @escaping Completion<Void>
    ) -> Task<Void, Never> {
        answering(completion) { try await $0.presentCodeRedemptionUI() }
    }

    private func answering<Value: Sendable>(
        _ completion: @escaping Completion<Value>,
        _ body: @escaping @Sendable (PurchaseClient) async throws -> Value
    ) -> Task<Void, Never> {
        let callBack = configuration.callBack
        return Task {
            let result: Result<Value, any Error>
            do {
                result = .success(try await body(self))
            } catch {
                result = .failure(error)
            }
            callBack { completion(result) }
        }
    }
}
