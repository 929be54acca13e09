import Foundation
import Primitives

/// A request to the store to buy a product.
public struct Payment: Hashable, Sendable, Codable {
    /// The identifier of the payment, which each update about it has.
    public var id: PaymentID
    /// The product to buy.
    public var productID: ProductID
    /// The number of units, 1 to 10. Only consumables and non-renewing subscriptions can have more than one.
    public var quantity: Int
    /// The app account token, which binds the purchase to a customer. It is set if the customer is logged in.
    public var appAccountToken: UUID?
    /// The offer under which the customer buys a subscription.
    public var offer: PaymentOffer?
    /// A JWS in compact serialization with which the app's server decides whether the customer is eligible for the
    /// introductory offer. Without it the store decides (Apple: `introductoryOfferEligibility(compactJWS:)`).
    public var introductoryOfferEligibility: String?
    /// Whether a test store asks for approval before it sells the product.
    public var simulatesAskToBuy: Bool

    /// Creates a payment.
    ///
    /// - Parameters:
    ///   - id: The identifier of the payment, which each update about it has.
    ///   - productID: The product to buy.
    ///   - quantity: The number of units, 1 to 10.
    ///   - appAccountToken: The app account token, which binds the purchase to a customer.
    ///   - offer: The offer under which the customer buys a subscription.
    ///   - introductoryOfferEligibility: A JWS in compact serialization with which the app's server decides whether the
    ///     customer is eligible for the introductory offer.
    ///   - simulatesAskToBuy: Whether a test store asks for approval before it sells the product.
    public init(
        id: PaymentID, productID: ProductID, quantity: Int = 1, appAccountToken: UUID? = nil,
        offer: PaymentOffer? = nil, introductoryOfferEligibility: String? = nil, simulatesAskToBuy: Bool = false
    ) {
        self.id = id
        self.productID = productID
        self.quantity = quantity
        self.appAccountToken = appAccountToken
        self.offer = offer
        self.introductoryOfferEligibility = introductoryOfferEligibility
        self.simulatesAskToBuy = simulatesAskToBuy
    }

    /// Creates a payment with a promotional offer that has no signature, for stores that need none.
    ///
    /// - Parameters:
    ///   - id: The identifier of the payment.
    ///   - productID: The product to buy.
    ///   - quantity: The number of units.
    ///   - appAccountToken: The app account token.
    ///   - offerID: The identifier of a promotional offer, or `nil` for no offer.
    public init(
        id: PaymentID, productID: ProductID, quantity: Int = 1, appAccountToken: UUID? = nil, offerID: String?
    ) {
        self.init(
            id: id, productID: productID, quantity: quantity, appAccountToken: appAccountToken,
            offer: offerID.map { PaymentOffer(kind: .promotional, id: $0) })
    }

    /// The identifier of the offer.
    public var offerID: String? { offer?.id }

    private enum CodingKeys: String, CodingKey {
        case id, productID, quantity, appAccountToken, offer, offerID, introductoryOfferEligibility, simulatesAskToBuy
    }

    /// Decodes a payment. `quantity` is 1 by default. `offerID` can replace `offer` for a promotional offer without a
    /// signature.
    ///
    /// - Parameter decoder: The decoder to read from.
    /// - Throws: `DecodingError` if a required member is missing or a value does not fit.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let offerID = try container.decodeIfPresent(String.self, forKey: .offerID)
        self.init(
            id: try container.decode(PaymentID.self, forKey: .id),
            productID: try container.decode(ProductID.self, forKey: .productID),
            quantity: try container.decodeIfPresent(Int.self, forKey: .quantity) ?? 1,
            appAccountToken: try container.decodeIfPresent(UUID.self, forKey: .appAccountToken),
            offer: try container.decodeIfPresent(PaymentOffer.self, forKey: .offer)
                ?? offerID.map { PaymentOffer(kind: .promotional, id: $0) },
            introductoryOfferEligibility: try container.decodeIfPresent(
                String.self, forKey: .introductoryOfferEligibility),
            simulatesAskToBuy: try container.decodeIfPresent(Bool.self, forKey: .simulatesAskToBuy) ?? false)
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(id, forKey: .id)
        try container.encode(productID, forKey: .productID)
        try container.encode(quantity, forKey: .quantity)
        try container.encodeIfPresent(appAccountToken, forKey: .appAccountToken)
        try container.encodeIfPresent(offer, forKey: .offer)
        try container.encodeIfPresent(introductoryOfferEligibility, forKey: .introductoryOfferEligibility)
        if simulatesAskToBuy { try container.encode(true, forKey: .simulatesAskToBuy) }
    }
}

/// An offer that a payment requests, with the proof that the customer is eligible.
///
///     PaymentOffer.promotional("comeback", signature: signature)
public struct PaymentOffer: Hashable, Sendable, Codable {
    /// The kind of the offer.
    public var kind: Kind
    /// The identifier of the offer at the store.
    public var id: String
    /// The signature of the app's server, version 1. Only for promotional offers.
    public var signature: OfferSignature?
    /// The signature of the app's server, version 2: a JWS in compact serialization. Only for promotional offers.
    public var compactJWS: String?

    /// Creates an offer.
    ///
    /// - Parameters:
    ///   - kind: The kind of the offer.
    ///   - id: The identifier of the offer at the store.
    ///   - signature: The signature of the app's server, version 1.
    ///   - compactJWS: The signature of the app's server, version 2: a JWS in compact serialization.
    public init(kind: Kind, id: String, signature: OfferSignature? = nil, compactJWS: String? = nil) {
        self.kind = kind
        self.id = id
        self.signature = signature
        self.compactJWS = compactJWS
    }

    /// Returns a promotional offer with a signature of version 1.
    ///
    /// - Parameters:
    ///   - id: The identifier of the offer at the store.
    ///   - signature: The signature of the app's server.
    /// - Returns: The offer.
    public static func promotional(_ id: String, signature: OfferSignature) -> PaymentOffer {
        PaymentOffer(kind: .promotional, id: id, signature: signature)
    }

    /// Returns a promotional offer with a signature of version 2.
    ///
    /// - Parameters:
    ///   - id: The identifier of the offer at the store.
    ///   - compactJWS: The signature of the app's server.
    /// - Returns: The offer.
    public static func promotional(_ id: String, compactJWS: String) -> PaymentOffer {
        PaymentOffer(kind: .promotional, id: id, compactJWS: compactJWS)
    }

    /// Returns a win-back offer, for a customer whose subscription has expired. The store decides who is eligible.
    ///
    /// - Parameter id: The identifier of the offer at the store.
    /// - Returns: The offer.
    public static func winBack(_ id: String) -> PaymentOffer { PaymentOffer(kind: .winBack, id: id) }

    /// The kind of an offer, from an open set: an unknown kind is kept.
    public typealias Kind = OpenEnum<PaymentOffer>
}

/// The signature with which an app's server allows one purchase with a promotional offer, version 1 (Apple: Generating
/// a signature for promotional offers).
public struct OfferSignature: Hashable, Sendable {
    /// The identifier of the key at the store.
    public var keyID: String
    /// A UUID that limits the signature to one purchase.
    public var nonce: UUID
    /// The time of the signature, in milliseconds since 1970. Stores accept it for a day.
    public var timestamp: Int64
    /// The ECDSA signature in DER, encoded in JSON as base64.
    public var signature: [UInt8]

    /// Creates a signature.
    ///
    /// - Parameters:
    ///   - keyID: The identifier of the key at the store.
    ///   - nonce: A UUID that limits the signature to one purchase.
    ///   - timestamp: The time of the signature, in milliseconds since 1970.
    ///   - signature: The ECDSA signature in DER, encoded in JSON as base64.
    public init(keyID: String, nonce: UUID, timestamp: Int64, signature: [UInt8]) {
        self.keyID = keyID
        self.nonce = nonce
        self.timestamp = timestamp
        self.signature = signature
    }
}

extension OfferSignature: Codable {
    private enum CodingKeys: String, CodingKey { case keyID, nonce, timestamp, signature }

    /// Decodes a signature.
    ///
    /// - Parameter decoder: The decoder to read from.
    /// - Throws: `DecodingError` if a member is missing, or if `signature` is not base64.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        guard let signature = Base64.decode(try container.decode(String.self, forKey: .signature)) else {
            throw DecodingError.dataCorruptedError(
                forKey: .signature, in: container, debugDescription: "a signature is base64")
        }
        self.init(
            keyID: try container.decode(String.self, forKey: .keyID),
            nonce: try container.decode(UUID.self, forKey: .nonce),
            timestamp: try container.decode(Int64.self, forKey: .timestamp), signature: signature)
    }

    /// Encodes a signature.
    ///
    /// - Parameter encoder: The encoder to write to.
    /// - Throws: `EncodingError` if the encoder cannot express a value.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(keyID, forKey: .keyID)
        try container.encode(nonce, forKey: .nonce)
        try container.encode(timestamp, forKey: .timestamp)
        try container.encode(Base64.encode(signature), forKey: .signature)
    }
}

/// An offer code that a customer redeems.
public struct OfferCodeRedemption: Hashable, Sendable, Codable {
    /// The code, or `nil` if the customer enters it in a sheet of the store.
    public var code: String?
    /// The app account token, which binds the purchase to a customer if the store supports it.
    public var appAccountToken: UUID?

    /// Creates a redemption.
    ///
    /// - Parameters:
    ///   - code: The code, or `nil` if the customer enters it in a sheet of the store.
    ///   - appAccountToken: The app account token, which binds the purchase to a customer if the store supports it.
    public init(code: String? = nil, appAccountToken: UUID? = nil) {
        self.code = code
        self.appAccountToken = appAccountToken
    }
}

/// A purchase that the customer began in the App Store and that the app continues (Apple: `PurchaseIntent`).
public struct PromotedPurchase: Hashable, Sendable, Codable, Identifiable {
    /// The product to buy.
    public var productID: ProductID
    /// The offer that the store showed with the product, for example a win-back offer.
    public var offer: PaymentOffer?

    /// Creates a promoted purchase.
    ///
    /// - Parameters:
    ///   - productID: The product to buy.
    ///   - offer: The offer that the store showed with the product, for example a win-back offer.
    public init(productID: ProductID, offer: PaymentOffer? = nil) {
        self.productID = productID
        self.offer = offer
    }

    /// The product. A purchase that the customer begins twice is one purchase.
    public var id: ProductID { productID }
}

extension PaymentOffer.Kind {
    /// An offer that the app's server signs, for current or former subscribers.
    public static var promotional: Self { Self(rawValue: "promotional") }
    /// An offer to a customer whose subscription has expired.
    public static var winBack: Self { Self(rawValue: "winBack") }
}
