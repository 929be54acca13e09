import Primitives

extension PurchaseClient {
    // MARK: - Questions to every plugin

    /// What the user may use. Best effort: a plugin that fails is represented by what it said last to the same user.
    public func getFeatures() async throws -> Features { try await collectFeatures(.bestEffort).value }

    public func getFeatures(_ mode: ReadMode) async throws -> Features { try await collectFeatures(mode).value }

    /// Like `getFeatures`, with a report per plugin.
    public func collectFeatures(_ mode: ReadMode = .bestEffort) async throws -> Collected<Features> {
        try await callAndCollectFeatures(mode)
    }

    /// What the user paid for. Best effort: a plugin that fails is represented by what it said last to the same user.
    public func getPaidFeatures() async throws -> PaidFeatures { try await collectPaidFeatures(.bestEffort).value }

    public func getPaidFeatures(_ mode: ReadMode) async throws -> PaidFeatures {
        try await collectPaidFeatures(mode).value
    }

    /// Like `getPaidFeatures`, with a report per plugin: who failed, and whether its last answer was used.
    public func collectPaidFeatures(_ mode: ReadMode = .bestEffort) async throws -> Collected<PaidFeatures> {
        try await callAndCollectPaidFeatures(mode) { try await $0.getPaidFeatures() }
    }

    /// All subscriptions, in the order of registration of who sold them.
    public func getSubscriptions(_ mode: ReadMode) async throws -> [Subscription] {
        try await callAndCollect(mode) { try await $0.getSubscriptions() }.flatMap { $0 }
    }

    /// The products among `identifiers` that any plugin sells.
    public func getProductsAndPricePoints(
        with identifiers: [String], _ mode: ReadMode
    ) async throws -> Set<Product> {
        try await callAndCollect(mode) { try await $0.getProductsAndPricePoints(with: identifiers) }
            .reduce(into: []) { $0.formUnion($1) }
    }

    /// Asks every plugin to bring back earlier purchases.
    ///
    /// What was restored stands, whoever else failed; `reports` says who. Throws the first error when nothing was
    /// restored and not everybody could say so.
    public func restorePurchases() async throws -> RestoreResult {
        let members = try members()
        let ticket = session.withLock { $0.ticket() }
        let answers = await askWhenLoggedIn(members) { try await $0.restorePurchases() }
        try Task.checkCancellation()
        let results = answers.compactMap { try? $0.result.get() }
        let nothingToRestore = results.allSatisfy(\.nothingToRestore)
        if nothingToRestore, let error = answers.lazy.compactMap(\.error).first { throw error }
        for answer in answers {
            guard let features = try? answer.result.get().paidFeatures else { continue }
            updates.tell(
                session.withLock { $0.record(gained: features, from: answer.member.index, ticket: ticket) })
        }
        var seen: Set<String> = []
        return RestoreResult(
            restored: results.flatMap(\.restored).filter { seen.insert($0).inserted },
            paidFeatures: results.reduce(PaidFeatures()) { $0.merged(with: $1.paidFeatures) },
            nothingToRestore: nothingToRestore,
            reports: answers.map { PluginReport(pluginName: $0.member.plugin.name, error: $0.error) })
    }

    // MARK: - Operations of one plugin

    /// Obtains the signed offer that a discount needs.
    public func getPromotionalOffer(
        for productDiscount: ProductDiscount, product: Product
    ) async throws -> PromoOffer {
        try await start(deadline: configuration.pluginDeadline) {
            await $0.getPromotionalOffer(for: productDiscount, product: product)
        }.value
    }

    /// Buys a product at whichever plugin sells it, and adds what all others know to the result. The purchase stands
    /// even if they cannot be asked; it has no deadline, and ends with the seller's answer or the caller's cancellation.
    public func purchase(
        _ product: Product, with promoOffer: PromoOffer? = nil
    ) async throws -> SuccessfulPurchase {
        let ticket = session.withLock { $0.ticket() }
        var (purchase, seller) = try await start(deadline: nil) { await $0.purchase(product, with: promoOffer) }
        updates.tell(
            session.withLock {
                $0.record(gained: purchase.paidFeatures, from: seller.index, ticket: ticket)
            })
        // Who has bought does not wait for a plugin that could not even be told who the user is.
        let excluded = session.withLock { $0.awaitingLogIn.union([seller.index]) }
        let others = try? await callAndCollectPaidFeatures(.bestEffort, excluding: excluded) {
            try await $0.getPaidFeatures()
        }
        if let others { purchase.paidFeatures = purchase.paidFeatures.merged(with: others.value) }
        return purchase
    }

    /// Turns renewal off, at the plugin that the token names.
    public func cancelSubscription(with token: CancellationToken) async throws {
        _ = try await start(deadline: configuration.pluginDeadline) { await $0.cancelSubscription(with: token) }
    }
}
