import Primitives
import StoreModel

extension EntitlementService {
    /// Takes over settings without interrupting a request: the features, credits and transfer modes of the apps, the URLs
    /// and secrets of webhooks, the secrets of web shops, the keys that sign answers, and whether every request is logged.
    /// Apps, webhooks and shops that the service does not have are ignored.
    ///
    ///     let rules = try await service.reload { $0.apps[0].features = features }
    ///
    /// No answer of replaced features is returned afterwards. Background jobs recompute the stored answers, and their
    /// changes become events.
    ///
    /// - Parameter change: A closure that changes a copy of the configuration that the service was created with.
    /// - Returns: The apps whose rules became active, and those whose rules did not.
    /// - Throws: ``EntitlementServerError`` with `invalidConfiguration`, and the errors of `change` and of the database.
    ///   Nothing has changed then.
    package func reload(_ change: (inout Configuration) throws -> Void) async throws -> ReloadedRules {
        var later = configuration
        try change(&later)
        try later.check()
        let served = Set(ledger.rules.apps)
        let rules = try await ledger.propose(
            later.apps.filter { served.contains($0.bundleID) }, activatesFormerRules: later.activatesFormerRules)
        // Nothing after this can fail.
        for current in parts.webhooks {
            current.withLock { webhook in
                guard let new = later.webhooks.first(where: { $0.id == webhook.id }) else { return }
                (webhook.url, webhook.secrets) = (new.url, new.secrets)
            }
        }
        parts.webPurchases.withLock { sources in
            for index in sources.indices {
                guard let new = later.webPurchases.first(where: { $0.isSameShop(as: sources[index]) }) else {
                    continue
                }
                sources[index].secrets = new.secrets
            }
        }
        parts.signer.replaceKeys(later.signingKeys)
        parts.logsEveryRequest.withLock { $0 = later.logsEveryRequest }
        return rules
    }
}

extension Webhook {
    /// Returns whether a reload can replace this webhook by another one.
    package func isSameReceiver(as other: Webhook) -> Bool { id == other.id && batchSize == other.batchSize }
}

extension EntitlementService.Configuration.WebPurchaseSource {
    /// Returns whether only the secrets can differ.
    package func isSameShop(as other: Self) -> Bool {
        name.hasSameBytes(as: other.name) && app == other.app && environment == other.environment
    }
}
