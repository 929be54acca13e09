import AppStorePayloads
import Foundation
import HTTPCore
import Primitives
import SignedData
import StoreModel
import Testing

@testable import EntitlementServer

/// A server that signs the offers of one app.
struct OfferBench: Sendable {
    static let keyID = "2X9R4HXF34"
    static let issuerID = "57246542-96fe-1a63-e053-0824d011072a"
    /// The offer `half` for all current and former subscribers, and `back` once for those whose subscription expired.
    static let rules = """
        {"groups": {"group": ["pro.monthly", "pro.yearly"], "other": ["tools.monthly"]},
         "offers": [
            {"productId": "pro.monthly", "offerIdentifier": "half"},
            {"productId": "pro.yearly", "offerIdentifier": "half"},
            {"productId": "tools.monthly", "offerIdentifier": "half"},
            {"productId": "pro.monthly", "offerIdentifier": "back", "when": {"states": ["expired"]},
             "oncePerCustomer": true}
        ]}
        """

    let server: ServerBench
    let key: SigningKey

    static func rules(_ text: String) throws -> OfferRules { try OfferRules(json: try JSONValue(parsing: text)) }

    static func offers(_ text: String, key: SigningKey) throws -> PromotionalOffers {
        PromotionalOffers(
            try rules(text), key: AppStoreConnectKey(key, id: keyID, issuerID: issuerID, bundleID: ServerBench.app))
    }

    init(
        _ rules: String = Self.rules, environments: [StoreEnvironment] = [.sandbox],
        configure: (inout EntitlementService.Configuration) -> Void = { _ in }
    ) async throws {
        let key = try SigningKey.generate()
        self.key = key
        let offers = try Self.offers(rules, key: key)
        server = try await ServerBench(environments: environments) {
            $0.apps[0].offers = offers
            configure(&$0)
        }
    }

    func ask(
        _ product: String = "pro.monthly", _ offer: String = "half", for customer: String = "anna",
        nonce: String? = nil, headers: HTTPHeaders = [:]
    ) async throws -> ServerBench.Reply {
        var body: JSONValue = ["productID": .string(product), "offerID": .string(offer)]
        body["nonce"] = nonce.map { .string($0) }
        return try await server.send(
            .post, "/v1/customers/\(customer)/offer-signatures", as: .secret, headers: headers, body: .json(body))
    }

    func sign(
        _ product: String = "pro.monthly", _ offer: String = "half", for customer: String = "anna",
        nonce: String? = nil
    ) async throws -> SignedOffer {
        let reply = try await ask(product, offer, for: customer, nonce: nonce)
        #expect(reply.status == 200, "\(reply.json.text())")
        return try WireJSON.decode(SignedOffer.self, from: reply.bytes)
    }

    func eligibility(_ query: String = "", of customer: String = "anna") async throws -> OfferEligibilityAnswer {
        let reply = try await server.send(.get, "/v1/customers/\(customer)/offer-eligibility\(query)")
        #expect(reply.status == 200, "\(reply.json.text())")
        return try WireJSON.decode(OfferEligibilityAnswer.self, from: reply.bytes)
    }

    func subject(_ product: ProductID, _ offer: String, _ customer: CustomerID?) -> PromotionalOffer {
        PromotionalOffer(
            bundleID: ServerBench.app, productID: product, offerID: offer, appAccountToken: customer?.appAccountToken)
    }

    var verifier: AppStoreRequestVerifier {
        AppStoreRequestVerifier(
            keys: [Self.keyID: key.verificationKey], issuerID: Self.issuerID, bundleID: ServerBench.app)
    }

    func close() async { await server.close() }
}
