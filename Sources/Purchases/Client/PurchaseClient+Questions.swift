import Primitives

extension PurchaseClient {
    // MARK: - Questions to every plugin

    /// What the user may use. Best effort: a plugin that fails is represented by what it said last to the same user.
    public func getFeatures() async throws -> Features { try await collectFeatures().value }

    public func getFeatures(_ mode: ReadMode) async throws -> Features { try await collectFeatures(mode).value }

    /// Like `getFeatures`, with a report per plugin.
    public func collectFeatures(_ mode: ReadMode? = nil) async throws -> Collected<Features> {
        try await collect(.getFeatures, mode) { try await $0.getFeatures() }
    }

    /// What the user paid for. Best effort: a plugin that fails is represented by what it said last to the same user.
    public func getPaidFeatures() async throws -> PaidFeatures { try await collectPaidFeatures().value }

    public func getPaidFeatures(_ mode: ReadMode) async throws -> PaidFeatures {
        try await collectPaidFeatures(mode).value
    }

    /// Like `getPaidFeatures`, with a report per plugin: who failed, and whether its last answer was used.
    public func collectPaidFeatures(_ mode: ReadMode? = nil) async throws -> Collected<PaidFeatures> {
        try await callAndCollectPaidFeatures(mode ?? PurchaseOperation.getPaidFeatures.rule.mode) {
            try await $0.getPaidFeatures()
        }
    }

    /// All subscriptions, in the order of registration of who sold them; of two reports of one purchase the first.
    public func getSubscriptions(_ mode: ReadMode) async throws -> [Subscription] {
        try await collectSubscriptions(mode).value
    }

    /// Like `getSubscriptions`, with a report per plugin.
    public func collectSubscriptions(_ mode: ReadMode? = nil) async throws -> Collected<[Subscription]> {
        try await collect(.getSubscriptions, mode) { try await $0.getSubscriptions() }
    }

    /// The products among `identifiers` that any plugin sells.
    public func getProductsAndPricePoints(
        with identifiers: [String], _ mode: ReadMode
    ) async throws -> Set<Product> {
        try await collect(.getProductsAndPricePoints, mode) {
            try await $0.getProductsAndPricePoints(with: identifiers)
        }.value
    }

    /// What is sold on the web, among `identifiers`.
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

    /// Asks every plugin to bring back earlier purchases.
    ///
    /// What was restored stands, whoever else failed; `reports` says who. Throws the first error when nothing was
    /// restored and not everybody could say so.
    public func restorePurchases() async throws -> RestoreResult {
        let members = try members()
        let ticket = session.withLock { $0.ticket() }
        let askedAt = configuration.clock.now()
        let answers = await askWhenLoggedIn(.restorePurchases, members) { try await $0.restorePurchases() }
        for answer in answers { tell(PurchaseDiagnostic(.restorePurchases, answer.report, askedAt: askedAt)) }
        try Task.checkCancellation()
        let results = answers.compactMap { try? $0.result.get() }
        let nothingToRestore = results.allSatisfy(\.nothingToRestore)
        if nothingToRestore, let error = answers.lazy.compactMap(\.error).first { throw error }
        for answer in answers {
            guard let features = try? answer.result.get().paidFeatures else { continue }
            recordGained(features, from: answer.member, ticket: ticket)
        }
        await keepAnswers()
        var seen: Set<String> = []
        return RestoreResult(
            restored: results.flatMap(\.restored).filter { seen.insert($0).inserted },
            paidFeatures: results.reduce(PaidFeatures()) { $0.merged(with: $1.paidFeatures) },
            nothingToRestore: nothingToRestore, reports: answers.map(\.report))
    }

    private func recordGained(_ features: PaidFeatures, from member: Member, ticket: PurchaseSession.Ticket) {
        let now = configuration.clock.now()
        updates.tell(session.withLock { $0.record(gained: features, from: member.index, ticket: ticket, at: now) })
    }

    // MARK: - Operations of one plugin

    /// Obtains the signed offer that a discount needs.
    public func getPromotionalOffer(
        for productDiscount: ProductDiscount, product: Product
    ) async throws -> PromoOffer {
        try await start(.getPromotionalOffer) {
            await $0.getPromotionalOffer(for: productDiscount, product: product)
        }.value
    }

    /// Buys a product at the first plugin that sells it, and adds what all others know to the result. The purchase holds
    /// even if they cannot be asked. The seller has no deadline. The others have `Configuration.afterPurchaseDeadline`:
    /// of those that take longer, the result has what they said last, and `paidFeaturesUpdates` what they answer.
    public func purchase(
        _ product: Product, with promoOffer: PromoOffer? = nil
    ) async throws -> SuccessfulPurchase {
        try await sell { await $0.purchase(product, with: promoOffer) }
    }

    /// Several of a consumable in one payment, from the first plugin that sells so many at once; otherwise as
    /// `purchase(_:with:)`.
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

    /// A purchase that began outside the app; only who announced it can make it.
    func purchasePromoted(
        from seller: Member,
        _ buy: @escaping @Sendable () async -> PurchasePluginResult<SuccessfulPurchase, any Error>
    ) async throws -> SuccessfulPurchase {
        let ticket = session.withLock { $0.ticket() }
        let (purchase, _) = try await with([seller], .promotedPurchase, unanswered: nil) { _ in await buy() }
        return await complete(purchase, from: seller, ticket: ticket, PurchaseOperation.promotedPurchase.rule)
    }

    private func complete(
        _ purchase: SuccessfulPurchase, from seller: Member, ticket: PurchaseSession.Ticket, _ rule: MergeRule
    ) async -> SuccessfulPurchase {
        recordGained(purchase.paidFeatures, from: seller, ticket: ticket)
        await keepAnswers()
        guard rule.after == .othersFeatures, let members = try? members() else { return purchase }
        // Who has bought does not wait for a plugin that could not even be told who the user is.
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

    /// Asks plugins anew, and returns when all have answered or a purchase need not wait any longer. Later answers reach
    /// `paidFeaturesUpdates`.
    private func refreshPaidFeatures(of members: [Member]) async {
        guard !members.isEmpty else { return }
        let asking = beside { [self] in
            await withTaskGroup(of: Void.self) { group in
                for member in members {
                    group.addTask { [self] in
                        _ = try? await callAndCollectPaidFeatures(.bestEffort, of: [member]) {
                            // What one has sold another may know too, but not what it keeps from before.
                            await $0.invalidatePaidFeaturesCache()
                            return try await $0.getPaidFeatures()
                        }
                    }
                }
            }
        }
        // A caller that is cancelled has bought nevertheless, and gets what is known.
        try? await Deadline.answer(
            within: configuration.afterPurchaseDeadline, sleep: configuration.sleep, asking: "all others"
        ) { await asking.value }
    }

    /// Turns renewal off, at the plugin that the token names.
    public func cancelSubscription(with token: CancellationToken) async throws {
        _ = try await start(.cancelSubscription) { await $0.cancelSubscription(with: token) }
    }

    /// Has a letter sent with which the customer finds their purchases again.
    public func sendRestoreLink(to email: String) async throws {
        _ = try await start(.sendRestoreLink) { await $0.sendRestoreLink(to: email) }
    }

    /// Lets the customer type an offer code; returns when that is over. What the code gave arrives in
    /// `paidFeaturesUpdates`.
    public func presentCodeRedemptionUI() async throws {
        _ = try await start(.presentCodeRedemptionUI) { await $0.presentCodeRedemptionUI() }
    }

    // MARK: - What every plugin is told

    /// Tells what the app knows of its user; `nil` removes. Throws only `notSetUp`.
    public func setAttributes(_ attributes: [PurchaseAttribute: String?]) async throws {
        try await broadcast(.setAttributes) { await $0.setAttributes(attributes) }
    }

    /// The customer has agreed to have the device recognised. Throws only `notSetUp`.
    public func collectDeviceIdentifiers() async throws {
        try await broadcast(.collectDeviceIdentifiers) { await $0.collectDeviceIdentifiers() }
    }

    /// Has every plugin forget what it keeps, so that the next answers come from their systems. What they said last still
    /// counts while they cannot be asked. Does nothing before setup.
    public func invalidatePaidFeaturesCache() async {
        try? await broadcast(.invalidatePaidFeaturesCache) { await $0.invalidatePaidFeaturesCache() }
    }

    private func broadcast(
        _ operation: PurchaseOperation, _ tell: @escaping @Sendable (any PurchasePlugin) async -> Void
    ) async throws {
        _ = await ask(operation, try members(), tell)
    }
}
