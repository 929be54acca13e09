import Foundation
import Primitives
import SimulatorControl
import StoreKitAdapter
import StoreModel

/// Offer codes that a tester creates, as App Store Connect does: custom codes and one-time codes.
extension SimulatedAppStore {
    /// Creates a custom code, or one-time codes, for an offer.
    ///
    /// Throws `unknownProduct`; `invalidValue` for an offer that the product does not have, a code that the store has,
    /// and numbers, dates or prices that App Store Connect does not allow.
    @discardableResult
    package func createOfferCodes(
        _ request: StoreControlWire.NewOfferCodes
    ) async throws -> StoreControlWire.OfferCodeBatch {
        guard let item = configuration.catalogue[request.productID] else {
            throw SimulatorError(.unknownProduct, "The store does not sell \(request.productID).")
        }
        return try await recordStoreEvent { db, now in
            try Self.declareOffer(request, of: item, in: db)
            let batch = try db.insert(try Self.batch(request, at: now))
            if let code = request.code {
                guard try db.insert(code, of: batch, at: 0) else {
                    throw SimulatorError(.invalidValue, "The store has the code \(code); choose another one.")
                }
            } else {
                try Self.insertOneTimeCodes(request.count ?? 0, of: batch, in: db)
            }
            return try Self.describe(batch, in: db)
        }
    }

    private static func batch(_ request: StoreControlWire.NewOfferCodes, at now: Date) throws -> CodeBatch {
        func refuse(_ reason: String) -> SimulatorError { SimulatorError(.invalidValue, reason) }
        let isCustom = request.code != nil
        guard isCustom || request.limit == nil else {
            throw refuse("Each one-time code can be redeemed once; only a custom code has a limit.")
        }
        if let code = request.code, !CodeBatch.isValid(code) { throw refuse("A code has \(CodeBatch.rule).") }
        let latest = now.adding(months: CodeBatch.lifetime)
        let expiresAt = request.expiresAt ?? (isCustom ? nil : latest)
        if let expiresAt, expiresAt <= now || !ColumnRange.planned.contains(expiresAt.microseconds) {
            throw refuse("Codes expire later than now, \(RFC3339.string(from: now)).")
        }
        if let expiresAt, !isCustom, expiresAt > latest {
            throw refuse(
                "One-time codes expire within \(CodeBatch.lifetime) months, by \(RFC3339.string(from: latest)).")
        }
        return CodeBatch(
            id: 0, createdAt: now, product: request.productID, offer: request.offerID, isCustom: isCustom,
            limit: isCustom ? request.limit ?? CodeBatch.limits.upperBound : 1, expiresAt: expiresAt)
    }

    /// Checks that a subscription has the offer. Another product gets the offer, or has it at the same terms.
    private static func declareOffer(
        _ request: StoreControlWire.NewOfferCodes, of item: CatalogueItem, in db: SimulatorDatabase
    ) throws {
        func refuse(_ reason: String) -> SimulatorError { SimulatorError(.invalidValue, reason) }
        guard item.kind != .autoRenewableSubscription else {
            guard item.offerCodes.contains(where: { $0.id.hasSameBytes(as: request.offerID) }) else {
                throw refuse("\(item.id) has no offer \(request.offerID) that codes redeem in the catalogue.")
            }
            guard request.price == nil, request.customers == nil else {
                throw refuse(
                    "\(item.id) is a subscription; the catalogue has the price and the customers of its offers.")
            }
            return
        }
        guard Catalogue.isSold(item) else { throw refuse("The store cannot sell \(item.id).") }
        let amount = request.price.flatMap { JSONNumber(text: $0)?.decimal }
        if let amount, amount >= item.price.amount {
            throw refuse("The price of an offer is lower than that of \(item.id), \(item.price.amount).")
        }
        let customers = request.customers.map { Set($0) }
        if customers?.isEmpty == true { throw refuse("An offer is for at least one kind of customer.") }
        guard let offer = try db.purchaseOffer(request.offerID, of: item.id) else {
            guard let amount else {
                throw refuse("\(item.id) has no offer \(request.offerID); the price of a new offer is missing.")
            }
            let all = Set(StoreControlWire.PurchaseCustomer.allCases)
            return try db.insert(
                PurchaseOffer(id: request.offerID, amount: amount, customers: customers ?? all), of: item.id)
        }
        guard amount == nil || amount == offer.amount, customers == nil || customers == offer.customers else {
            throw refuse("\(item.id) has the offer \(offer.id) at another price or for other customers.")
        }
    }

    /// Inserts one-time codes. A code that the store has, such as a custom one, is left out.
    private static func insertOneTimeCodes(_ count: Int, of batch: CodeBatch, in db: SimulatorDatabase) throws {
        let seed = try db.seed()
        var (place, number) = (0, 0)
        while place < count {
            let code = CodeBatch.oneTimeCode(seed: seed, batch: batch.id, place: number)
            if try db.insert(code, of: batch, at: place) { place += 1 }
            number += 1
        }
    }

    /// Returns a batch with all its codes. Throws `unknownOfferCodes`.
    package func offerCodeBatch(_ number: String) throws -> StoreControlWire.OfferCodeBatch {
        try database.read { sql in
            let db = SimulatorDatabase(sql)
            return try Self.describe(db.existingCodeBatch(number), in: db)
        }
    }

    /// Returns all batches, oldest first. With an account, each has its state for the account. Throws `unknownAccount`.
    package func offerCodeBatches(for name: AccountName? = nil) throws -> [StoreControlWire.OfferCodeBatch] {
        guard let name else {
            return try database.read {
                try SimulatorDatabase($0).codeBatches().map { .init($0.batch, $0.count, $0.redeemed, $0.next) }
            }
        }
        return try read({ try $0.existingAccount(name) }) { [catalogues] db, account, now in
            let settings = try db.settings()
            let catalogue = catalogues[account.country(settings)].catalogue
            let event = try SimulatorEvent(db, [account], at: now, catalogue: catalogue, settings, nil)
            return try db.codeBatches().map { batch, count, redeemed, next in
                var listing = StoreControlWire.OfferCodeBatch(batch, count, redeemed, next)
                (listing.state, listing.reason) = try event.codeState(
                    of: try event.order(for: batch.offer, of: batch.product))
                if listing.state == .available, let reason = batch.refusal(after: next.redeemed, at: now) {
                    (listing.state, listing.reason) = (.unavailable, reason)
                }
                return listing
            }
        }
    }

    /// Deactivates the codes of a batch, which nothing makes active again. Throws `unknownOfferCodes`.
    @discardableResult
    package func deactivateOfferCodes(_ number: String) async throws -> StoreControlWire.OfferCodeBatch {
        try await recordStoreEvent { db, now in
            let batch = try db.existingCodeBatch(number)
            try db.deactivateCodes(of: batch.id, at: now)
            return try Self.describe(db.existingCodeBatch(number), in: db)
        }
    }

    private static func describe(_ batch: CodeBatch, in db: SimulatorDatabase) throws -> StoreControlWire.OfferCodeBatch
    {
        let codes = try db.codes(of: batch.id)
        let redeemed = codes.reduce(0) { $0 + $1.redeemed }
        let first = SimulatorDatabase.IssuedCode(code: codes.first?.code ?? "", batch: batch, redeemed: redeemed)
        var listing = StoreControlWire.OfferCodeBatch(batch, codes.count, redeemed, first)
        listing.codes = codes
        return listing
    }
}

extension SimulatorDatabase {
    /// Throws `unknownOfferCodes`.
    func existingCodeBatch(_ number: String) throws -> CodeBatch {
        guard let id = Int64(number), let batch = try codeBatch(id) else {
            throw SimulatorError(.unknownOfferCodes, "The store has no batch \(number) of offer codes.")
        }
        return batch
    }
}

extension StoreControlWire.OfferCodeBatch {
    /// Creates the listing of a batch without its codes. The text of a one-time code is only in `codes`.
    init(_ batch: CodeBatch, _ count: Int, _ redeemed: Int, _ next: SimulatorDatabase.IssuedCode) {
        self.init(
            batch: "\(batch.id)", kind: batch.isCustom ? .custom : .oneTime, productID: batch.product,
            offerID: batch.offer, code: batch.isCustom ? next.code : nil, limit: count * batch.limit,
            redeemed: redeemed, createdAt: batch.createdAt.wholeMilliseconds,
            expiresAt: batch.expiresAt?.wholeMilliseconds, deactivatedAt: batch.deactivatedAt?.wholeMilliseconds)
    }
}
