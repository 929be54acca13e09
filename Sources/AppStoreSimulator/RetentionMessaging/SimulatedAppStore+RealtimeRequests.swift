import AppStorePayloads
import Foundation
import HTTPCore
import Primitives
import SQLStorage
import SignedData
import SimulatorControl
import StoreKitAdapter
import StoreModel

/// The messages that customers see before they cancel a subscription.
extension SimulatedAppStore {
    /// Opens the screen on which a customer can cancel a subscription, and returns the message there.
    ///
    /// The store asks the app's server for a message if the setting `realtimeURL` is set. If the server does not choose a
    /// valid message within `Configuration.realtimeTimeout`, the default message of the product and locale is shown. The
    /// subscription does not change.
    ///
    /// - Parameters:
    ///   - product: The current or next product of the subscription.
    ///   - account: The account.
    ///   - locale: The locale of the device, such as `en-US`; `nil` means that of the catalogue.
    /// - Returns: The message, and the results of the request to the server.
    /// - Throws: `SimulatorError` (`unknownAccount`, `unknownSubscription`; `invalidValue` for an invalid locale).
    @discardableResult
    public func showRetentionMessage(
        of product: ProductID, for account: AccountName, locale: String? = nil
    ) async throws -> StoreControlWire.RetentionMessage {
        let locale = locale ?? Self.defaultLocale(of: configuration)
        guard RetentionLocale.isValid(locale) else {
            throw SimulatorError(.invalidValue, "The locale should be a language and a region, such as en-US.")
        }
        let customer = try cancellingCustomer(of: product, account)
        var shown = StoreControlWire.RetentionMessage(
            number: 0, at: customer.now.wholeMilliseconds, account: account.rawValue,
            productID: customer.state.current.plan.productID,
            originalTransactionID: TransactionID(unchecked: "\(customer.state.record.originalID)"), locale: locale)
        let stored = try await ask(about: customer, &shown)
        if shown.source == .nothing { try showDefaultMessage(&shown) }
        return try await database.write { [shown] sql in
            let db = SimulatorDatabase(sql)
            guard let stored else { return try db.insert(shown, of: customer.account.id) }
            try db.replace(stored, with: shown)
            return shown
        }
    }

    /// Returns the message that a customer sees before cancelling; `nil` while the app's server has set up neither a URL
    /// nor a default message.
    func retentionMessageBeforeCancelling(
        _ product: ProductID, for account: AccountName, locale: String?
    ) async throws -> StoreControlWire.RetentionMessage? {
        let isSetUp = try database.read { sql in
            let db = SimulatorDatabase(sql)
            return try StoreSetting.realtimeURL.isSet(in: db.settings()) || db.hasDefaultMessages
        }
        guard isSetUp else { return nil }
        return try await showRetentionMessage(of: product, for: account, locale: locale)
    }

    /// Returns the messages that customers saw before they cancelled, oldest first.
    ///
    /// - Parameters:
    ///   - account: The account; `nil` means all.
    ///   - after: The number of the message after which the list begins.
    ///   - limit: The maximum number of messages.
    /// - Returns: The messages.
    /// - Throws: `SimulatorError` (`unknownAccount`).
    public func retentionMessages(
        of account: AccountName? = nil, after: Int64 = 0, limit: Int = 100
    ) throws -> [StoreControlWire.RetentionMessage] {
        try database.read { sql in
            let db = SimulatorDatabase(sql)
            let account = try account.map { try db.existingAccount($0).id }
            return try db.shownMessages(of: account, after: after, limit: limit)
        }
    }

    /// The locale of the catalogue's storefront as Apple writes it: `en-US` for `en_US`.
    static func defaultLocale(of configuration: Configuration) -> String {
        let locale = configuration.catalogue.storefront.locale.replacingOccurrences(of: "_", with: "-")
        return RetentionLocale.isValid(locale) ? locale : "en-US"
    }

    /// The App Store's number of the app: the one in the catalogue file, or 1.
    var appAppleID: Int { configuration.catalogue.settings.applicationInternalID.flatMap { Int($0) } ?? 1 }

    /// Signs a realtime request about a subscription.
    func signedRealtimeRequest(
        _ state: SubscriptionState, locale: String, _ id: UUID, at now: Date
    ) throws -> String {
        try signer.signer.sign(
            DecodedRealtimeRequestBody {
                $0.originalTransactionId = "\(state.record.originalID)"
                $0.appAppleId = appAppleID
                $0.productId = state.current.plan.productID.rawValue
                $0.userLocale = locale
                $0.requestIdentifier = id
                $0.environment = .sandbox
                $0.signedDate = StoreSigner.signedDate(now)
            })
    }

    private func cancellingCustomer(of product: ProductID, _ account: AccountName) throws -> CancellingCustomer {
        try read({ try $0.existingAccount(account) }) { db, account, now in
            let conditions = try db.conditions()
            let state = try db.runningSubscription(of: product, account) {
                SubscriptionState(of: $0, under: conditions, at: now)
            }
            return CancellingCustomer(account: account, state: state, now: now)
        }
    }

    // MARK: - The choice of the app's server

    /// Asks the app's server if the setting `realtimeURL` is set, and sets the chosen message or the reason why there is
    /// none. Returns the screen as it is stored before the request is sent; `nil` if none is sent.
    private func ask(
        about customer: CancellingCustomer, _ shown: inout StoreControlWire.RetentionMessage
    ) async throws -> StoreControlWire.RetentionMessage? {
        guard let url = try realtimeURL() else { return nil }
        guard let transport = configuration.notificationTransport else {
            shown.refusal = "This store was opened without a transport, so it sends no requests."
            return nil
        }
        let id: UUID
        (shown, id) = try await database.write { [shown] sql in
            let db = SimulatorDatabase(sql)
            let id = try db.nextRealtimeRequest()
            var screen = shown
            screen.requestIdentifier = id
            return (try db.insert(screen, of: customer.account.id), id)
        }
        let stored = shown
        let (result, body) = try await answer(of: url, over: transport) { [self] in
            try signedRealtimeRequest(customer.state, locale: shown.locale, id, at: customer.now)
        }
        shown.result = result.rawValue
        guard result == .success else {
            shown.refusal = "The server did not answer with status 200 in time."
            return stored
        }
        do {
            let choice = try RealtimeChoice(body)
            shown = try database.read { [shown] sql in
                try choice.message(
                    for: customer, in: SimulatorDatabase(sql), verifier: offerVerifier,
                    catalogue: configuration.catalogue, wallClock: configuration.baseClock.now(), shown)
            }
        } catch let refusal as RealtimeChoice.Refusal {
            shown.refusal = refusal.reason
        }
        return stored
    }

    /// Sends the request, with the errors and the latency that the settings inject. A cancelled request has failed.
    private func answer(
        of url: String, over transport: any HTTPTransport, _ sign: () throws -> String
    ) async throws -> (AppStoreServerAPI.SendAttemptResult, [UInt8]) {
        let settings = try database.read { try SimulatorDatabase($0).settings() }
        let timeout = configuration.realtimeTimeout
        let delay = Duration.seconds(settings[StoreSetting.realtimeLatency.name]?.doubleValue ?? 0)
        if delay > .zero { await pause(for: min(delay, timeout) / .seconds(1)) }
        guard delay < timeout else { return (.timedOut, []) }
        if StoreSetting.realtimeErrors.isSet(in: settings),
            let result = settings[StoreSetting.realtimeErrors.name]?.stringValue
        {
            return (.init(rawValue: result), [])
        }
        let delivery = NotificationDelivery(transport: transport, deadline: timeout - delay)
        do { return try await delivery.exchange(try sign(), to: url) } catch is CancellationError {
            return (.other, [])
        }
    }

    private func showDefaultMessage(_ shown: inout StoreControlWire.RetentionMessage) throws {
        shown = try database.read { [shown] sql in
            let db = SimulatorDatabase(sql)
            guard let id = try db.defaultMessage(of: shown.productID, locale: shown.locale),
                let message = try db.retentionMessage(id), try db.isApproved(message)
            else { return shown }
            return shown.showing(message, from: .defaultMessage)
        }
    }
}

/// A customer on the screen on which a subscription can be cancelled.
struct CancellingCustomer: Sendable {
    var account: SimulatorDatabase.Account
    var state: SubscriptionState
    var now: Date
}

/// The message that the app's server chose in its response to a realtime request.
struct RealtimeChoice: Sendable {
    private typealias Body = AppStoreServerAPI.RealtimeResponseBody

    private let body: AppStoreServerAPI.RealtimeResponseBody

    /// The reason why the store does not show the chosen message.
    struct Refusal: Error {
        let reason: String
        init(_ reason: String) { self.reason = reason }
    }

    /// Throws `Refusal` unless the response chooses exactly one message.
    init(_ bytes: [UInt8]) throws {
        do {
            body = try AppStoreServerAPI.RealtimeResponseBody(json: JSONValue(parsing: bytes))
        } catch let error as AppStorePayloadError {
            throw Refusal("The response is not a RealtimeResponseBody: \(error).")
        } catch {
            throw Refusal("The response is not JSON.")
        }
        let choices = ["message", "alternateProduct", "promotionalOffer", "advancedCommerceInfo"].filter {
            body.fields[$0]?.isNull == false
        }
        guard choices.count == 1 else {
            throw Refusal(
                choices.isEmpty
                    ? "The response chooses no message."
                    : "The response chooses several messages: \(choices.joined(separator: ", ")).")
        }
    }

    /// Returns what the customer sees. Throws `Refusal` for a choice that the store does not show.
    func message(
        for customer: CancellingCustomer, in db: SimulatorDatabase, verifier: OfferVerifier, catalogue: Catalogue,
        wallClock: Date, _ screen: StoreControlWire.RetentionMessage
    ) throws -> StoreControlWire.RetentionMessage {
        if let choice = body.message {
            return screen.showing(try approved(choice.messageIdentifier, in: db), from: .realtime)
        }
        let group = customer.state.record.groupID
        func isOnSale(_ product: ProductID) throws -> Bool {
            try catalogue[product]?.subscription?.groupID == group
                && !db.conditions().isWithdrawn(product, at: customer.now)
        }
        if let choice = body.alternateProduct {
            let message = try approved(choice.messageIdentifier, in: db, isPlain: true)
            guard let product = choice.productId.flatMap(ProductID.init(rawValue:)), try isOnSale(product) else {
                throw Refusal("The alternate product is not on sale in the customer's subscription group.")
            }
            guard product != customer.state.current.plan.productID else {
                throw Refusal("The alternate product is the customer's present product.")
            }
            var shown = screen.showing(message, from: .realtime)
            (shown.kind, shown.offeredProductID) = (.alternateProduct, product)
            return shown
        }
        if let choice = body.promotionalOffer {
            let message = try approved(choice.messageIdentifier, in: db, isPlain: true)
            let offer = try verifier.offer(choice, for: customer, in: db, wallClock: wallClock)
            guard try isOnSale(offer.productID),
                catalogue[offer.productID]?.subscription?.promotionalOffers
                    .contains(where: { $0.id.hasSameBytes(as: offer.offerID) }) == true
            else { throw Refusal("The offer is not one of a product in the customer's subscription group.") }
            var shown = screen.showing(message, from: .realtime)
            (shown.kind, shown.offeredProductID, shown.offerID) = (.promotionalOffer, offer.productID, offer.offerID)
            return shown
        }
        throw Refusal("The simulated store has no Advanced Commerce API.")
    }

    private func approved(_ id: UUID?, in db: SimulatorDatabase, isPlain: Bool = false) throws -> UploadedMessage {
        guard let id else { throw Refusal("The messageIdentifier is missing or not a UUID.") }
        guard let message = try db.retentionMessage(id) else { throw Refusal("There is no message \(id.lowercased).") }
        guard try db.isApproved(message) else {
            throw Refusal("The message \(id.lowercased) or one of its images is not approved.")
        }
        guard !isPlain || message.isPlain else {
            throw Refusal("A message with an offer or another product has no image and no bullet points.")
        }
        return message
    }
}

extension OfferVerifier {
    /// Verifies the signed offer of a realtime response. The signature stays valid for one purchase.
    ///
    /// Throws `RealtimeChoice.Refusal`.
    fileprivate func offer(
        _ offer: AppStoreServerAPI.PromotionalOffer, for customer: CancellingCustomer, in db: SimulatorDatabase,
        wallClock: Date
    ) throws -> (productID: ProductID, offerID: String) {
        do {
            switch (offer.promotionalOfferSignatureV2, offer.promotionalOfferSignatureV1) {
            case (let jws?, nil): return try verified(jws, for: customer, in: db, wallClock: wallClock)
            case (nil, let signature?): return try verified(signature, in: db, at: [customer.now, wallClock])
            default: throw RealtimeChoice.Refusal("A promotional offer has a signature in one of the two forms.")
            }
        } catch let error as SignedDataError {
            throw RealtimeChoice.Refusal("The signature of the offer is invalid: \(error.reason)")
        }
    }

    private func verified(
        _ jws: String, for customer: CancellingCustomer, in db: SimulatorDatabase, wallClock: Date
    ) throws -> (productID: ProductID, offerID: String) {
        let signed = try verified(jws, at: [customer.now, wallClock])
        guard signed.request.audience == .promotionalOffer, let product = signed.request.productID,
            let offerID = signed.request.offerID
        else { throw RealtimeChoice.Refusal("The signature is not of a promotional offer.") }
        guard let transaction = signed.request.transactionID?.number,
            try db.transaction(transaction, at: customer.now)?.0.accountID == customer.account.id
        else { throw RealtimeChoice.Refusal("The signature does not name a transaction of the customer.") }
        try checkUnused(signed.nonce, in: db)
        return (product, offerID)
    }

    private func verified(
        _ signature: AppStoreServerAPI.PromotionalOfferSignatureV1, in db: SimulatorDatabase, at instants: [Date]
    ) throws -> (productID: ProductID, offerID: String) {
        guard let product = signature.productId.flatMap(ProductID.init(rawValue:)),
            let offerID = signature.offerIdentifier, let nonce = signature.nonce,
            let timestamp = signature.timestamp, let keyID = signature.keyId,
            let bytes = signature.encodedSignature.flatMap(Base64.decode)
        else { throw RealtimeChoice.Refusal("A member of promotionalOfferSignatureV1 is missing or invalid.") }
        try verify(
            OfferSignature(keyID: keyID, nonce: nonce, timestamp: Int64(timestamp), signature: bytes),
            of: offerID, for: product, signature.appAccountToken, at: instants)
        try checkUnused(nonce, in: db)
        return (product, offerID)
    }

    private func checkUnused(_ nonce: UUID, in db: SimulatorDatabase) throws {
        guard try !db.isUsed(nonce: nonce) else { throw RealtimeChoice.Refusal("The signature was used before.") }
    }
}

extension SimulatorDatabase {
    /// Whether Apple has approved a message and its images.
    fileprivate func isApproved(_ message: UploadedMessage) throws -> Bool {
        try message.state == .approved && message.images.allSatisfy { try retentionImage($0)?.state == .approved }
    }

    /// Whether a signature with this nonce was accepted before.
    fileprivate func isUsed(nonce: UUID) throws -> Bool {
        try sql.first("SELECT 1 FROM nonce WHERE id = ?1", [.text(nonce.lowercased)]) != nil
    }
}

extension StoreControlWire.RetentionMessage {
    /// Returns the screen with the texts and images of a message.
    fileprivate func showing(_ message: UploadedMessage, from source: Source) -> Self {
        var shown = self
        shown.source = source
        shown.kind = .text
        shown.messageIdentifier = message.id
        shown.header = message.body.header
        shown.body = message.body.body
        shown.headerPosition = message.body.headerPosition?.rawValue
        shown.imageIdentifier = message.body.image?.imageIdentifier
        shown.altText = message.body.image?.altText
        let points = (message.body.bulletPoints ?? []).compactMap(\.text)
        shown.bulletPoints = points.isEmpty ? nil : points
        return shown
    }
}
