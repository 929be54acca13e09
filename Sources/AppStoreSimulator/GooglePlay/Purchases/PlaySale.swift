import Foundation
import GooglePlay
import Primitives
import SimulatorControl
import StoreModel

/// One sale on Google Play, within the transaction that writes it.
struct PlaySale {
    let records: PlayDatabase
    let catalogue: PlayCatalogue
    let account: Int64
    /// The instant of the sale. It is not earlier than the last change of the subscription that it replaces.
    var now: Date

    /// Returns the purchase and its effects. Replaces another subscription in the records if the request names one.
    ///
    /// Throws `SimulatorError` and `PlayRefusal`.
    mutating func purchase(
        _ buy: StoreControlWire.PlayBuy, _ tokens: PlayTokens
    ) throws -> (PlayPurchase, [PlayEffect]) {
        for id in [buy.obfuscatedAccountID, buy.obfuscatedProfileID].compactMap(\.self) where id.count > 64 {
            throw SimulatorError(.invalidValue, "An obfuscated id of Google Play has at most 64 characters.")
        }
        let region = buy.regionCode ?? catalogue.regionCode
        if let product = catalogue.product(buy.productID) {
            return try purchase(of: product, buy, info(buy, product.title, region, tokens))
        }
        guard let product = catalogue.subscription(buy.productID) else {
            throw SimulatorError(.unknownProduct, "The catalogue of Google Play has no product \(buy.productID).")
        }
        return try purchase(of: product, buy, info(buy, product.title, region, tokens))
    }

    private func info(
        _ buy: StoreControlWire.PlayBuy, _ title: String, _ region: String, _ tokens: PlayTokens
    ) -> PlayPurchaseInfo {
        PlayPurchaseInfo(
            token: tokens.token, account: account, regionCode: region, productID: buy.productID, title: title,
            orderID: tokens.orderID, obfuscatedAccountID: buy.obfuscatedAccountID,
            obfuscatedProfileID: buy.obfuscatedProfileID, isTest: buy.isTest ?? false)
    }

    // MARK: - Outside the app

    /// Returns a new purchase of the product and base plan of a subscription that has ended, as the customer makes it in
    /// the Play Store's list of subscriptions, and its effects.
    ///
    /// Throws `SimulatorError` and `PlayRefusal`.
    func resubscription(of token: String, _ tokens: PlayTokens) throws -> (PlayPurchase, [PlayEffect]) {
        let subscriptions = try records.entries(of: account).compactMap { entry in
            if case .subscription(let purchase) = entry.purchase { purchase } else { nil as PlaySubscription? }
        }
        guard let old = subscriptions.first(where: { $0.info.token.hasSameBytes(as: token) }) else {
            throw SimulatorError(.notNow, "A one-time product is not bought again outside the app.")
        }
        let ofProduct = subscriptions.filter {
            $0.info.productID == old.info.productID && $0.state != .pendingPurchaseCanceled
        }
        guard old.state == .expired, old.cancellation?.by != .replacement,
            ofProduct.last?.info.token == old.info.token
        else {
            throw SimulatorError(
                .notNow, "Only the last subscription of \(old.info.productID) that has ended is bought again.")
        }
        guard let end = old.endedAt, now <= SubscriptionPeriod.years(1).end(from: end) else {
            throw SimulatorError(.notNow, "The subscription ended more than a year ago.")
        }
        let plan = catalogue.subscription(old.info.productID)?.basePlans.first {
            $0.id.hasSameBytes(as: old.terms.basePlanID)
        }
        guard let plan, let terms = PlayTerms(plan, nil, in: old.info.regionCode), terms.kind != .prepaid else {
            throw SimulatorError(
                .unknownProduct, "The base plan is not sold in \(old.info.regionCode), or does not renew.")
        }
        let info = PlayPurchaseInfo(
            token: tokens.token, account: account, regionCode: old.info.regionCode, productID: old.info.productID,
            title: old.info.title, orderID: tokens.orderID, isTest: old.info.isTest)
        let former = PlaySubscription.Former(
            token: old.info.token, obfuscatedAccountID: old.info.obfuscatedAccountID,
            obfuscatedProfileID: old.info.obfuscatedProfileID)
        var purchase = PlaySubscription(info, terms, after: former, at: now)
        let effects = try purchase.begin(at: now)
        return (.subscription(purchase), effects)
    }

    // MARK: - One-time products

    private func purchase(
        of product: PlayProduct, _ buy: StoreControlWire.PlayBuy, _ info: PlayPurchaseInfo
    ) throws -> (PlayPurchase, [PlayEffect]) {
        guard buy.basePlanID == nil, buy.oldPurchaseToken == nil, buy.replacementMode == nil else {
            throw SimulatorError(.invalidValue, "\(product.id) is a one-time product, without base plans.")
        }
        let offer = try buy.offerID.map { try self.offer($0, of: product, buy.purchaseOptionID) }
        let named = offer?.optionID ?? buy.purchaseOptionID
        let option = product.options.first { option in
            named.map { $0.hasSameBytes(as: option.id) } ?? option.isActive
        }
        guard let option, option.isActive, let listPrice = option.prices.price(in: info.regionCode) else {
            throw SimulatorError(
                .unknownProduct, "\(product.id) has no such purchase option that is sold in \(info.regionCode).")
        }
        guard let price = offer.map({ $0.prices.price(in: info.regionCode) }) ?? listPrice else {
            throw SimulatorError(.unknownProduct, "The offer of \(product.id) is not sold in \(info.regionCode).")
        }
        let quantity = buy.quantity ?? 1
        guard quantity == 1 || option.allowsSeveral && (1...100).contains(quantity) else {
            throw SimulatorError(
                .invalidValue, "The quantity of \(product.id) should be 1, or up to 100 if the option allows several.")
        }
        let isOwned = try records.entries(of: account).contains { entry in
            if case .product(let other) = entry.purchase {
                other.isOwned && other.info.productID == product.id
            } else {
                false
            }
        }
        guard !isOwned else {
            throw SimulatorError(.notNow, "The account owns \(product.id) already; the app must consume it first.")
        }
        var purchase = PlayProductPurchase(
            info: info, optionID: option.id, offerID: offer?.id, tags: offer?.tags ?? option.tags, price: price,
            quantity: quantity, purchasedAt: now)
        let effects = buy.isPending == true ? [] : try purchase.complete(at: now)
        return (.product(purchase), effects)
    }

    /// Returns an offer that is sold now and that the account can still use.
    private func offer(_ id: String, of product: PlayProduct, _ option: String?) throws -> PlayProduct.Offer {
        let found = product.offers.first { offer in
            offer.id.hasSameBytes(as: id) && option.map { $0.hasSameBytes(as: offer.optionID) } ?? true
        }
        guard let found else { throw SimulatorError(.unknownProduct, "\(product.id) has no such offer \(id).") }
        guard found.isSold(at: now) else { throw SimulatorError(.notNow, "The offer \(id) is not sold now.") }
        guard found.redemptionLimit > 0 else { return found }
        let uses = try records.entries(of: account).count { entry in
            guard case .product(let other) = entry.purchase, other.info.productID == product.id else { return false }
            return other.optionID == found.optionID && other.offerID == found.id
        }
        guard uses < found.redemptionLimit else {
            throw SimulatorError(.notNow, "The account has used the offer \(id) as often as it can.")
        }
        return found
    }

    // MARK: - Subscriptions

    private mutating func purchase(
        of product: PlaySubscriptionProduct, _ buy: StoreControlWire.PlayBuy, _ info: PlayPurchaseInfo
    ) throws -> (PlayPurchase, [PlayEffect]) {
        guard buy.purchaseOptionID == nil, buy.quantity ?? 1 == 1 else {
            throw SimulatorError(.invalidValue, "\(product.id) is a subscription, without options and quantity.")
        }
        let plan = product.basePlans.first { plan in
            buy.basePlanID.map { $0.hasSameBytes(as: plan.id) } ?? plan.isActive
        }
        let offer = try buy.offerID.map { id in
            guard let offer = product.offers.first(where: { $0.id.hasSameBytes(as: id) && $0.basePlanID == plan?.id })
            else { throw SimulatorError(.unknownProduct, "The base plan of \(product.id) has no offer \(id).") }
            return offer
        }
        guard let plan, let terms = PlayTerms(plan, offer, in: info.regionCode) else {
            throw SimulatorError(
                .unknownProduct, "\(product.id) has no such base plan or offer that is sold in \(info.regionCode).")
        }
        let others = try records.entries(of: account)
        if let offer, !Self.isEligible(for: offer, product.id, others) {
            throw SimulatorError(.notNow, "The account is not eligible for the offer \(offer.id).")
        }
        let replacement = try replacement(product.id, terms, buy, others)
        var purchase = PlaySubscription(info, terms, replacing: replacement, at: now)
        let effects = buy.isPending == true ? [] : try purchase.begin(at: now)
        return (.subscription(purchase), effects)
    }

    /// Ends the subscription that the purchase replaces, at the same instant.
    ///
    /// Without a token in the request, a prepaid plan of the same product is topped up, and a cancelled subscription of
    /// it is bought again.
    private mutating func replacement(
        _ product: ProductID, _ terms: PlayTerms, _ buy: StoreControlWire.PlayBuy, _ others: [PlayDatabase.Entry]
    ) throws -> PlaySubscription.Replacement? {
        let mode = buy.replacementMode.map { AndroidPublisher.ReplacementMode(rawValue: $0) }
        let running = others.first { entry in
            guard case .subscription(let other) = entry.purchase, !other.isEnded else { return false }
            return buy.oldPurchaseToken.map { $0.hasSameBytes(as: other.info.token) }
                ?? (other.info.productID == product)
        }
        guard var entry = running, case .subscription(let old) = entry.purchase else {
            guard buy.oldPurchaseToken == nil, mode == nil else {
                throw SimulatorError(.unknownPurchase, "The account has no running subscription with this token.")
            }
            return nil
        }
        if buy.oldPurchaseToken == nil, old.state != .canceled, old.terms.kind != .prepaid || terms.kind != .prepaid {
            throw SimulatorError(
                .notNow, "The account has a subscription of \(product) already; name its token to replace it.")
        }
        guard buy.isPending != true else {
            throw SimulatorError(.invalidValue, "A purchase that replaces another one cannot wait for its payment.")
        }
        now = max(now, entry.changedAt)
        while try records.settle(&entry, until: now, limit: 100) == 100 {}
        guard case .subscription(var old) = entry.purchase else { return nil }
        let replacement = try PlaySubscription.Replacement(of: old, by: product, terms, mode: mode, at: now)
        let effects = old.replace(at: now)
        entry.purchase = .subscription(old)
        entry.changedAt = now
        try records.write(effects, of: entry.purchase)
        try records.save(entry)
        return replacement
    }

    private static func isEligible(for offer: PlayOffer, _ product: ProductID, _ others: [PlayDatabase.Entry]) -> Bool {
        let subscriptions = others.compactMap { entry in
            if case .subscription(let purchase) = entry.purchase, purchase.state != .pendingPurchaseCanceled {
                purchase
            } else {
                nil as PlaySubscription?
            }
        }
        switch offer.audience {
        case .anyone: return true
        case .newToApp: return subscriptions.isEmpty
        case .newToSubscription: return !subscriptions.contains { $0.info.productID == product }
        case .upgrade(let former, let period, let isOncePerUser):
            let hadOffer = subscriptions.contains { $0.info.productID == product && $0.terms.offerID == offer.id }
            return !(isOncePerUser && hadOffer)
                && subscriptions.contains {
                    !$0.isEnded && $0.info.productID == former && (period ?? $0.terms.period) == $0.terms.period
                }
        }
    }
}
