import Primitives

extension PurchaseClient {
    // MARK: - Reads from every plugin

    /// Returns the features that the user may use. If a plugin fails, its last answer for this user is used.
    ///
    /// - Returns: The features.
    /// - Throws: The first error, if no plugin has an answer, or `PurchaseError` with the code `notSetUp`.
    public func getFeatures() async throws -> Features { try await collectFeatures().value }

    /// Returns the features that the user may use.
    ///
    /// - Parameter mode: The treatment of plugins that fail.
    /// - Returns: The features.
    /// - Throws: The error of a plugin, as `mode` requires, or `PurchaseError` with the code `notSetUp`.
    public func getFeatures(_ mode: ReadMode) async throws -> Features { try await collectFeatures(mode).value }

    /// Returns the features that the user may use, with a report of each plugin.
    ///
    /// - Parameter mode: The treatment of plugins that fail; by default best effort.
    /// - Returns: The features and the reports.
    /// - Throws: The error of a plugin, as `mode` requires, or `PurchaseError` with the code `notSetUp`.
    public func collectFeatures(_ mode: ReadMode? = nil) async throws -> Collected<Features> {
        try await collect(.getFeatures, mode) { try await $0.getFeatures() }
    }

    /// Returns the features that the user paid for. If a plugin fails, its last answer for this user is used.
    ///
    /// - Returns: The paid features.
    /// - Throws: The first error, if no plugin has an answer, or `PurchaseError` with the code `notSetUp`.
    public func getPaidFeatures() async throws -> PaidFeatures { try await collectPaidFeatures().value }

    /// Returns the features that the user paid for.
    ///
    /// - Parameter mode: The treatment of plugins that fail.
    /// - Returns: The paid features.
    /// - Throws: The error of a plugin, as `mode` requires, or `PurchaseError` with the code `notSetUp`.
    public func getPaidFeatures(_ mode: ReadMode) async throws -> PaidFeatures {
        try await collectPaidFeatures(mode).value
    }

    /// Returns the features that the user paid for. The report of each plugin contains its error, and whether its last
    /// answer was used.
    ///
    /// - Parameter mode: The treatment of plugins that fail; by default best effort.
    /// - Returns: The paid features and the reports.
    /// - Throws: The error of a plugin, as `mode` requires, or `PurchaseError` with the code `notSetUp`.
    public func collectPaidFeatures(_ mode: ReadMode? = nil) async throws -> Collected<PaidFeatures> {
        try await callAndCollectPaidFeatures(mode ?? PurchaseOperation.getPaidFeatures.rule.mode) {
            try await $0.getPaidFeatures()
        }
    }

    /// Returns all subscriptions, in the order in which their plugins were registered. If two plugins report the same
    /// purchase, the first report counts.
    ///
    /// - Parameter mode: The treatment of plugins that fail.
    /// - Returns: The subscriptions.
    /// - Throws: The error of a plugin, as `mode` requires, or `PurchaseError` with the code `notSetUp`.
    public func getSubscriptions(_ mode: ReadMode) async throws -> [Subscription] {
        try await collectSubscriptions(mode).value
    }

    /// Returns all subscriptions, with a report of each plugin.
    ///
    /// - Parameter mode: The treatment of plugins that fail; by default strict.
    /// - Returns: The subscriptions and the reports.
    /// - Throws: The error of a plugin, as `mode` requires, or `PurchaseError` with the code `notSetUp`.
    public func collectSubscriptions(_ mode: ReadMode? = nil) async throws -> Collected<[Subscription]> {
        try await collect(.getSubscriptions, mode) { try await $0.getSubscriptions() }
    }

    /// Returns the products that the plugins sell.
    ///
    /// - Parameters:
    ///   - identifiers: The identifiers of the products.
    ///   - mode: The treatment of plugins that fail.
    /// - Returns: The products.
    /// - Throws: The error of a plugin, as `mode` requires, or `PurchaseError` with the code `notSetUp`.
    public func getProductsAndPricePoints(
        with identifiers: [String], _ mode: ReadMode
    ) async throws -> Set<Product> {
        try await collect(.getProductsAndPricePoints, mode) {
            try await $0.getProductsAndPricePoints(with: identifiers)
        }.value
    }

    /// Returns the price points of web shops.
    ///
    /// - Parameters:
    ///   - identifiers: The identifiers of the price points.
    ///   - mode: The treatment of plugins that fail.
    /// - Returns: The price points.
    /// - Throws: The error of a plugin, as `mode` requires, or `PurchaseError` with the code `notSetUp`.
    public func getWebPricePoints(
        with identifiers: Set<String>, _ mode: ReadMode
    ) async throws -> [WebPricePoint] {
        try await collect(.getWebPricePoints, mode) { try await $0.getWebPricePoints(with: identifiers) }.value
    }

    private func collect<Value: MergedAnswer>(
        _ operation: PurchaseOperation, _ mode: ReadMode?,
        _ call: @escaping @Sendable (any PurchasePlugin) async throws -> Value
    ) async throws -> Collected<Value> {
        try await callAndCollect(operation, mode ?? operation.rule.mode, call: call)
    }

    /// Restores earlier purchases at every plugin. If a plugin fails, the purchases that others restored count;
    /// `reports` has the errors.
    ///
    /// - Returns: The restored purchases.
    /// - Throws: The first error if nothing was restored and a plugin failed, or `PurchaseError` with the code
    ///   `notSetUp`.
    public func restorePurchases() async throws -> RestoreResult {
        let members = try members()
        let ticket = session.withLock { $0.ticket() }
        let askedAt = configuration.clock.now()
        let answers = await callWhenLoggedIn(.restorePurchases, members) { try await $0.restorePurchases() }
        for answer in answers { send(PurchaseDiagnostic(.restorePurchases, answer.report, askedAt: askedAt)) }
        try Task.checkCancellation()
        let results = answers.compactMap { try? $0.result.get() }
        let nothingToRestore = results.allSatisfy(\.nothingToRestore)
        if nothingToRestore, let error = answers.lazy.compactMap(\.error).first { throw error }
        for answer in answers {
            guard let features = try? answer.result.get().paidFeatures else { continue }
            recordGained(features, from: answer.member, ticket: ticket)
        }
        await storeAnswers()
        var seen: Set<String> = []
        return RestoreResult(
            restored: results.flatMap(\.restored).filter { seen.insert($0).inserted },
            paidFeatures: results.reduce(PaidFeatures()) { $0.merged(with: $1.paidFeatures) },
            nothingToRestore: nothingToRestore, reports: answers.map(\.report))
    }

    private func recordGained(_ features: PaidFeatures, from member: Member, ticket: PurchaseSession.Ticket) {
        let now = configuration.clock.now()
        updates.send(session.withLock { $0.record(gained: features, from: member.index, ticket: ticket, at: now) })
    }

    // MARK: - Operations of one plugin

    /// Returns the signed offer for a discount.
    ///
    /// - Parameters:
    ///   - productDiscount: The discount that the offer gives.
    ///   - product: The product that has the discount.
    /// - Returns: The signed offer.
    /// - Throws: The error of the plugin, or `PurchaseError` with the code `noSuitablePlugin` or `notSetUp`.
    public func getPromotionalOffer(
        for productDiscount: ProductDiscount, product: Product
    ) async throws -> PromoOffer {
        try await start(.getPromotionalOffer) {
            await $0.getPromotionalOffer(for: productDiscount, product: product)
        }.value
    }

    /// Buys a product at the first plugin that sells it, and adds the paid features of the other plugins to the result.
    ///
    /// The purchase is valid even if the other plugins fail. The selling plugin has no deadline. The others have
    /// `Configuration.afterPurchaseDeadline`. If one takes longer, the result contains its last answer, and
    /// `paidFeaturesUpdates` sends its new one.
    ///
    /// - Parameters:
    ///   - product: The product to buy.
    ///   - promoOffer: The signed offer, or `nil`.
    /// - Returns: The purchase and the paid features.
    /// - Throws: The error of the plugin, or `PurchaseError` with the code `noSuitablePlugin` or `notSetUp`.
    public func purchase(
        _ product: Product, with promoOffer: PromoOffer? = nil
    ) async throws -> SuccessfulPurchase {
        try await sell { await $0.purchase(product, with: promoOffer) }
    }

    /// Buys a quantity of a consumable in one payment, at the first plugin that supports the quantity. Otherwise it
    /// behaves like `purchase(_:with:)`.
    ///
    /// - Parameters:
    ///   - product: The product to buy.
    ///   - quantity: The number of units.
    /// - Returns: The purchase and the paid features.
    /// - Throws: The error of the plugin, or `PurchaseError` with the code `noSuitablePlugin` or `notSetUp`.
    public func purchase(_ product: Product, quantity: Int) async throws -> SuccessfulPurchase {
        try await sell { await $0.purchase(product, quantity: quantity) }
    }

    private func sell(
        _ buy: @escaping @Sendable (any PurchasePlugin) async -> PurchasePluginResult<SuccessfulPurchase, any Error>
    ) async throws -> SuccessfulPurchase {
        let ticket = session.withLock { $0.ticket() }
        let (purchase, seller) = try await start(.purchase, execute: buy)
        return await complete(purchase, from: seller, ticket: ticket, PurchaseOperation.purchase.rule)
    }

    /// Makes a purchase that began outside the app, at the plugin that announced it.
    func purchasePromoted(
        from seller: Member,
        _ buy: @escaping @Sendable () async -> PurchasePluginResult<SuccessfulPurchase, any Error>
    ) async throws -> SuccessfulPurchase {
        let ticket = session.withLock { $0.ticket() }
        let (purchase, _) = try await callInOrder([seller], .promotedPurchase, firstError: nil) { _ in await buy() }
        return await complete(purchase, from: seller, ticket: ticket, PurchaseOperation.promotedPurchase.rule)
    }

    private func complete(
        _ purchase: SuccessfulPurchase, from seller: Member, ticket: PurchaseSession.Ticket, _ rule: MergeRule
    ) async -> SuccessfulPurchase {
        recordGained(purchase.paidFeatures, from: seller, ticket: ticket)
        await storeAnswers()
        guard rule.after == .othersFeatures, let members = try? members() else { return purchase }
        let excluded = session.withLock { $0.awaitingLogIn.union([seller.index]) }
        let others = members.filter { !excluded.contains($0.index) }
        await refreshPaidFeatures(of: others)
        var purchase = purchase
        purchase.paidFeatures = session.withLock { session in
            others.compactMap { session.paidFeatures(of: $0, ticket: ticket) }
                .reduce(purchase.paidFeatures) { $0.merged(with: $1) }
        }
        return purchase
    }

    /// Updates the paid features of plugins. Returns when all have answered, after `afterPurchaseDeadline`, or when the
    /// caller is cancelled. Later answers reach `paidFeaturesUpdates`.
    private func refreshPaidFeatures(of members: [Member]) async {
        guard !members.isEmpty else { return }
        let refresh = runInBackground { [self] in
            await withTaskGroup(of: Void.self) { group in
                for member in members {
                    group.addTask { [self] in
                        _ = try? await callAndCollectPaidFeatures(.bestEffort, of: [member]) {
                            // The purchase can change the answers of other plugins, so their caches are outdated.
                            await $0.invalidatePaidFeaturesCache()
                            return try await $0.getPaidFeatures()
                        }
                    }
                }
            }
        }
        try? await Deadline.answer(
            within: configuration.afterPurchaseDeadline, sleep: configuration.sleep, of: "other plugins"
        ) { await refresh.value }
    }

    /// Turns off renewal at the plugin that the token names.
    ///
    /// - Parameter token: The token of the subscription.
    /// - Throws: The error of the plugin, or `PurchaseError` with the code `noSuitablePlugin` or `notSetUp`.
    public func cancelSubscription(with token: CancellationToken) async throws {
        _ = try await start(.cancelSubscription) { await $0.cancelSubscription(with: token) }
    }

    /// Sends the customer an email with which they can restore their purchases.
    ///
    /// - Parameter email: The address of the customer.
    /// - Throws: The error of the plugin, or `PurchaseError` with the code `noSuitablePlugin` or `notSetUp`.
    public func sendRestoreLink(to email: String) async throws {
        _ = try await start(.sendRestoreLink) { await $0.sendRestoreLink(to: email) }
    }

    /// Presents the sheet for offer codes and returns when it is closed. `paidFeaturesUpdates` sends the new features.
    ///
    /// - Throws: The error of the plugin, or `PurchaseError` with the code `noSuitablePlugin` or `notSetUp`.
    public func presentCodeRedemptionUI() async throws {
        _ = try await start(.presentCodeRedemptionUI) { await $0.presentCodeRedemptionUI() }
    }

    // MARK: - Operations of every plugin

    /// Passes attributes of the user to every plugin.
    ///
    /// - Parameter attributes: The values by name; `nil` removes a value.
    /// - Throws: `PurchaseError` with the code `notSetUp`.
    public func setAttributes(_ attributes: [PurchaseAttribute: String?]) async throws {
        try await broadcast(.setAttributes) { await $0.setAttributes(attributes) }
    }

    /// Allows every plugin to identify the device, after the customer has agreed.
    ///
    /// - Throws: `PurchaseError` with the code `notSetUp`.
    public func collectDeviceIdentifiers() async throws {
        try await broadcast(.collectDeviceIdentifiers) { await $0.collectDeviceIdentifiers() }
    }

    /// Clears the caches of every plugin, so that the next answers come from their systems. The last answers still
    /// count while a system cannot be reached. Does nothing before setup.
    public func invalidatePaidFeaturesCache() async {
        try? await broadcast(.invalidatePaidFeaturesCache) { await $0.invalidatePaidFeaturesCache() }
    }

    private func broadcast(
        _ operation: PurchaseOperation, _ call: @escaping @Sendable (any PurchasePlugin) async -> Void
    ) async throws {
        _ = await callAll(operation, try members(), call)
    }
}
