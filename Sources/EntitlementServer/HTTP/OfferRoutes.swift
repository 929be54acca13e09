import Foundation
import HTTPCore
import Primitives
import SignedData
import StoreModel

/// The endpoints of promotional offers: their signatures, and the offers that a customer can use.
struct OfferRoutes: Sendable {
    private static let maximumBody = 16 << 10

    let ledger: Ledger
    let idempotent: IdempotentRequests
    let offers: [BundleID: PromotionalOffers]
    let realClock: any WallClock
    let randomBytes: @Sendable (Int) -> [UInt8]

    var endpoints: [Endpoint<ServerHandler>] {
        [
            Endpoint(
                .post, "/v1/customers/{customer}/offer-signatures", "postOfferSignature",
                "Sign a promotional offer for one purchase", tag: .offers, body: .init(.offerSignatureRequest),
                answer: .signedOffer,
                refusals: [
                    404: ["unknown_offer"], 409: ["not_eligible", "nonce_used", "offer_signed", "customer_erased"],
                    501: ["unsupported"],
                ], isIdempotent: true, handler: .authorized(.customer, sign)),
            Endpoint(
                .get, "/v1/customers/{customer}/offer-eligibility", "getOfferEligibility",
                "List the offers that a customer can use", tag: .offers,
                parameters: [.init("productID", in: .query, .identifier, "one product; all products if absent")],
                answer: .offerEligibility, refusals: [404: ["unknown_product"], 501: ["unsupported"]],
                handler: .authorized(.publicKey, eligibility)),
        ]
    }

    private func offers(_ context: RequestContext) throws -> PromotionalOffers {
        guard let offers = offers[context.caller.app] else { throw Refusal.noOfferRules }
        return offers
    }

    @Sendable private func sign(_ context: RequestContext) throws -> HTTPReply {
        let customer = try context.customer()
        let offers = try offers(context)
        return context.later {
            let body = try await RequestBody.bytes(of: context.request, upTo: Self.maximumBody)
            return try await idempotent.respond(to: context, body: body) { idempotency in
                let request = try RequestBody.decode(OfferSignatureRequest.self, from: body)
                guard let offer = offers.rules.offer(request.offerID, of: request.productID),
                    let group = offers.rules.group(of: request.productID)
                else { throw Refusal.unknownOffer }
                let asked = OfferRequest(
                    offer: offer, key: customer, nonce: request.nonce, newNonce: UUID(random: randomBytes(16)),
                    now: realClock.now())
                do {
                    return try await ledger.sign(asked, by: offers.rules, in: group, as: idempotency) {
                        try KeptAnswer(
                            wire: offers.sign(offer, appAccountToken: $0, subscription: $1, nonce: $2, at: $3))
                    }
                } catch let reason as OfferIneligibility {
                    throw Refusal.notEligible(reason)
                } catch Ledger.OfferRefusal.nonceUsed {
                    throw Refusal.nonceUsed
                } catch Ledger.OfferRefusal.signed {
                    throw Refusal.offerSigned
                }
            }
        }
    }

    @Sendable private func eligibility(_ context: RequestContext) throws -> HTTPReply {
        let customer = try context.customer()
        let rules = try offers(context).rules
        guard let query = context.request.query else { throw Refusal.malformedQuery }
        var products = rules.groups.flatMap { group in group.products.map { (product: $0, group: group) } }
        if let name = query["productID"] {
            products.removeAll { !$0.product.rawValue.hasSameBytes(as: name) }
            guard !products.isEmpty else { throw Refusal.unknownProduct }
        }
        return context.later { [products] in
            let groups = rules.groups.filter { group in products.contains { $0.group == group } }
            let now = ledger.clock.now().wholeMillisecond
            let histories = Dictionary(
                uniqueKeysWithValues: zip(groups.map(\.id), try await ledger.histories(of: customer, in: groups)))
            let answer = OfferEligibilityAnswer(
                customer: customer.customer, environment: context.environment, asOf: now,
                products: products.compactMap { product, group in
                    histories[group.id].map { rules.eligibility(for: product, of: group, $0, at: now) }
                })
            return try HTTPResponse(wire: answer)
        }
    }
}

extension OfferRules {
    fileprivate func eligibility(
        for product: ProductID, of group: Group, _ history: GroupHistory, at instant: Date
    ) -> ProductEligibility {
        ProductEligibility(
            productID: product, groupID: group.id.rawValue,
            introductoryOffer: OfferEligibility(nil, Self.introductoryIneligibility(history)),
            promotionalOffers: offers.filter { $0.productID == product }.map {
                OfferEligibility($0.offerID.rawValue, ineligibility(for: $0, history, at: instant))
            })
    }
}

extension OfferEligibility {
    fileprivate init(_ offerID: String?, _ ineligibility: OfferIneligibility?) {
        self.init(offerID: offerID, isEligible: ineligibility == nil, reason: ineligibility?.reason)
    }
}

extension Refusal {
    fileprivate static let noOfferRules = Refusal(
        HTTPProblem(
            status: 501, code: "unsupported", title: "Not supported",
            detail: "This server has no offer rules for the app; start it with --offer-rules."))

    fileprivate static let unknownOffer = Refusal(
        HTTPProblem(
            status: 404, code: "unknown_offer", title: "Unknown offer",
            detail: "The app's offer rules have no such offer of the product.", field: "offerID"))

    fileprivate static let unknownProduct = Refusal(
        HTTPProblem(
            status: 404, code: "unknown_product", title: "Unknown product",
            detail: "The product is in no subscription group of the app's offer rules.", field: "productID"))

    fileprivate static func notEligible(_ ineligibility: OfferIneligibility) -> Refusal {
        Refusal(
            HTTPProblem(
                status: 409, code: "not_eligible", title: "Not eligible",
                detail: "\(ineligibility.reason): \(ineligibility.sentence)"))
    }

    fileprivate static let nonceUsed = Refusal(
        HTTPProblem(
            status: 409, code: "nonce_used", title: "Nonce used before",
            detail: "The nonce was signed for another customer, product or offer; use a new UUID for each purchase.",
            field: "nonce"))

    fileprivate static let offerSigned = Refusal(
        HTTPProblem(
            status: 409, code: "offer_signed", title: "Offer signed before",
            detail: """
                The customer can use this offer once, and an earlier signature is still valid. It has another nonce, or \
                is bound to another id of the customer. Leave out the nonce, use the same customer id, or wait a day.
                """, field: "nonce"))
}
