import Foundation
import Primitives
import StoreModel

/// A request of an app to the App Store that the app's server allows with a signature (Apple: Generating JWS to sign
/// App Store requests): a promotional offer (version 2), introductory-offer eligibility, or an Advanced Commerce
/// request.
///
///     let request = AppStoreRequest.promotionalOffer("comeback", for: "plus.monthly", transactionID: "2000000012")
///     let jws = try key.sign(request, nonce: UUID(), at: clock.now())    // an AppStoreConnectKey
package struct AppStoreRequest: Sendable, Hashable {
    /// The kind of a request: the value of Apple's claim `aud`.
    package struct Audience: RawRepresentable, Hashable, Sendable {
        package let rawValue: String
        package init(rawValue: String) { self.rawValue = rawValue }

        package static let promotionalOffer = Audience(rawValue: "promotional-offer")
        package static let introductoryOfferEligibility = Audience(rawValue: "introductory-offer-eligibility")
        package static let advancedCommerce = Audience(rawValue: "advanced-commerce-api")
    }

    package let audience: Audience
    /// The product of an offer.
    package private(set) var productID: ProductID?
    /// The identifier of a promotional offer in App Store Connect.
    package private(set) var offerID: String?
    /// The decision about introductory-offer eligibility.
    package private(set) var allowsIntroductoryOffer: Bool?
    /// Any transaction of the customer, or the app transaction id. Optional but recommended for a promotional offer.
    package private(set) var transactionID: TransactionID?
    /// The JSON of an Advanced Commerce request.
    package private(set) var content: [UInt8]?

    /// Returns a request for a promotional offer, version 2.
    package static func promotionalOffer(
        _ offerID: String, for productID: ProductID, transactionID: TransactionID? = nil
    ) -> AppStoreRequest {
        var request = AppStoreRequest(audience: .promotionalOffer)
        (request.productID, request.offerID, request.transactionID) = (productID, offerID, transactionID)
        return request
    }

    /// Returns a decision whether the customer is eligible for the introductory offer. It replaces the decision of the
    /// App Store.
    package static func introductoryOfferEligibility(
        _ isAllowed: Bool, for productID: ProductID, transactionID: TransactionID
    ) -> AppStoreRequest {
        var request = AppStoreRequest(audience: .introductoryOfferEligibility)
        (request.productID, request.allowsIntroductoryOffer) = (productID, isAllowed)
        request.transactionID = transactionID
        return request
    }

    /// Returns an Advanced Commerce request: the JSON object that Apple describes, which is signed byte for byte.
    package static func advancedCommerce(_ content: [UInt8]) -> AppStoreRequest {
        var request = AppStoreRequest(audience: .advancedCommerce)
        request.content = content
        return request
    }

    private init(audience: Audience) { self.audience = audience }

    /// Returns the claims of this kind of request, in the order of Apple's page. Throws `claimInvalid`.
    func claims() throws(SignedDataError) -> [(String, JSONValue)] {
        var claims: [(String, JSONValue)] = []
        if let productID { claims.append(("productId", .string(productID.rawValue))) }
        if let offerID {
            try Claim.check(offerID, is: "offer (offerIdentifier)")
            claims.append(("offerIdentifier", .string(offerID)))
        }
        if let allowsIntroductoryOffer { claims.append(("allowIntroductoryOffer", .bool(allowsIntroductoryOffer))) }
        if let transactionID { claims.append(("transactionId", .string(transactionID.rawValue))) }
        if let content {
            guard Self.isObject(content) else {
                throw SignedDataError(.claimInvalid, "An Advanced Commerce request is a JSON object; this is not one.")
            }
            claims.append(("request", .string(Base64.encode(content))))
        }
        return claims
    }

    /// Creates a request from a token. Throws `claimInvalid` for an unknown audience, and `payloadMalformed` for a
    /// claim that is missing or has the wrong type.
    init(_ token: ServerJWT) throws(SignedDataError) {
        let audience = Audience(rawValue: try token.text("aud"))
        switch audience {
        case .promotionalOffer:
            self = .promotionalOffer(
                try token.text("offerIdentifier"), for: try Self.product(token),
                transactionID: try Self.transaction(token))
        case .introductoryOfferEligibility:
            guard let transaction = try Self.transaction(token) else {
                throw ServerJWT.missing("transactionId", "a string")
            }
            self = .introductoryOfferEligibility(
                try token.bool("allowIntroductoryOffer"), for: try Self.product(token), transactionID: transaction)
        case .advancedCommerce:
            guard let content = Base64.decode(try token.text("request")), Self.isObject(content) else {
                throw ServerJWT.missing("request", "the base64 of a JSON object")
            }
            self = .advancedCommerce(content)
        default:
            throw SignedDataError(
                .claimInvalid,
                "The audience (aud) \(Excerpt(audience.rawValue)) is not one of a request to the App Store."
            )
        }
    }

    private static func isObject(_ content: [UInt8]) -> Bool {
        if case .object? = try? JSONValue(parsing: content, depth: 32) { true } else { false }
    }

    private static func product(_ token: ServerJWT) throws(SignedDataError) -> ProductID {
        guard let product = ProductID(rawValue: try token.text("productId")) else {
            throw ServerJWT.missing("productId", "with \(ProductID.rule)")
        }
        return product
    }

    private static func transaction(_ token: ServerJWT) throws(SignedDataError) -> TransactionID? {
        guard let text = try token.optionalText("transactionId") else { return nil }
        guard let transaction = TransactionID(rawValue: text) else {
            throw ServerJWT.missing("transactionId", "with \(TransactionID.rule)")
        }
        return transaction
    }
}
