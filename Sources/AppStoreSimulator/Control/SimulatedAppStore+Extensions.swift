import AppStorePayloads
import Foundation
import StoreModel

/// An extension of a subscription's renewal date.
struct RenewalExtension: Sendable, Hashable {
    var original: Int64
    var webOrderLineItemID: Int64?
    /// The new renewal date.
    var effectiveDate: Date
}

/// The reason to refuse an extension. The set is closed. Apple has an error for each.
enum ExtensionRefusal: Error, Hashable {
    /// The subscription does not exist.
    case unknown
    /// The subscription has no active period that was paid for.
    case ineligible
    /// The subscription was extended twice within a year.
    case tooOften
    /// The subscription is a family member's share; only the owner's subscription can be extended.
    case familyShared
}

/// The result of the extension for all subscribers of a product.
struct MassExtension: Sendable, Hashable {
    var product: ProductID
    var request: String
    var at: Date
    var succeeded: Int
    var failed: Int
}

extension SimulatedAppStore {
    /// The maximum number of extensions of a subscription within `extensionYear`.
    private static let extensionsPerYear = 2
    private static let extensionYear = 365.0 * 86400

    /// Extends the current period of a subscription. A repeated request extends nothing. Throws `ExtensionRefusal`.
    func extendRenewal(
        of original: TransactionID, byDays days: Int, request: String
    ) async throws -> RenewalExtension {
        guard let number = original.number else { throw ExtensionRefusal.unknown }
        return try await recordEvent { db in
            guard let record = try db.subscription(number), let account = try db.account(record.accountID) else {
                throw ExtensionRefusal.unknown
            }
            return account
        } _: { event in
            guard let record = try event.db.subscription(number) else { throw ExtensionRefusal.unknown }
            var state = event.state(of: record)
            if try !event.db.hasExtension(of: number, request: request) {
                let extended = try Self.extend(state, byDays: days, request: request, in: event.db, at: event.now)
                try event.record([.subscription(extended)])
                state = event.state(of: extended)
            }
            return RenewalExtension(
                original: number, webOrderLineItemID: state.latest.webOrderLineItemID,
                effectiveDate: state.expiresDate.wholeMilliseconds)
        }
    }

    private static func extend(
        _ state: SubscriptionState, byDays days: Int, request: String, in db: SimulatorDatabase, at now: Date
    ) throws -> SubscriptionRecord {
        guard state.record.share == nil else { throw ExtensionRefusal.familyShared }
        guard let extended = StoreRules.extend(state, byDays: days, at: now) else { throw ExtensionRefusal.ineligible }
        let original = state.record.originalID
        let earlier = try db.extensions(of: original, since: now.addingTimeInterval(-extensionYear))
        guard earlier < extensionsPerYear else { throw ExtensionRefusal.tooOften }
        try db.addExtension(of: original, byDays: days, request: request, at: now)
        return extended
    }

    /// Extends the current periods of the active subscribers of a product, in some countries (ISO 3166-1 alpha-3; `nil`
    /// means all). A subscription that may not be extended counts as failed. A repeated request extends nothing.
    func extendRenewals(
        of product: ProductID, byDays days: Int, request: String, in storefronts: [String]?
    ) async throws -> MassExtension {
        let home = configuration.catalogue.storefront.countryCode
        return try await recordStoreEvent { [self] db, now in
            if let known = try db.massExtension(of: product, request) { return known }
            let (settings, conditions) = (try db.settings(), try db.conditions())
            var outcome = MassExtension(product: product, request: request, at: now, succeeded: 0, failed: 0)
            for original in try db.subscriptions(everHaving: product) {
                guard let record = try db.subscription(original), let account = try db.account(record.accountID)
                else { continue }
                let state = SubscriptionState(of: record, under: conditions, at: now)
                guard state.status == .active, state.record.share == nil, state.current.plan.productID == product,
                    storefronts?.contains(state.current.plan.storefront ?? home) ?? true
                else { continue }
                let isExtended = try recordEvent(db, try db.family(of: account), at: now, settings) { event in
                    do {
                        let extended = try Self.extend(state, byDays: days, request: request, in: db, at: now)
                        try event.record([.subscription(extended)])
                        return true
                    } catch is ExtensionRefusal {
                        try event.notify(.renewalExtension, .failure, of: event.sale(of: state))
                        return false
                    }
                }
                if isExtended { outcome.succeeded += 1 } else { outcome.failed += 1 }
            }
            try db.insert(outcome)
            let writer = NotificationWriter(db, signer, settings, version: configuration.applicationVersion)
            try writer?.write(
                AppStoreServerAPI.NotificationSummary {
                    $0.requestIdentifier = request
                    $0.bundleId = signer.bundleID.rawValue
                    $0.productId = product.rawValue
                    $0.environment = .sandbox
                    $0.storefrontCountryCodes = storefronts
                    $0.failedCount = outcome.failed
                    $0.succeededCount = outcome.succeeded
                }, at: now)
            return outcome
        }
    }

    /// Returns the result of a mass extension; `nil` if there was no such request.
    func renewalExtension(of product: ProductID, request: String) throws -> MassExtension? {
        try database.read { try SimulatorDatabase($0).massExtension(of: product, request) }
    }
}
