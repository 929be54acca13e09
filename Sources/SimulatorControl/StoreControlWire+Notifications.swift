import Foundation
import StoreModel

extension StoreControlWire {
    /// A notification to the app's server, with the attempts to send it.
    public struct Notification: Codable, Sendable, Equatable {
        /// An attempt to send the notification.
        public struct Attempt: Codable, Sendable, Equatable {
            /// The time of the attempt, in virtual time.
            public var at: Date
            /// The result in Apple's words, or `nil` during the attempt.
            public var result: String?
            /// Creates an attempt.
            ///
            /// - Parameters:
            ///   - at: The time of the attempt, in virtual time.
            ///   - result: The result in Apple's words, or `nil` during the attempt.
            public init(at: Date, result: String? = nil) {
                self.at = at
                self.result = result
            }
        }

        /// The number of the notification. A later notification has a greater number.
        public var number: Int64
        /// The UUID of the notification.
        public var uuid: String
        /// The time of the event. The signed payload has the same time.
        public var at: Date
        /// The type in Apple's words, for example `DID_RENEW`.
        public var type: String
        /// The subtype in Apple's words.
        public var subtype: String?
        /// The account, or `nil` if the notification is not about one account.
        public var account: String?
        /// The product.
        public var productID: ProductID?
        /// The transaction.
        public var transactionID: TransactionID?
        /// The original transaction.
        public var originalTransactionID: TransactionID?
        /// The signed payload, or `nil` before the first attempt.
        public var signedPayload: String?
        /// The attempts, the oldest first.
        public var attempts: [Attempt]
        /// The time of the next attempt, or `nil` if there is none.
        public var due: Date?

        /// Creates a notification.
        ///
        /// - Parameters:
        ///   - number: The number of the notification. A later notification has a greater number.
        ///   - uuid: The UUID of the notification.
        ///   - at: The time of the event. The signed payload has the same time.
        ///   - type: The type in Apple's words, for example `DID_RENEW`.
        ///   - subtype: The subtype in Apple's words.
        ///   - account: The account, or `nil` if the notification is not about one account.
        ///   - productID: The product.
        ///   - transactionID: The transaction.
        ///   - originalTransactionID: The original transaction.
        ///   - signedPayload: The signed payload, or `nil` before the first attempt.
        ///   - attempts: The attempts, the oldest first.
        ///   - due: The time of the next attempt, or `nil` if there is none.
        public init(
            number: Int64, uuid: String, at: Date, type: String, subtype: String? = nil, account: String? = nil,
            productID: ProductID? = nil,
            transactionID: TransactionID? = nil, originalTransactionID: TransactionID? = nil,
            signedPayload: String? = nil, attempts: [Attempt] = [], due: Date? = nil
        ) {
            self.number = number
            self.uuid = uuid
            self.at = at
            self.type = type
            self.subtype = subtype
            self.account = account
            self.productID = productID
            self.transactionID = transactionID
            self.originalTransactionID = originalTransactionID
            self.signedPayload = signedPayload
            self.attempts = attempts
            self.due = due
        }
    }

    /// A notification that the store creates without an event.
    package struct NewNotification: Codable, Sendable, Equatable {
        /// The type in Apple's words.
        package var type: String
        /// The subtype in Apple's words.
        package var subtype: String?
        /// The transaction that the notification is about.
        package var transactionID: TransactionID?

        package init(type: String, subtype: String? = nil, transactionID: TransactionID? = nil) {
            self.type = type
            self.subtype = subtype
            self.transactionID = transactionID
        }
    }

    package struct Notifications: Codable, Sendable, Equatable {
        package var notifications: [Notification]
        package init(notifications: [Notification]) { self.notifications = notifications }
    }

    /// The number of notifications that will be sent again, and the time of the next attempt.
    package struct Deliveries: Codable, Sendable, Equatable {
        package var waiting: Int
        package var next: Date?
        package init(waiting: Int, next: Date? = nil) {
            self.waiting = waiting
            self.next = next
        }
    }
}
