import AppStorePayloads
import Foundation
import SignedData
import StoreModel

/// The retention messages of an app: the rules that choose one, and the key that signs promotional offers.
package struct RetentionMessages: Sendable {
    let rules: RetentionRules
    private let key: AppStoreConnectKey?

    /// - Parameter key: The app's key of App Store Connect for in-app purchases. It is required if a rule has a
    ///   promotional offer.
    package init(_ rules: RetentionRules, key: AppStoreConnectKey? = nil) {
        self.rules = rules
        self.key = key
    }

    /// Returns the response to a request.
    ///
    /// - Parameters:
    ///   - nonce: A UUID for this response only.
    ///   - instant: The real time, from which Apple counts the lifetime of a signature.
    /// - Throws: `SignedDataError` if an offer cannot be signed.
    func response(
        _ answer: RetentionRules.Answer, to request: RetentionRequest, nonce: UUID, at instant: Date
    ) throws(SignedDataError) -> AppStoreServerAPI.RealtimeResponseBody {
        var body = AppStoreServerAPI.RealtimeResponseBody()
        switch answer {
        case .noMessage: break
        case .message(let id): body.message = .init { $0.messageIdentifier = id }
        case .alternateProduct(let product, let message):
            body.alternateProduct = .init {
                $0.messageIdentifier = message
                $0.productId = product.rawValue
            }
        case .promotionalOffer(let offerID, let message, let version):
            guard let key else { throw SignedDataError(.unknownKey, "There is no key for promotional offers.") }
            var offer = AppStoreServerAPI.PromotionalOffer { $0.messageIdentifier = message }
            switch version {
            case .v1:
                let signature = try key.sign(offerID, of: request.productID, nonce: nonce, at: instant)
                offer.promotionalOfferSignatureV1 = .init {
                    $0.encodedSignature = signature.base64
                    $0.productId = request.productID.rawValue
                    $0.nonce = signature.nonce
                    $0.timestamp = Int(signature.timestamp)
                    $0.keyId = signature.keyID
                    $0.offerIdentifier = offerID
                }
            case .v2:
                offer.promotionalOfferSignatureV2 = try key.sign(
                    .promotionalOffer(offerID, for: request.productID, transactionID: request.originalTransactionID),
                    nonce: nonce, at: instant)
            }
            body.promotionalOffer = offer
        }
        return body
    }

    fileprivate func check(_ app: EntitlementService.Configuration.App) throws(EntitlementServerError) {
        guard app.appAppleID != nil else {
            throw EntitlementServerError(
                .invalidConfiguration,
                "The retention rules of \(app.bundleID) need its Apple ID, by which a request names the app; give "
                    + "--app-apple-id.")
        }
        guard key == nil, let rule = rules.rules.first(where: \.answer.isSigned) else { return }
        throw EntitlementServerError(
            .invalidConfiguration,
            "The retention rule \"\(rule.name)\" of \(app.bundleID) has a promotional offer, which must be signed; "
                + "give --app-store-key.")
    }
}

extension RetentionRules.Answer {
    /// The kind of the answer, for metrics.
    var kind: String {
        switch self {
        case .noMessage: "none"
        case .message: "message"
        case .alternateProduct: "alternateProduct"
        case .promotionalOffer: "promotionalOffer"
        }
    }

    fileprivate var isSigned: Bool {
        if case .promotionalOffer = self { true } else { false }
    }
}

extension EntitlementService.Configuration.App {
    /// Checks that the server can answer with the retention messages of the app.
    package func checkRetentionMessages() throws(EntitlementServerError) { try retentionMessages?.check(self) }
}

extension EntitlementService.Configuration {
    func checkRetentionMessages() throws(EntitlementServerError) {
        for (index, app) in apps.enumerated() where app.retentionMessages != nil {
            try app.checkRetentionMessages()
            for (otherIndex, other) in apps.enumerated() where otherIndex != index && other.appAppleID == app.appAppleID
            {
                throw EntitlementServerError(
                    .invalidConfiguration,
                    "\(app.bundleID) and \(other.bundleID) have the same Apple ID, so a request for a retention "
                        + "message could be for either.")
            }
        }
    }
}
