import AppStorePayloads
import Foundation
import Primitives
import StoreModel

/// The validated query of a notification history request.
struct NotificationHistoryQuery: Sendable, Hashable {
    private(set) var query = NotificationQuery()

    /// The query as a string; equal for equal queries.
    var text: String {
        [
            "\(query.start.microseconds)", "\(query.end.microseconds)", query.type?.rawValue, query.subtype?.rawValue,
            query.transaction?.rawValue, "\(query.onlyFailures)",
        ].map { $0 ?? "" }.joined(separator: " ")
    }

    /// The number of days whose notifications can be queried, as in production.
    static let daysKept = 180

    /// Validates a request at `now`.
    ///
    /// Throws `invalidStartDate`, `invalidEndDate`, `startDateAfterEndDate`, `startDateTooFarInPast`,
    /// `multipleFiltersSupplied`, `invalidNotificationType`, `invalidTransactionId`, and `generalBadRequest` for errors
    /// without a code of their own.
    init(
        _ request: AppStoreServerAPI.NotificationHistoryRequest, at now: Date
    ) throws(AppStoreServerAPI.ErrorCode) {
        query.start = try Self.date(request.fields["startDate"], else: .invalidStartDate)
        query.end = try Self.date(request.fields["endDate"], else: .invalidEndDate)
        guard query.start < query.end else { throw .startDateAfterEndDate }
        guard query.start >= now.addingTimeInterval(-Double(Self.daysKept) * 86400) else {
            throw .startDateTooFarInPast
        }
        let given = request.fields.filter { !$0.value.isNull }.map(\.key)
        guard !(given.contains("transactionId") && given.contains("notificationType")) else {
            throw .multipleFiltersSupplied
        }
        if given.contains("notificationType") || given.contains("notificationSubtype") {
            try filter(request.notificationType, request.notificationSubtype, given.contains("notificationSubtype"))
        }
        if given.contains("transactionId") {
            guard let id = request.transactionId, let number = Int64(id), number > 0, String(number) == id else {
                throw .invalidTransactionId
            }
            query.transaction = TransactionID(unchecked: id)
        }
        guard !given.contains("onlyFailures") || request.onlyFailures != nil else { throw .generalBadRequest }
        query.onlyFailures = request.onlyFailures ?? false
    }

    /// Sets the filter. A subtype needs its type.
    private mutating func filter(
        _ type: AppStoreServerAPI.NotificationType?, _ subtype: AppStoreServerAPI.Subtype?, _ hasSubtype: Bool
    ) throws(AppStoreServerAPI.ErrorCode) {
        guard let type, let subtypes = Self.subtypes[type] else { throw .invalidNotificationType }
        guard !hasSubtype || subtype.map(subtypes.contains) ?? false else { throw .invalidNotificationType }
        query.type = type
        query.subtype = subtype
    }

    /// Parses whole milliseconds since 1970, before the year 10000.
    private static func date(
        _ value: JSONValue?, else error: AppStoreServerAPI.ErrorCode
    ) throws(AppStoreServerAPI.ErrorCode) -> Date {
        guard let milliseconds = value?.intValue, (0...253_402_300_799_999).contains(milliseconds) else { throw error }
        return Date(microseconds: Int64(milliseconds) * 1000)
    }

    /// The subtypes of each type (Apple: notificationType and subtype).
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
