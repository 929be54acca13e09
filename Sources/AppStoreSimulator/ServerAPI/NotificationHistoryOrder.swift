import AppStorePayloads
import Foundation
import Primitives
import StoreModel

/// Which notifications are asked for, as Apple would take it.
struct NotificationHistoryOrder: Sendable, Hashable {
    private(set) var query = NotificationQuery()

    /// The same for the same question.
    var text: String {
        [
            "\(query.start.microseconds)", "\(query.end.microseconds)", query.type?.rawValue, query.subtype?.rawValue,
            query.transaction?.rawValue, "\(query.onlyFailures)",
        ].map { $0 ?? "" }.joined(separator: " ")
    }

    /// For how many days notifications can be asked for, as in production.
    static let daysKept = 180

    /// Throws `invalidStartDate`, `invalidEndDate`, `startDateAfterEndDate`, `startDateTooFarInPast`,
    /// `multipleFiltersSupplied`, `invalidNotificationType`, `invalidTransactionId`, and `generalBadRequest` for what has
    /// no number of its own.
    init(
        _ question: AppStoreServerAPI.NotificationHistoryRequest, at now: Date
    ) throws(AppStoreServerAPI.ErrorCode) {
        query.start = try Self.date(question.fields["startDate"], else: .invalidStartDate)
        query.end = try Self.date(question.fields["endDate"], else: .invalidEndDate)
        guard query.start < query.end else { throw .startDateAfterEndDate }
        guard query.start >= now.addingTimeInterval(-Double(Self.daysKept) * 86400) else {
            throw .startDateTooFarInPast
        }
        let asked = question.fields.filter { !$0.value.isNull }.map(\.key)
        guard !(asked.contains("transactionId") && asked.contains("notificationType")) else {
            throw .multipleFiltersSupplied
        }
        if asked.contains("notificationType") || asked.contains("notificationSubtype") {
            try filter(question.notificationType, question.notificationSubtype, asked.contains("notificationSubtype"))
        }
        if asked.contains("transactionId") {
            guard let id = question.transactionId, let number = Int64(id), number > 0, String(number) == id else {
                throw .invalidTransactionId
            }
            query.transaction = TransactionID(unchecked: id)
        }
        guard !asked.contains("onlyFailures") || question.onlyFailures != nil else { throw .generalBadRequest }
        query.onlyFailures = question.onlyFailures ?? false
    }

    /// A subtype is asked for with its type.
    private mutating func filter(
        _ type: AppStoreServerAPI.NotificationType?, _ subtype: AppStoreServerAPI.Subtype?, _ isSubtypeAsked: Bool
    ) throws(AppStoreServerAPI.ErrorCode) {
        guard let type, let subtypes = Self.subtypes[type] else { throw .invalidNotificationType }
        guard !isSubtypeAsked || subtype.map(subtypes.contains) ?? false else { throw .invalidNotificationType }
        query.type = type
        query.subtype = subtype
    }

    /// Whole milliseconds since 1970, before the year 10000.
    private static func date(
        _ value: JSONValue?, else error: AppStoreServerAPI.ErrorCode
    ) throws(AppStoreServerAPI.ErrorCode) -> Date {
        guard let milliseconds = value?.intValue, (0...253_402_300_799_999).contains(milliseconds) else { throw error }
        return Date(microseconds: Int64(milliseconds) * 1000)
    }

    /// Apple: notificationType and subtype.
    private static let subtypes: [AppStoreServerAPI.NotificationType: [AppStoreServerAPI.Subtype]] = [
        .consumptionRequest: [], .didChangeRenewalPref: [.upgrade, .downgrade],
        .didChangeRenewalStatus: [.autoRenewEnabled, .autoRenewDisabled], .didFailToRenew: [.gracePeriod],
        .didRenew: [.billingRecovery],
        .expired: [.voluntary, .billingRetry, .priceIncrease, .productNotForSale],
        .externalPurchaseToken: [.unreported, .created, .activeTokenReminder], .gracePeriodExpired: [],
        .metadataUpdate: [], .migration: [],
        .offerRedeemed: [.initialBuy, .resubscribe, .upgrade, .downgrade], .oneTimeCharge: [], .priceChange: [],
        .priceIncrease: [.pending, .accepted], .refund: [], .refundDeclined: [], .refundReversed: [],
        .renewalExtended: [], .renewalExtension: [.summary, .failure], .rescindConsent: [], .revoke: [],
        .subscribed: [.initialBuy, .resubscribe], .test: [],
    ]
}
