import Foundation
import Primitives

/// POST `/v1/customers/{customer}/offer-signatures`: requests the signature of a promotional offer.
package struct OfferSignatureRequest: Codable, Hashable, Sendable {
    package var productID: ProductID
    package var offerID: String
    /// A UUID for one purchase. The server chooses one if it is `nil`.
    package var nonce: UUID?

    package init(productID: ProductID, offerID: String, nonce: UUID? = nil) {
        self.productID = productID
        self.offerID = offerID
        self.nonce = nonce
    }
}

/// POST `/v1/customers/{customer}/offer-signatures`: a promotional offer with its signatures, for one purchase.
///
/// Use one of the two signatures. Both have the same nonce, and the store accepts a nonce once.
public struct SignedOffer: Hashable, Sendable {
    /// The product.
    public var productID: ProductID
    /// The identifier of the offer at the store.
    public var offerID: String
    /// The app account token that the payment must have, or `nil` if it must have none.
    public var appAccountToken: UUID?
    /// The signature of version 1.
    public var signature: OfferSignature
    /// The signature of version 2: a JWS in compact serialization.
    public var compactJWS: String

    /// Creates a signed offer.
    ///
    /// - Parameters:
    ///   - productID: The product.
    ///   - offerID: The identifier of the offer at the store.
    ///   - appAccountToken: The app account token that the payment must have.
    ///   - signature: The signature of version 1.
    ///   - compactJWS: The signature of version 2.
    public init(
        productID: ProductID, offerID: String, appAccountToken: UUID? = nil, signature: OfferSignature,
        compactJWS: String
    ) {
        self.productID = productID
        self.offerID = offerID
        self.appAccountToken = appAccountToken
        self.signature = signature
        self.compactJWS = compactJWS
    }
}

extension SignedOffer: Codable {
    private enum CodingKeys: String, CodingKey {
        case productID, offerID, appAccountToken, keyID, nonce, timestamp, signature, compactJWS
    }

    /// Decodes a signed offer. The parts of the signature are members beside the others.
    ///
    /// - Parameter decoder: The decoder to read from.
    /// - Throws: `DecodingError` if a required member is missing or a value does not fit.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            productID: try container.decode(ProductID.self, forKey: .productID),
            offerID: try container.decode(String.self, forKey: .offerID),
            appAccountToken: try container.decodeIfPresent(UUID.self, forKey: .appAccountToken),
            signature: try OfferSignature(from: decoder),
            compactJWS: try container.decode(String.self, forKey: .compactJWS))
    }

    /// Encodes the offer, with UUIDs in lower case, as they are signed.
    ///
    /// - Parameter encoder: The encoder to write to.
    /// - Throws: `EncodingError` if the encoder cannot express a value.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(productID, forKey: .productID)
        try container.encode(offerID, forKey: .offerID)
        try container.encodeIfPresent(appAccountToken?.uuidString.lowercased(), forKey: .appAccountToken)
        try container.encode(signature.keyID, forKey: .keyID)
        try container.encode(signature.nonce.uuidString.lowercased(), forKey: .nonce)
        try container.encode(signature.timestamp, forKey: .timestamp)
        try container.encode(Base64.encode(signature.signature), forKey: .signature)
        try container.encode(compactJWS, forKey: .compactJWS)
    }
}

/// Whether a customer is eligible for an offer.
public struct OfferEligibility: Codable, Hashable, Sendable {
    /// The identifier of a promotional offer at the store, or `nil` for the introductory offer.
    public var offerID: String?
    /// Whether the customer is eligible.
    public var isEligible: Bool
    /// The reason why the customer is not eligible, or `nil`.
    public var reason: Reason?

    /// Creates an eligibility.
    ///
    /// - Parameters:
    ///   - offerID: The identifier of a promotional offer at the store, or `nil` for the introductory offer.
    ///   - isEligible: Whether the customer is eligible.
    ///   - reason: The reason why the customer is not eligible.
    public init(offerID: String? = nil, isEligible: Bool, reason: Reason? = nil) {
        self.offerID = offerID
        self.isEligible = isEligible
        self.reason = reason
    }

    /// A reason, from an open set.
    public typealias Reason = OpenEnum<OfferEligibility>
}

extension OfferEligibility.Reason {
    /// The customer never had a subscription of the product's group.
    public static var neverSubscribed: Self { Self(rawValue: "neverSubscribed") }
    /// The customer has used the offer before; of introductory offers, any one of the group.
    public static var alreadyUsed: Self { Self(rawValue: "alreadyUsed") }
    /// The customer does not meet a condition of the offer.
    public static var conditionNotMet: Self { Self(rawValue: "conditionNotMet") }
}

/// A product with the customer's eligibility for its offers.
public struct ProductEligibility: Codable, Hashable, Sendable {
    /// The product.
    public var productID: ProductID
    /// The subscription group of the product.
    public var groupID: String
    /// The eligibility for the introductory offer, if the product has one.
    public var introductoryOffer: OfferEligibility
    /// The eligibility for each promotional offer that the server signs.
    public var promotionalOffers: [OfferEligibility]

    /// Creates a product.
    ///
    /// - Parameters:
    ///   - productID: The product.
    ///   - groupID: The subscription group of the product.
    ///   - introductoryOffer: The eligibility for the introductory offer.
    ///   - promotionalOffers: The eligibility for each promotional offer.
    public init(
        productID: ProductID, groupID: String, introductoryOffer: OfferEligibility,
        promotionalOffers: [OfferEligibility] = []
    ) {
        self.productID = productID
        self.groupID = groupID
        self.introductoryOffer = introductoryOffer
        self.promotionalOffers = promotionalOffers
    }
}

/// GET `/v1/customers/{customer}/offer-eligibility`: the offers that a customer can use, as the ledger states.
public struct OfferEligibilityAnswer: Codable, Hashable, Sendable {
    /// The customer.
    public var customer: CustomerID
    /// The environment.
    public var environment: StoreEnvironment
    /// The instant of the answer.
    public var asOf: Date
    /// The products of the app's subscription groups, or the one in the request.
    public var products: [ProductEligibility]

    /// Creates an answer.
    ///
    /// - Parameters:
    ///   - customer: The customer.
    ///   - environment: The environment.
    ///   - asOf: The instant of the answer.
    ///   - products: The products of the app's subscription groups.
    public init(customer: CustomerID, environment: StoreEnvironment, asOf: Date, products: [ProductEligibility]) {
        self.customer = customer
        self.environment = environment
        self.asOf = asOf
        self.products = products
    }
}
