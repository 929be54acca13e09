/// Operations of the client with completion handlers, for callers that are not asynchronous. Each handler is called
/// once, through `Configuration.callBack`. If you cancel the returned task, the handler receives `CancellationError`;
/// only a log-out continues.
extension PurchaseClient {
    /// A handler of a result.
    public typealias Completion<Value> = @Sendable (Result<Value, any Error>) -> Void

    /// Calls `setup(with:appUserId:)`.
    ///
    /// - Parameters:
    ///   - plugins: The plugins, in the order of precedence.
    ///   - appUserId: The user to log in, or `nil`.
    ///   - completion: The handler of the result.
    /// - Returns: The task of the operation.
    @discardableResult public func setup(
        with plugins: [any PurchasePlugin], appUserId: UserId? = nil, completion: @escaping Completion<Void>
    ) -> Task<Void, Never> {
        answering(completion) { try await $0.setup(with: plugins, appUserId: appUserId) }
    }

    /// Calls `logIn(appUserId:)`.
    ///
    /// - Parameters:
    ///   - appUserId: The user to log in.
    ///   - completion: The handler of the result.
    /// - Returns: The task of the operation.
    @discardableResult public func logIn(
        appUserId: UserId, completion: @escaping Completion<Void>
    ) -> Task<Void, Never> {
        answering(completion) { _ = try await $0.logIn(appUserId: appUserId) }
    }

    /// Calls `logOut()`.
    ///
    /// - Parameter completion: The handler of the result.
    /// - Returns: The task of the operation.
    @discardableResult public func logOut(completion: @escaping Completion<Void>) -> Task<Void, Never> {
        answering(completion) { await $0.logOut() }
    }

    /// Calls `getFeatures()`.
    ///
    /// - Parameter completion: The handler of the result.
    /// - Returns: The task of the operation.
    @discardableResult public func getFeatures(completion: @escaping Completion<Features>) -> Task<Void, Never> {
        answering(completion) { try await $0.getFeatures() }
    }

    /// Calls `getPaidFeatures()`.
    ///
    /// - Parameter completion: The handler of the result.
    /// - Returns: The task of the operation.
    @discardableResult public func getPaidFeatures(
        completion: @escaping Completion<PaidFeatures>
    ) -> Task<Void, Never> {
        answering(completion) { try await $0.getPaidFeatures() }
    }

    /// Calls `getSubscriptions()`.
    ///
    /// - Parameter completion: The handler of the result.
    /// - Returns: The task of the operation.
    @discardableResult public func getSubscriptions(
        completion: @escaping Completion<[Subscription]>
    ) -> Task<Void, Never> {
        answering(completion) { try await $0.getSubscriptions() }
    }

    /// Calls `getProductsAndPricePoints(with:)`.
    ///
    /// - Parameters:
    ///   - identifiers: The identifiers of the products.
    ///   - completion: The handler of the result.
    /// - Returns: The task of the operation.
    @discardableResult public func getProductsAndPricePoints(
        with identifiers: [String], completion: @escaping Completion<Set<Product>>
    ) -> Task<Void, Never> {
        answering(completion) { try await $0.getProductsAndPricePoints(with: identifiers) }
    }

    /// Calls `getWebPricePoints(with:)`.
    ///
    /// - Parameters:
    ///   - identifiers: The identifiers of the price points.
    ///   - completion: The handler of the result.
    /// - Returns: The task of the operation.
    @discardableResult public func getWebPricePoints(
        with identifiers: Set<String>, completion: @escaping Completion<[WebPricePoint]>
    ) -> Task<Void, Never> {
        answering(completion) { try await $0.getWebPricePoints(with: identifiers) }
    }

    /// Calls `getPromotionalOffer(for:product:)`.
    ///
    /// - Parameters:
    ///   - productDiscount: The discount that the offer gives.
    ///   - product: The product that has the discount.
    ///   - completion: The handler of the result.
    /// - Returns: The task of the operation.
    @discardableResult public func getPromotionalOffer(
        for productDiscount: ProductDiscount, product: Product, completion: @escaping Completion<PromoOffer>
    ) -> Task<Void, Never> {
        answering(completion) { try await $0.getPromotionalOffer(for: productDiscount, product: product) }
    }

    /// Calls `purchase(_:with:)`.
    ///
    /// - Parameters:
    ///   - product: The product to buy.
    ///   - promoOffer: The signed offer, or `nil`.
    ///   - completion: The handler of the result.
    /// - Returns: The task of the operation.
    @discardableResult public func purchase(
        _ product: Product, with promoOffer: PromoOffer? = nil, completion: @escaping Completion<SuccessfulPurchase>
    ) -> Task<Void, Never> {
        answering(completion) { try await $0.purchase(product, with: promoOffer) }
    }

    /// Calls `restorePurchases()`.
    ///
    /// - Parameter completion: The handler of the result.
    /// - Returns: The task of the operation.
    @discardableResult public func restorePurchases(
        completion: @escaping Completion<RestoreResult>
    ) -> Task<Void, Never> {
        answering(completion) { try await $0.restorePurchases() }
    }

    /// Calls `cancelSubscription(with:)`.
    ///
    /// - Parameters:
    ///   - token: The token of the subscription.
    ///   - completion: The handler of the result.
    /// - Returns: The task of the operation.
    @discardableResult public func cancelSubscription(
        with token: CancellationToken, completion: @escaping Completion<Void>
    ) -> Task<Void, Never> {
        answering(completion) { try await $0.cancelSubscription(with: token) }
    }

    /// Calls `sendRestoreLink(to:)`.
    ///
    /// - Parameters:
    ///   - email: The address of the customer.
    ///   - completion: The handler of the result.
    /// - Returns: The task of the operation.
    @discardableResult public func sendRestoreLink(
        to email: String, completion: @escaping Completion<Void>
    ) -> Task<Void, Never> {
        answering(completion) { try await $0.sendRestoreLink(to: email) }
    }

    /// Calls `presentCodeRedemptionUI()`.
    ///
    /// - Parameter completion: The handler of the result.
    /// - Returns: The task of the operation.
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
