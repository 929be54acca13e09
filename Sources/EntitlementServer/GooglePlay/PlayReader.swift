import Foundation
import GooglePlay
import Primitives
import SignedData
import StoreModel

/// Fetches the purchases of one app from Google Play, as `StoreReader` reads what the App Store signed.
///
/// Nothing that an app or a notification says about a purchase is believed: they name a token, and what Google answers
/// over TLS is the fact.
struct PlayReader: Sendable {
    let app: BundleID
    let source: GooglePlayApp
    let environments: [StoreEnvironment]
    let ledger: Ledger

    /// A purchase that is not accepted.
    struct Rejection: Error {
        let code: String
        let detail: String
        /// Whether the same purchase can be accepted later.
        var isRetryable = false

        static let pending = "purchasePending"

        init(_ code: String, _ detail: String, isRetryable: Bool = false) {
            (self.code, self.detail, self.isRetryable) = (code, detail, isRetryable)
        }

        static let expired = "expiredPurchaseToken"

        init(_ error: SignedDataError) { self.init(error.code.rawValue, error.reason, isRetryable: error.isRetryable) }
    }

    /// The ledgers of the app.
    var ledgerIDs: [LedgerID] { environments.map { LedgerID(app: app, environment: $0) } }

    /// Returns the reader of each ledger.
    static func byLedger(_ readers: [BundleID: PlayReader]) -> [LedgerID: PlayReader] {
        Dictionary(uniqueKeysWithValues: readers.values.flatMap { reader in reader.ledgerIDs.map { ($0, reader) } })
    }

    /// A fetched purchase, and the subscription that it replaced.
    struct Presented: Sendable {
        var fetch: PlayFetch
        let environment: StoreEnvironment
        /// The fetch of the replaced subscription; `nil` if there is none or Google no longer knows it.
        let replaced: PlayFetch?
    }

    /// Fetches a purchase.
    ///
    /// Throws `Rejection`, `GooglePlayFailure` if Google does not answer usefully, and the errors of the ledger.
    ///
    /// - Parameters:
    ///   - kind: The kind of purchase, or `nil` if it is not known.
    ///   - product: The product that it should be of, or `nil` for any.
    func fetch(
        _ token: PurchaseToken, as kind: PlayFetch.Kind? = nil, of product: ProductID? = nil
    ) async throws -> Presented {
        let original = PlayFetch.original(token, of: source.packageName)
        let kind = try kind ?? ledger.playKind(of: original, in: app)
        let fetch = try await fetched(token, as: kind)
        guard let environment = environment(of: fetch) else {
            throw Rejection(
                SignedDataError.Code.environmentNotAccepted.rawValue,
                "This is a test purchase, which this server does not accept.")
        }
        do {
            switch try fetch.reading() {
            case .pending:
                throw Rejection(
                    Rejection.pending, "The payment is not complete. Present the purchase when it is.",
                    isRetryable: true)
            case .canceled: throw Rejection("purchaseCanceled", "The payment was never completed.")
            case .purchased: break
            }
        } catch let error as SignedDataError {
            throw Rejection(error)
        }
        if let product, !fetch.names(product) {
            throw Rejection("wrongProduct", "The purchase is of another product than productId.")
        }
        var replaced: PlayFetch?
        if let former = fetch.replacedToken {
            do { replaced = try await fetched(former, as: .subscription) } catch is Rejection {
                // Google forgets a subscription 60 days after its end.
            }
        }
        return Presented(fetch: fetch, environment: environment, replaced: replaced)
    }

    /// Fetches a purchase that the ledger has, and stores what changed, without a claim.
    ///
    /// - Parameters:
    ///   - voidedAt: The instant at which Google voided the purchase of a one-time product.
    ///   - note: The entry of the audit log about `customer`, for the poll of an operator.
    func refresh(
        _ token: PurchaseToken, of purchase: PlayPurchase, voidedAt: Date? = nil, noting note: AuditNote? = nil,
        about customer: CustomerID? = nil
    ) async throws {
        var presented = try await fetch(
            token, as: purchase.kind == .autoRenewableSubscription ? .subscription : .product)
        presented.fetch.voidedAt = voidedAt?.wholeMillisecond
        try await ledger.record(
            presented, of: app, by: nil, answering: presented.environment, as: nil, noting: note, about: customer
        ) { _, _ in KeptAnswer(status: 200, contentType: "application/json", body: []) }
    }

    private func fetched(_ token: PurchaseToken, as kind: PlayFetch.Kind?) async throws -> PlayFetch {
        var rejection: Rejection?
        for kind in kind.map({ [$0] }) ?? [.subscription, .product] {
            let beganAt = try await ledger.beginPlayFetch(of: app)
            do {
                let resource =
                    switch kind {
                    case .subscription: try await source.client.subscription(token)
                    case .product: try await source.client.product(token)
                    }
                return try await complete(
                    PlayFetch(
                        token, of: source.packageName, kind, isConsumable: isConsumable(resource), beganAt: beganAt,
                        resource: resource))
            } catch let failure as GooglePlayFailure where failure.kind == .unknownToken {
                rejection = Rejection(
                    "unknownPurchaseToken", "Google Play knows no purchase of this app with the token.")
            } catch let failure as GooglePlayFailure where failure.kind == .expiredToken {
                throw Rejection(
                    Rejection.expired, "The purchase ended long ago, and Google Play no longer knows it.")
            }
        }
        throw rejection
            ?? Rejection("unknownPurchaseToken", "Google Play knows no purchase of this app with the token.")
    }

    /// Adds the order of the last payment, which has the price and the paid period. An account without access to orders
    /// gets none.
    private func complete(_ fetch: PlayFetch) async throws -> PlayFetch {
        guard let token = fetch.token, let id = fetch.orderID, !id.isEmpty else { return fetch }
        do {
            let order = try await source.client.order(id)
            return PlayFetch(
                token, of: fetch.packageName, fetch.kind, isConsumable: fetch.isConsumable, beganAt: fetch.beganAt,
                resource: fetch.resource, order: order)
        } catch let failure as GooglePlayFailure where failure.kind != .unavailable {
            return fetch
        }
    }

    private func isConsumable(_ resource: JSONValue) -> Bool {
        let product = resource["productLineItem"]?[0]?["productId"]?.stringValue.flatMap(ProductID.init)
        guard let product else { return false }
        return source.consumables.contains(product)
            || ledger.rules[app].rules.credits.credits.values.contains { $0.products[product] != nil }
    }

    /// Returns the environment of a purchase: for a test purchase one that is not production, and for others production
    /// if the server has it. `nil` for a test purchase if there is only production.
    private func environment(of fetch: PlayFetch) -> StoreEnvironment? {
        let tests = environments.first { $0 != .production }
        if fetch.isTest { return tests }
        return environments.contains(.production) ? .production : tests
    }
}

extension PlayReader {
    /// Checks the data that Google Play signed for the app, before anything is asked of Google. Without the app's
    /// licence key nothing is checked: the data is not used otherwise.
    ///
    /// Throws `Rejection`.
    func check(
        signedData: String, signature: String, token: PurchaseToken, product: ProductID
    ) throws(Rejection) {
        guard let key = source.publicKey else { return }
        let data: SignedPurchaseData
        do throws(SignedDataError) {
            data = try SignedPurchaseData(verifying: signedData, signature: signature, key: key)
        } catch {
            throw Rejection(error)
        }
        guard data.packageName?.hasSameBytes(as: source.packageName.rawValue) == true else {
            throw Rejection(
                SignedDataError.Code.wrongBundle.rawValue, "The signed data is of another app than packageName.")
        }
        guard data.productId?.hasSameBytes(as: product.rawValue) == true else {
            throw Rejection("wrongProduct", "The signed data is of another product than productId.")
        }
        guard data.purchaseToken?.hasSameBytes(as: token.rawValue) == true else {
            throw Rejection("wrongPurchaseToken", "The signed data is of another purchase than purchaseToken.")
        }
    }
}
