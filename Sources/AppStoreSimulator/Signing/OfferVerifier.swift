import Foundation
import Primitives
import SignedData
import StoreModel

/// Verifies the signatures of an app's server on a payment's offers, as the App Store does.
///
/// It accepts the store's key for the App Store Server API and the key of the catalogue file. A signature is valid for
/// one purchase, and for a day of real or virtual time. An offer without a signature is sold as well, as in StoreKit
/// testing in Xcode.
struct OfferVerifier: Sendable {
    private let keys: [String: VerificationKey]
    private let requests: AppStoreRequestVerifier
    private let bundleID: BundleID

    /// Throws `SignedDataError` if the store's own key cannot be read. An invalid key in the catalogue is ignored.
    init(_ summary: SimulatedAppStore.Summary, _ offersKey: OffersKey?) throws {
        let own = try SigningKey(Array(Data(contentsOf: URL(fileURLWithPath: summary.serverAPI.privateKey))))
        var keys = [summary.serverAPI.keyID: own.verificationKey]
        if let offersKey, let der = Base64.decode(offersKey.privateKey), let key = try? SigningKey(der) {
            keys[offersKey.id] = key.verificationKey
        }
        self.keys = keys
        bundleID = summary.bundleID
        requests = AppStoreRequestVerifier(keys: keys, issuerID: summary.serverAPI.issuerID, bundleID: bundleID)
    }

    /// Verifies the signatures of a payment. Returns whether the customer gets the introductory offer; `nil` if the
    /// app's server did not decide.
    ///
    /// `wallClock` is the real time. Throws `StoreFailure` (`invalidOfferSignature`, `missingOfferParameters`).
    func verify(_ payment: Payment, in event: SimulatorEvent, wallClock: Date) throws -> Bool? {
        let instants = [event.now, wallClock]
        do {
            if let offer = payment.offer, offer.kind == .promotional {
                try verify(offer, of: payment, in: event, at: instants)
            }
            guard let jws = payment.introductoryOfferEligibility else { return nil }
            let signed = try verified(jws, at: instants)
            let request = signed.request
            guard let isAllowed = request.allowsIntroductoryOffer, request.productID == payment.productID else {
                throw Self.invalid("The introductory offer's signature is for another product or another purpose.")
            }
            try use(signed, in: event)
            return isAllowed
        } catch let error as SignedDataError {
            throw Self.invalid(error.reason)
        }
    }

    private func verify(_ offer: PaymentOffer, of payment: Payment, in event: SimulatorEvent, at instants: [Date])
        throws
    {
        guard !offer.id.isEmpty, offer.compactJWS != "" else { throw Self.missing }
        if let signature = offer.signature {
            guard !signature.keyID.isEmpty, !signature.signature.isEmpty else { throw Self.missing }
            try verify(signature, of: offer.id, for: payment.productID, payment.appAccountToken, at: instants)
            try use(signature.nonce, in: event)
        }
        guard let jws = offer.compactJWS else { return }
        let signed = try verified(jws, at: instants)
        let request = signed.request
        guard request.audience == .promotionalOffer, request.productID == payment.productID,
            request.offerID == offer.id
        else { throw Self.invalid("The offer's signature is for another product, another offer or another purpose.") }
        try use(signed, in: event)
    }

    /// Verifies the signature, version 1, of an offer. Throws `SignedDataError`.
    func verify(
        _ signature: OfferSignature, of offerID: String, for product: ProductID, _ appAccountToken: UUID?,
        at instants: [Date]
    ) throws {
        guard let key = keys[exactly: signature.keyID] else {
            throw SignedDataError(
                .unknownKey, "The key \(signature.keyID), which signed the offer, is not a key of the store.")
        }
        let subject = PromotionalOffer(
            bundleID: bundleID, productID: product, offerID: offerID, appAccountToken: appAccountToken)
        try current(at: instants) { try signature.verify(for: subject, key: key, at: $0) }
    }

    /// Verifies a request of the app's server. Throws `SignedDataError`.
    func verified(_ jws: String, at instants: [Date]) throws -> SignedAppStoreRequest {
        try current(at: instants) { try requests.verify(jws, at: $0) }
    }

    /// Returns the result of `verify` for the first instant at which the signature is current.
    private func current<Value>(at instants: [Date], _ verify: (Date) throws -> Value) throws -> Value {
        for instant in instants.dropLast() {
            do { return try verify(instant) } catch let error as SignedDataError where error.code == .notCurrent {}
        }
        return try verify(instants[instants.count - 1])
    }

    /// Checks the customer and uses up the nonce. The request can name a transaction or the app transaction of the
    /// customer.
    private func use(_ signed: SignedAppStoreRequest, in event: SimulatorEvent) throws {
        if let id = signed.request.transactionID, id.rawValue != event.account.appTransactionID {
            let owner = try id.number.flatMap { try event.db.transaction($0, at: event.now) }?.0.accountID
            guard owner == event.account.id else {
                throw Self.invalid("The signature is for another customer: it names the transaction \(id).")
            }
        }
        try use(signed.nonce, in: event)
    }

    private func use(_ nonce: UUID, in event: SimulatorEvent) throws {
        guard try event.db.take(nonce: nonce) else {
            throw Self.invalid("The signature was used before; each is valid for one purchase.")
        }
    }

    private static func invalid(_ reason: String) -> StoreFailure {
        StoreFailure(code: .invalidOfferSignature, reason: reason)
    }

    private static let missing = StoreFailure(
        code: .missingOfferParameters, reason: "The id, the key id or the signature of the offer is empty.")
}
