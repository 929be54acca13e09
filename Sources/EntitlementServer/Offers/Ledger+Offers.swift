import Foundation
import Primitives
import SQLStorage
import StoreModel

/// A request for the signature of a promotional offer.
struct OfferRequest: Sendable {
    let offer: OfferRules.Offer
    /// The name that the app uses for the customer, to whose app account token the signature is bound.
    let key: CustomerKey
    /// The nonce of the request; `nil` if the server chooses it.
    let nonce: UUID?
    /// The nonce that the server would choose.
    let newNonce: UUID
    /// The real time.
    let now: Date
}

extension Ledger {
    /// The error of an offer that is not signed.
    enum OfferRefusal: Error {
        /// The nonce was signed for another customer, product or offer within a day.
        case nonceUsed
        /// A signature of this offer, which each customer can use once, is still valid, and has another nonce or is
        /// bound to another name of the customer.
        case signed
    }

    /// Signs an offer for a customer that is eligible.
    ///
    /// A repetition with the same nonce gets a signature with the same nonce and time, so that all of them together
    /// allow one purchase.
    ///
    /// Throws `OfferIneligibility`, `OfferRefusal` and the errors of `sign`.
    ///
    /// - Parameter sign: Signs the offer with an app account token, a transaction of the customer, a nonce and a time.
    func sign(
        _ asked: OfferRequest, by rules: OfferRules, in group: OfferRules.Group, as request: IdempotentRequest?,
        sign: @escaping @Sendable (UUID?, TransactionID?, UUID, Date) throws -> KeptAnswer
    ) async throws -> KeptAnswer {
        try await write(once: request) { connection, outcome in
            var transaction = transaction(connection, on: asked.key.ledgerID)
            try transaction.lock(holdingsOf: [asked.key.customer])
            let customer = try transaction.register(asked.key.customer)
            // If the customer was merged meanwhile, the purchases of the other customer count.
            if customer != asked.key.customer { try transaction.lock(holdingsOf: [customer]) }
            let history = try transaction.histories(of: customer, in: [group])[0]
            if let reason = rules.ineligibility(for: asked.offer, history, at: transaction.now) { throw reason }
            let use = try asked.reserve(for: customer, connection)
            try computeAnswers(transaction, including: nil, &outcome)
            let name = asked.key.customer
            return try sign(
                name.isAnonymous ? nil : name.appAccountToken, history.lastSubscription, use.nonce, use.signedAt)
        }
    }

    /// Returns the histories of a customer in these groups.
    func histories(of key: CustomerKey, in groups: [OfferRules.Group]) async throws -> [GroupHistory] {
        // Attributes purchases that wait for the customer.
        _ = try await answer(key)
        return try await database.readAsync { [self] connection in
            let transaction = transaction(connection, on: key.ledgerID)
            let customer = try transaction.customer(named: key.customer) ?? key.customer
            return try transaction.histories(of: customer, in: groups)
        }
    }
}

extension LedgerTransaction {
    fileprivate func histories(of customer: CustomerID, in groups: [OfferRules.Group]) throws -> [GroupHistory] {
        let state = try state(of: customer)
        let answer = rules.reducer.customer(customer, in: ledgerID.environment, state, at: now)
        return groups.map { GroupHistory($0, in: state, answer) }
    }
}

extension OfferRequest {
    /// The nonce of a signature and its time.
    fileprivate struct Use: Sendable {
        let nonce: UUID
        let signedAt: Date

        init(nonce: UUID, signedAt: Date) {
            self.nonce = nonce
            self.signedAt = Date(milliseconds: signedAt.milliseconds)
        }

        init(_ kept: KeptAnswer) throws {
            let parts = String(decoding: kept.body, as: UTF8.self).split(separator: " ")
            guard parts.count == 2, let nonce = UUID(text: String(parts[0])), let time = Int64(parts[1]) else {
                throw EntitlementServerError(
                    .damagedAnswer, "The ledger is damaged: the nonce of an offer was changed.")
            }
            self.init(nonce: nonce, signedAt: Date(milliseconds: time))
        }

        var answer: KeptAnswer {
            KeptAnswer(
                status: 200, contentType: "text/plain", body: Array("\(nonce.wireText) \(signedAt.milliseconds)".utf8))
        }
    }

    /// Returns the nonce and the time of the signature, and stores them as long as the signature is valid.
    ///
    /// They are stored as idempotency keys, because a nonce is one: the same for each attempt of one purchase. An offer
    /// that each customer can use once has at most one valid nonce for each customer, so that a customer cannot
    /// collect signatures before using the first of them.
    fileprivate func reserve(for customer: CustomerID, _ connection: any SQLConnection) throws -> Use {
        guard offer.isOncePerCustomer else {
            return try reserve(Use(nonce: nonce ?? newNonce, signedAt: now), for: customer, connection)
        }
        let text = [offer.productID.rawValue, offer.offerID.rawValue, customer.rawValue].joined(separator: "\0")
        let only = record("offer:\(Hex.encode(SHA256.hash(Array(text.utf8))))", of: customer)
        guard try only.begin(connection) else {
            guard let use = try only.use(connection), nonce == nil || nonce == use.nonce else {
                throw Ledger.OfferRefusal.signed
            }
            return use
        }
        let use = try reserve(Use(nonce: nonce ?? newNonce, signedAt: now), for: customer, connection)
        try only.complete(use.answer, connection)
        return use
    }

    private func reserve(_ use: Use, for customer: CustomerID, _ connection: any SQLConnection) throws -> Use {
        let record = record("nonce:\(use.nonce.wireText)", of: customer)
        guard try record.begin(connection) else {
            guard let use = try record.use(connection) else { throw Ledger.OfferRefusal.nonceUsed }
            return use
        }
        try record.complete(use.answer, connection)
        return use
    }

    /// Returns a record that expires with the signature. Its key has a control character, which the keys of requests
    /// cannot have. Its digest is that of the name, product and offer.
    private func record(_ key: String, of customer: CustomerID) -> IdempotentRequest {
        let subject = [key, self.key.customer.rawValue, offer.productID.rawValue, offer.offerID.rawValue]
        return IdempotentRequest(
            ledgerID: self.key.ledgerID, sender: .secret, requester: nil, key: "\u{1}\(key)",
            digest: SHA256.hash(Array(subject.joined(separator: "\0").utf8)), customer: customer, now: now)
    }
}

extension IdempotentRequest {
    /// Returns the stored use of a record; `nil` if the record is of another name, product or offer.
    fileprivate func use(_ connection: any SQLConnection) throws -> OfferRequest.Use? {
        do {
            guard let kept = try kept(connection) else { throw Refusal.idempotencyInProgress }
            return try OfferRequest.Use(kept)
        } catch let refusal as Refusal where refusal.problem.code == Refusal.idempotencyMismatch.problem.code {
            return nil
        }
    }
}
