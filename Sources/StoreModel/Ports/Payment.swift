import Foundation
import Primitives

/// What an app asks the store to sell.
public struct Payment: Hashable, Sendable, Codable {
    public var id: PaymentID
    public var productID: ProductID
    /// 1 to 10; more than one only of consumables and of non-renewing subscriptions.
    public var quantity: Int
    /// Binds the purchase to a customer; set for every purchase of a known one.
    public var appAccountToken: UUID?
    /// The offer under which a subscription is bought.
    public var offer: PaymentOffer?
    /// The app's server's word, a JWS in compact serialization, on whether this customer gets the introductory offer;
    /// without it the store decides (Apple: `introductoryOfferEligibility(compactJWS:)`).
    public var introductoryOfferEligibility: String?
    /// Test stores ask for somebody's approval before they sell.
    public var simulatesAskToBuy: Bool

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

    /// With a promotional offer by its identifier alone, for stores that ask for no signature.
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

    /// `quantity` is 1 unless given; `offerID` may stand for an unsigned promotional `offer`.
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

/// An offer that a payment asks for, with what proves that this customer may have it.
///
///     PaymentOffer.promotional("comeback", signature: signature)
public struct PaymentOffer: Hashable, Sendable, Codable {
    public var kind: Kind
    /// The offer's identifier at the store.
    public var id: String
    /// The app's server's signature of version 1; of a promotional offer only.
    public var signature: OfferSignature?
    /// The app's server's signature of version 2, a JWS in compact serialization; of a promotional offer only.
    public var compactJWS: String?

    public init(kind: Kind, id: String, signature: OfferSignature? = nil, compactJWS: String? = nil) {
        self.kind = kind
        self.id = id
        self.signature = signature
        self.compactJWS = compactJWS
    }

    public static func promotional(_ id: String, signature: OfferSignature) -> PaymentOffer {
        PaymentOffer(kind: .promotional, id: id, signature: signature)
    }

    public static func promotional(_ id: String, compactJWS: String) -> PaymentOffer {
        PaymentOffer(kind: .promotional, id: id, compactJWS: compactJWS)
    }

    /// For those who let the subscription lapse; the store knows who may have it.
    public static func winBack(_ id: String) -> PaymentOffer { PaymentOffer(kind: .winBack, id: id) }

    /// An open set: an unknown kind is kept.
    public typealias Kind = OpenEnum<PaymentOffer>
}

/// What an app's server signed to allow one purchase with a promotional offer, version 1 (Apple: Generating a signature
/// for promotional offers).
public struct OfferSignature: Hashable, Sendable {
    /// The key's name at the store.
    public var keyID: String
    /// Makes the signature good for one purchase.
    public var nonce: UUID
    /// When it was signed, in milliseconds since 1970; stores accept it for a day.
    public var timestamp: Int64
    /// ECDSA in DER; base64 in JSON.
    public var signature: [UInt8]

    public init(keyID: String, nonce: UUID, timestamp: Int64, signature: [UInt8]) {
        self.keyID = keyID
        self.nonce = nonce
        self.timestamp = timestamp
        self.signature = signature
    }
}

extension OfferSignature: Codable {
    private enum CodingKeys: String, CodingKey { case keyID, nonce, timestamp, signature }

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

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(keyID, forKey: .keyID)
        try container.encode(nonce, forKey: .nonce)
        try container.encode(timestamp, forKey: .timestamp)
        try container.encode(Base64.encode(signature), forKey: .signature)
    }
}

/// An offer code that a customer wants to redeem.
public struct OfferCodeRedemption: Hashable, Sendable, Codable {
    /// `nil` lets the store ask the customer, on its own sheet, where it has one.
    public var code: String?
    /// Binds what the code gives to a customer, where the store can.
    public var appAccountToken: UUID?

    public init(code: String? = nil, appAccountToken: UUID? = nil) {
        self.code = code
        self.appAccountToken = appAccountToken
    }
}

/// A purchase that the customer has begun in the store itself, and that the app is to go on with (Apple:
/// `PurchaseIntent`).
public struct PromotedPurchase: Hashable, Sendable, Codable, Identifiable {
    public var productID: ProductID
    /// The offer under which the store showed the product, a win-back offer for example.
    public var offer: PaymentOffer?

    public init(productID: ProductID, offer: PaymentOffer? = nil) {
        self.productID = productID
        self.offer = offer
    }

    /// Who begins it twice has begun one.
    public var id: ProductID { productID }
}

extension PaymentOffer.Kind {
    public static var promotional: Self { Self(rawValue: "promotional") }
    public static var winBack: Self { Self(rawValue: "winBack") }
}
