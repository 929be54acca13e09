import Foundation
import Primitives
import SignedData
import StoreModel

/// The response of `/verifyReceipt` (Apple: responseBody). Most numbers and Boolean values are strings, as in Apple's
/// response.
struct VerifyReceiptAnswer {
    let json: JSONValue

    /// Creates a response with only a status. `environment` is `nil` if the request was not a POST or its body was too
    /// long. The response has both spellings that Apple has used: `is-retryable` and `is_retryable`.
    init(_ status: ReceiptStatus, in environment: AppStoreEnvironment? = nil) {
        var members: JSONMembers = ["status": .number(status.rawValue)]
        members["environment"] = environment.map { .string($0.rawValue) }
        members["is-retryable"] = .bool(status.isRetryable)
        members["is_retryable"] = .bool(status.isRetryable)
        json = .object(members)
    }

    /// Creates the response to a request that failed with `error`, for example for an account with too many
    /// transactions. A retry cannot succeed. Like Apple's responses, it has the message in `exception`.
    init(_ error: SimulatorError, in environment: AppStoreEnvironment) {
        var members: JSONMembers = ["status": .number(ReceiptStatus.internalError.rawValue)]
        members["environment"] = .string(environment.rawValue)
        members["is-retryable"] = false
        members["is_retryable"] = false
        members["exception"] = .string(error.reason)
        json = .object(members)
    }

    /// Creates a response with the receipt that was sent and the current state. The members after `receipt` are only
    /// there if the account has ever subscribed.
    ///
    /// - Parameters:
    ///   - latestReceipt: A new receipt, in DER.
    ///   - excludesOld: Whether all but the latest transaction of each subscription are left out.
    init(
        _ status: ReceiptStatus, in environment: AppStoreEnvironment, _ receipt: AppReceipt,
        _ content: ReceiptContent, latestReceipt: [UInt8], excludesOld: Bool, _ catalogue: Catalogue
    ) {
        var members = JSONMembers()
        members["status"] = .number(status.rawValue)
        members["environment"] = .string(environment.rawValue)
        members["receipt"] = receipt.answer(content)
        let states = content.states
        if !states.isEmpty {
            let reported = content.current.reversed().filter { transaction, state in
                !excludesOld || state.map { $0.current.latestID == transaction.id } ?? true
            }
            members["latest_receipt"] = .string(Base64.encode(latestReceipt))
            members["latest_receipt_info"] = .array(
                reported.map { AppReceipt.InAppPurchase($0.transaction).answer($0.transaction) })
            members["pending_renewal_info"] = .array(states.map { $0.pendingRenewal(catalogue) })
        }
        json = .object(members)
    }
}

extension ReceiptContent {
    /// Each subscription once, oldest first.
    fileprivate var states: [SubscriptionState] {
        var known: Set<Int64> = []
        return current.compactMap(\.state).filter { known.insert($0.record.originalID).inserted }
    }
}

extension AppReceipt {
    /// Apple: responseBody.Receipt. A receipt contains a set of purchases; the response lists the oldest first.
    fileprivate func answer(_ content: ReceiptContent) -> JSONValue {
        var members = JSONMembers()
        members["receipt_type"] = receiptType.map { .string($0) }
        members["adam_id"] = .number(appItemID ?? 0)
        members["app_item_id"] = .number(appItemID ?? 0)
        members["bundle_id"] = bundleID.map { .string($0.rawValue) }
        members["application_version"] = appVersion.map { .string($0) }
        members["download_id"] = .number(downloadID ?? 0)
        members["version_external_identifier"] = .number(versionExternalID ?? 0)
        members.add("receipt_creation_date", creationDate)
        members.add("request_date", content.now)
        members.add("original_purchase_date", originalPurchaseDate)
        members["original_application_version"] = originalAppVersion.map { .string($0) }
        members.add("expiration_date", expirationDate)
        let known = Dictionary(content.history.map { ($0.transaction.transactionID, $0.transaction) }) { first, _ in
            first
        }
        let purchases = inAppPurchases.sorted {
            ($0.purchaseDate ?? .distantPast, $0.transactionID?.rawValue ?? "")
                < ($1.purchaseDate ?? .distantPast, $1.transactionID?.rawValue ?? "")
        }
        members["in_app"] = .array(purchases.map { $0.answer($0.transactionID.flatMap { known[$0] }) })
        return .object(members)
    }
}

extension AppReceipt.InAppPurchase {
    /// Apple: responseBody.Receipt.In_app and responseBody.Latest_receipt_info. Members that a receipt lacks come from
    /// `record`.
    fileprivate func answer(_ record: TransactionRecord?) -> JSONValue {
        let isSubscription = productType == .autoRenewableSubscription
        var members = JSONMembers()
        members["quantity"] = quantity.map { .string("\($0)") }
        members["product_id"] = productID.map { .string($0.rawValue) }
        members["transaction_id"] = transactionID.map { .string($0.rawValue) }
        members["original_transaction_id"] = originalTransactionID.map { .string($0.rawValue) }
        members.add("purchase_date", purchaseDate)
        members.add("original_purchase_date", originalPurchaseDate)
        members.add("expires_date", expiresDate)
        if isSubscription { members["web_order_line_item_id"] = webOrderLineItemID.map { .string($0) } }
        members["is_trial_period"] = .string("\(isTrialPeriod ?? false)")
        if isSubscription { members["is_in_intro_offer_period"] = .string("\(isInIntroOfferPeriod ?? false)") }
        if let cancellationDate {
            members.add("cancellation_date", cancellationDate)
            members["cancellation_reason"] = .string("\(record?.revocation?.reason ?? 0)")
            if record?.upgradedAt != nil { members["is_upgraded"] = "true" }
        }
        members["promotional_offer_id"] = promotionalOfferID.map { .string($0) }
        guard let record else { return .object(members) }
        members["offer_code_ref_name"] = record.redeemedOfferID.map { .string($0) } ?? record.offer?.id(of: .code)
        members["in_app_ownership_type"] = record.isShared ? "FAMILY_SHARED" : "PURCHASED"
        members["subscription_group_identifier"] = record.groupID.map { .string($0) }
        members["app_account_token"] = record.appAccountToken.map { .string($0.uuidString.lowercased()) }
        return .object(members)
    }
}

extension SubscriptionState {
    /// Apple: responseBody.Pending_renewal_info. While a payment is overdue, the expiration intent is that failed
    /// payment.
    fileprivate func pendingRenewal(_ catalogue: Catalogue) -> JSONValue {
        let info = RenewalInfo(self, catalogue)
        var members = JSONMembers()
        members["product_id"] = .string(info.productID.rawValue)
        members["original_transaction_id"] = .string("\(info.originalID)")
        members["auto_renew_product_id"] = .string(info.renewsTo.rawValue)
        members["auto_renew_status"] = .flag(info.autoRenews)
        let intent = retryEnd == nil ? info.expirationIntent : .billingError
        members["expiration_intent"] = intent.map { .string("\($0.rawValue)") }
        members["is_in_billing_retry_period"] = info.isInBillingRetry.map { .flag($0) }
        members.add("grace_period_expires_date", info.graceEnd)
        if let increase {
            if increase.needsConsent { members["price_consent_status"] = .flag(hasConsented) }
            members["price_increase_status"] = .flag(hasConsented)
        }
        members["offer_code_ref_name"] = current.offer?.id(of: .code) ?? info.offer?.id(of: .code)
        members["promotional_offer_id"] = current.offer?.id(of: .promotional) ?? info.offer?.id(of: .promotional)
        return .object(members)
    }
}

extension AppliedOffer {
    /// Returns its identifier if the offer is of `kind`.
    fileprivate func id(of kind: Kind) -> JSONValue? { self.kind == kind ? id.map { .string($0) } : nil }
}

extension JSONValue {
    fileprivate static func flag(_ isOn: Bool) -> JSONValue { isOn ? "1" : "0" }
}

extension JSONMembers {
    /// Adds a date in Apple's three forms: in UTC, in milliseconds since 1970, and in Pacific time.
    ///
    ///     "expires_date": "2026-11-20 14:40:00 Etc/GMT", "expires_date_ms": "1795185600000",
    ///     "expires_date_pst": "2026-11-20 06:40:00 America/Los_Angeles"
    fileprivate mutating func add(_ name: String, _ date: Date?) {
        guard let date else { return }
        self[name] = .string("\(Self.clock(date)) Etc/GMT")
        self["\(name)_ms"] = .string("\(date.wholeMilliseconds.microseconds / 1000)")
        let offset = Self.california.map { $0.secondsFromGMT(for: date) } ?? -8 * 3600
        self["\(name)_pst"] = .string("\(Self.clock(date.addingTimeInterval(Double(offset)))) America/Los_Angeles")
    }

    /// The time zone of the members that end in `_pst`; Foundation has a table of time zones.
    private static let california = TimeZone(identifier: "America/Los_Angeles")

    private static func clock(_ date: Date) -> String {
        let whole = Date(timeIntervalSince1970: date.timeIntervalSince1970.rounded(.down))
        return RFC3339.string(from: whole).dropLast().replacingOccurrences(of: "T", with: " ")
    }
}
