import Foundation
import Primitives

extension AppStoreServerAPI {
    /// How an attempt to send a notification ended.
    public struct SendAttemptResult: OpenAppStoreValue {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        public static let success = Self(rawValue: "SUCCESS")
        public static let timedOut = Self(rawValue: "TIMED_OUT")
        public static let tlsIssue = Self(rawValue: "TLS_ISSUE")
        public static let circularRedirect = Self(rawValue: "CIRCULAR_REDIRECT")
        public static let noResponse = Self(rawValue: "NO_RESPONSE")
        public static let socketIssue = Self(rawValue: "SOCKET_ISSUE")
        public static let unsupportedCharset = Self(rawValue: "UNSUPPORTED_CHARSET")
        public static let invalidResponse = Self(rawValue: "INVALID_RESPONSE")
        public static let prematureClose = Self(rawValue: "PREMATURE_CLOSE")
        public static let unsuccessfulHttpResponseCode = Self(rawValue: "UNSUCCESSFUL_HTTP_RESPONSE_CODE")
        public static let other = Self(rawValue: "OTHER")
    }

    /// One attempt to send a notification.
    public struct SendAttemptItem: AppStorePayload {
        public var fields: JSONMembers
        public init(unchecked fields: JSONMembers) { self.fields = fields }

        /// Every argument left out is absent from the JSON.
        public init(attemptDate: Date? = nil, sendAttemptResult: SendAttemptResult? = nil) {
            fields = [:]
            self.attemptDate = attemptDate
            self.sendAttemptResult = sendAttemptResult
        }

        /// When.
        public var attemptDate: Date? {
            get { self["attemptDate"] }
            set { self["attemptDate"] = newValue }
        }

        /// How it ended.
        public var sendAttemptResult: SendAttemptResult? {
            get { self["sendAttemptResult"] }
            set { self["sendAttemptResult"] = newValue }
        }

        public static let schema = PayloadSchema([
            "attemptDate": .date,
            "sendAttemptResult": .text,
        ])
    }

    /// The answer of Request a Test Notification.
    public struct SendTestNotificationResponse: AppStorePayload {
        public var fields: JSONMembers
        public init(unchecked fields: JSONMembers) { self.fields = fields }

        /// Every argument left out is absent from the JSON.
        public init(testNotificationToken: String? = nil) {
            fields = [:]
            self.testNotificationToken = testNotificationToken
        }

        /// Names the notification to Get Test Notification Status.
        public var testNotificationToken: String? {
            get { self["testNotificationToken"] }
            set { self["testNotificationToken"] = newValue }
        }

        public static let schema = PayloadSchema(["testNotificationToken": .text])
    }

    /// The answer of Get Test Notification Status.
    public struct CheckTestNotificationResponse: AppStorePayload {
        public var fields: JSONMembers
        public init(unchecked fields: JSONMembers) { self.fields = fields }

        /// Every argument left out is absent from the JSON.
        public init(
            signedPayload: String? = nil,
            sendAttempts: [SendAttemptItem]? = nil,
            firstSendAttemptResult: SendAttemptResult? = nil
        ) {
            fields = [:]
            self.signedPayload = signedPayload
            self.sendAttempts = sendAttempts
            self.firstSendAttemptResult = firstSendAttemptResult
        }

        /// The notification, signed.
        public var signedPayload: String? {
            get { self["signedPayload"] }
            set { self["signedPayload"] = newValue }
        }

        /// At most six.
        public var sendAttempts: [SendAttemptItem]? {
            get { self["sendAttempts"] }
            set { self["sendAttempts"] = newValue }
        }

        /// How the first attempt ended. Apple no longer recommends it: the earliest of `sendAttempts` says it too.
        public var firstSendAttemptResult: SendAttemptResult? {
            get { self["firstSendAttemptResult"] }
            set { self["firstSendAttemptResult"] = newValue }
        }

        public static let schema = PayloadSchema([
            "signedPayload": .text,
            "sendAttempts": .list(.object(SendAttemptItem.schema)),
            "firstSendAttemptResult": .text,
        ])
    }

    /// Which notifications Get Notification History is asked for. Either of one type or of one customer, not both.
    public struct NotificationHistoryRequest: AppStorePayload {
        public var fields: JSONMembers
        public init(unchecked fields: JSONMembers) { self.fields = fields }

        /// Every argument left out is absent from the JSON.
        public init(
            startDate: Date? = nil,
            endDate: Date? = nil,
            notificationType: NotificationType? = nil,
            notificationSubtype: Subtype? = nil,
            transactionId: String? = nil,
            onlyFailures: Bool? = nil
        ) {
            fields = [:]
            self.startDate = startDate
            self.endDate = endDate
            self.notificationType = notificationType
            self.notificationSubtype = notificationSubtype
            self.transactionId = transactionId
            self.onlyFailures = onlyFailures
        }

        /// From then on; within the last 180 days.
        public var startDate: Date? {
            get { self["startDate"] }
            set { self["startDate"] = newValue }
        }

        /// Until before then.
        public var endDate: Date? {
            get { self["endDate"] }
            set { self["endDate"] = newValue }
        }

        /// Only these.
        public var notificationType: NotificationType? {
            get { self["notificationType"] }
            set { self["notificationType"] = newValue }
        }

        /// Only these of `notificationType`.
        public var notificationSubtype: Subtype? {
            get { self["notificationSubtype"] }
            set { self["notificationSubtype"] = newValue }
        }

        /// Only about the customer of this transaction.
        public var transactionId: String? {
            get { self["transactionId"] }
            set { self["transactionId"] = newValue }
        }

        /// Only what has not arrived: what is still being sent, and what was given up.
        public var onlyFailures: Bool? {
            get { self["onlyFailures"] }
            set { self["onlyFailures"] = newValue }
        }

        public static let schema = PayloadSchema([
            "startDate": .date,
            "endDate": .date,
            "notificationType": .text,
            "notificationSubtype": .text,
            "transactionId": .text,
            "onlyFailures": .boolean,
        ])
    }

    /// A notification and what became of it.
    public struct NotificationHistoryResponseItem: AppStorePayload {
        public var fields: JSONMembers
        public init(unchecked fields: JSONMembers) { self.fields = fields }

        /// Every argument left out is absent from the JSON.
        public init(
            signedPayload: String? = nil,
            sendAttempts: [SendAttemptItem]? = nil,
            firstSendAttemptResult: SendAttemptResult? = nil
        ) {
            fields = [:]
            self.signedPayload = signedPayload
            self.sendAttempts = sendAttempts
            self.firstSendAttemptResult = firstSendAttemptResult
        }

        /// The notification, signed.
        public var signedPayload: String? {
            get { self["signedPayload"] }
            set { self["signedPayload"] = newValue }
        }

        /// At most six.
        public var sendAttempts: [SendAttemptItem]? {
            get { self["sendAttempts"] }
            set { self["sendAttempts"] = newValue }
        }

        /// How the first attempt ended. Apple no longer recommends it: the earliest of `sendAttempts` says it too.
        public var firstSendAttemptResult: SendAttemptResult? {
            get { self["firstSendAttemptResult"] }
            set { self["firstSendAttemptResult"] = newValue }
        }

        public static let schema = PayloadSchema([
            "signedPayload": .text,
            "sendAttempts": .list(.object(SendAttemptItem.schema)),
            "firstSendAttemptResult": .text,
        ])
    }

    /// The answer of Get Notification History: up to 20 notifications.
    public struct NotificationHistoryResponse: AppStorePayload {
        public var fields: JSONMembers
        public init(unchecked fields: JSONMembers) { self.fields = fields }

        /// Every argument left out is absent from the JSON.
        public init(
            paginationToken: String? = nil,
            hasMore: Bool? = nil,
            notificationHistory: [NotificationHistoryResponseItem]? = nil
        ) {
            fields = [:]
            self.paginationToken = paginationToken
            self.hasMore = hasMore
            self.notificationHistory = notificationHistory
        }

        /// Where the next page begins.
        public var paginationToken: String? {
            get { self["paginationToken"] }
            set { self["paginationToken"] = newValue }
        }

        /// Whether there is a next page.
        public var hasMore: Bool? {
            get { self["hasMore"] }
            set { self["hasMore"] = newValue }
        }

        /// The page.
        public var notificationHistory: [NotificationHistoryResponseItem]? {
            get { self["notificationHistory"] }
            set { self["notificationHistory"] = newValue }
        }

        public static let schema = PayloadSchema([
            "paginationToken": .text,
            "hasMore": .boolean,
            "notificationHistory": .list(.object(NotificationHistoryResponseItem.schema)),
        ])
    }
}
