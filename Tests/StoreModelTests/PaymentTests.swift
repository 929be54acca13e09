import Foundation
import Primitives
import Testing

@testable import StoreModel

struct PaymentTests {
    private let nonce = UUID(uuid: (1, 2, 3, 4, 5, 6, 0x47, 8, 0x89, 10, 11, 12, 13, 14, 15, 16))

    private func decoded(_ text: String) throws -> Payment { try WireJSON.decode(Payment.self, from: Array(text.utf8)) }

    @Test func `a payment survives encoding, whatever its offer`() throws {
        let signature = OfferSignature(
            keyID: "key", nonce: nonce, timestamp: 1_767_225_600_123, signature: [0, 255, 7])
        let offers: [PaymentOffer?] = [
            nil, .promotional("half", signature: signature), .promotional("half", compactJWS: "a.b.c"),
            .winBack("back"), PaymentOffer(kind: .init(rawValue: "of a later version"), id: "x"),
        ]
        for offer in offers {
            var payment = Payment(id: "p", productID: "plus", quantity: 3, appAccountToken: nonce, offer: offer)
            #expect(try WireJSON.decode(Payment.self, from: WireJSON.encode(payment)) == payment)
            (payment.introductoryOfferEligibility, payment.simulatesAskToBuy) = ("d.e.f", true)
            #expect(try WireJSON.decode(Payment.self, from: WireJSON.encode(payment)) == payment)
        }
    }

    @Test func `a payment needs only an id and a product, and an offer only its identifier`() throws {
        #expect(try decoded(#"{"id": "p", "productID": "plus"}"#) == Payment(id: "p", productID: "plus"))
        let offered = try decoded(#"{"id": "p", "productID": "plus", "quantity": 1, "offerID": "half"}"#)
        #expect(offered == Payment(id: "p", productID: "plus", offerID: "half"))
        #expect(offered.offerID == "half" && offered.offer?.kind == .promotional)
        #expect(Payment(id: "p", productID: "plus", offerID: nil).offer == nil)
    }

    @Test func `a signature that is not base64 is refused with its place`() throws {
        let text = """
            {"id": "p", "productID": "plus", "offer": {"kind": "promotional", "id": "half", "signature":
             {"keyID": "key", "nonce": "\(nonce)", "timestamp": 1, "signature": "*"}}}
            """
        #expect {
            _ = try decoded(text)
        } throws: { error in
            guard case DecodingError.dataCorrupted(let context) = error else { return false }
            return context.codingPath.map(\.stringValue) == ["offer", "signature", "signature"]
        }
    }

    @Test func `a signed promotional offer is paid for with its signature, or not at all`() {
        let signedAt = Date(timeIntervalSince1970: 1_767_225_600.123)
        let whole = PromoOffer(
            productDiscount: ProductDiscount(identifier: "half"), identifier: "half", keyIdentifier: "key",
            nonce: nonce, signedAt: signedAt, signature: [7])
        #expect(
            PaymentOffer(whole)
                == .promotional(
                    "half",
                    signature: OfferSignature(keyID: "key", nonce: nonce, timestamp: 1_767_225_600_123, signature: [7]))
        )
        let parts: [(inout PromoOffer) -> Void] = [
            { $0.keyIdentifier = "" }, { $0.nonce = nil }, { $0.signedAt = nil }, { $0.signature = [] },
            { $0.signedAt = .distantFuture.addingTimeInterval(1e18) },
        ]
        for leaveOut in parts {
            var part = whole
            leaveOut(&part)
            #expect(PaymentOffer(part) == nil)
            part.compactJWS = "a.b.c"
            #expect(PaymentOffer(part) == .promotional("half", compactJWS: "a.b.c"))
        }
        let bare = PromoOffer(productDiscount: ProductDiscount(identifier: "half"), identifier: "half")
        #expect(PaymentOffer(bare) == PaymentOffer(kind: .promotional, id: "half"))
    }
}
