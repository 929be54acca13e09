import Foundation
import Primitives
import StoreModel

extension AppStoreServerAPI {
    /// The request of Get Notification History: notifications of one type, of one customer, or all.
    public typealias NotificationHistoryRequest = AppStorePayload<NotificationHistoryRequestFields>

    /// The members of ``NotificationHistoryRequest`` that Apple documents.
    public final class NotificationHistoryRequestFields: AppStorePayloadFields {
        public static let layout = PayloadLayout(NotificationHistoryRequestFields())

        /// The start of the interval, within the last 180 days.
        public let startDate = PayloadField<Date>("startDate")
        /// The end of the interval, exclusive.
        public let endDate = PayloadField<Date>("endDate")
        /// The type of the notifications.
        public let notificationType = PayloadField<NotificationType>("notificationType")
        /// The subtype of the notifications, with `notificationType`.
        public let notificationSubtype = PayloadField<Subtype>("notificationSubtype")
        /// A transaction of the customer.
        public let transactionId = PayloadField<String>("transactionId")
        /// Whether to return only notifications that failed and have not arrived since. More attempts to send them can
        /// follow.
        public let onlyFailures = PayloadField<Bool>("onlyFailures")
    }

    /// The response of Get Notification History: up to 20 notifications.
    public typealias NotificationHistoryResponse = AppStorePayload<NotificationHistoryResponseFields>

    /// The members of ``NotificationHistoryResponse`` that Apple documents.
    public final class NotificationHistoryResponseFields: AppStorePayloadFields {
        public static let layout = PayloadLayout(NotificationHistoryResponseFields())

        /// The token of the next page.
        public let paginationToken = PayloadField<String>("paginationToken")
        /// Whether there is a next page.
        public let hasMore = PayloadField<Bool>("hasMore")
        /// The notifications of this page.
        public let notificationHistory = PayloadField<[NotificationHistoryResponseItem]>("notificationHistory")
    }

    /// A notification with the attempts to send it.
    public typealias NotificationHistoryResponseItem = AppStorePayload<NotificationHistoryResponseItemFields>

    /// The members of ``NotificationHistoryResponseItem`` that Apple documents.
    public final class NotificationHistoryResponseItemFields: AppStorePayloadFields {
        public static let layout = PayloadLayout(NotificationHistoryResponseItemFields())

        /// The signed notification.
        public let signedPayload = PayloadField<String>("signedPayload")
        /// The attempts to send the notification, six at most.
        public let sendAttempts = PayloadField<[SendAttemptItem]>("sendAttempts")
        /// The result of the first attempt. Deprecated by Apple: read the earliest of `sendAttempts`.
        public let firstSendAttemptResult = PayloadField<SendAttemptResult>("firstSendAttemptResult")
    }

    /// The response of Request a Test Notification.
    public typealias SendTestNotificationResponse = AppStorePayload<SendTestNotificationResponseFields>

    /// The members of ``SendTestNotificationResponse`` that Apple documents.
    public final class SendTestNotificationResponseFields: AppStorePayloadFields {
        public static let layout = PayloadLayout(SendTestNotificationResponseFields())

        /// The token with which Get Test Notification Status finds the notification.
        public let testNotificationToken = PayloadField<String>("testNotificationToken")
    }

    /// The response of Get Test Notification Status.
    public typealias CheckTestNotificationResponse = AppStorePayload<CheckTestNotificationResponseFields>

    /// The members of ``CheckTestNotificationResponse`` that Apple documents.
    public final class CheckTestNotificationResponseFields: AppStorePayloadFields {
        public static let layout = PayloadLayout(CheckTestNotificationResponseFields())

        /// The signed notification.
        public let signedPayload = PayloadField<String>("signedPayload")
        /// The attempts to send the notification, six at most.
        public let sendAttempts = PayloadField<[SendAttemptItem]>("sendAttempts")
        /// The result of the first attempt. Deprecated by Apple: read the earliest of `sendAttempts`.
        public let firstSendAttemptResult = PayloadField<SendAttemptResult>("firstSendAttemptResult")
    }

    /// One attempt to send a notification.
    public typealias SendAttemptItem = AppStorePayload<SendAttemptItemFields>

    /// The members of ``SendAttemptItem`` that Apple documents.
    public final class SendAttemptItemFields: AppStorePayloadFields {
        public static let layout = PayloadLayout(SendAttemptItemFields())

        /// The date of the attempt.
        public let attemptDate = PayloadField<Date>("attemptDate")
        /// The result of the attempt.
        public let sendAttemptResult = PayloadField<SendAttemptResult>("sendAttemptResult")
    }

    /// The result of an attempt to send a notification.
    public typealias SendAttemptResult = OpenEnum<SendAttemptItemFields>
}

extension AppStoreServerAPI.SendAttemptResult {
    public static var success: Self { Self(rawValue: "SUCCESS") }
    public static var timedOut: Self { Self(rawValue: "TIMED_OUT") }
    public static var tlsIssue: Self { Self(rawValue: "TLS_ISSUE") }
    public static var circularRedirect: Self { Self(rawValue: "CIRCULAR_REDIRECT") }
    public static var noResponse: Self { Self(rawValue: "NO_RESPONSE") }
    public static var socketIssue: Self { Self(rawValue: "SOCKET_ISSUE") }
    public static var unsupportedCharset: Self { Self(rawValue: "UNSUPPORTED_CHARSET") }
    public static var invalidResponse: Self { Self(rawValue: "INVALID_RESPONSE") }
    public static var prematureClose: Self { Self(rawValue: "PREMATURE_CLOSE") }
    public static var unsuccessfulHttpResponseCode: Self { Self(rawValue: "UNSUCCESSFUL_HTTP_RESPONSE_CODE") }
    public static var other: Self { Self(rawValue: "OTHER") }
}
