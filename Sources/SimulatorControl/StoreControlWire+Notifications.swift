import Foundation
import StoreModel

extension StoreControlWire {
    /// Something that the app's server is told, and how it was sent.
    public struct Notification: Codable, Sendable, Equatable {
        /// One sending. `at` is virtual time; `result` is one of Apple's words, absent while it is under way.
        public struct Attempt: Codable, Sendable, Equatable {
            public var at: Date
            public var result: String?
            public init(at: Date, result: String? = nil) {
                self.at = at
                self.result = result
            }
        }

        /// Its place in the order of all; grows.
        public var number: Int64
        public var uuid: String
        /// When it happened, which is when it is signed.
        public var at: Date
        /// Apple's names: `DID_RENEW`, …
        public var type: String
        public var subtype: String?
        /// Whose purchase it is about; absent for what is about none.
        public var account: String?
        public var productID: ProductID?
        public var transactionID: TransactionID?
        public var originalTransactionID: TransactionID?
        /// As it is sent; absent until it is sent for the first time.
        public var signedPayload: String?
        /// Oldest first.
        public var attempts: [Attempt]
        /// When it is sent next; absent when it is sent no more.
        public var due: Date?

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

    package struct Notifications: Codable, Sendable, Equatable {
        package var notifications: [Notification]
        package init(notifications: [Notification]) { self.notifications = notifications }
    }

    /// What is left once everything that was due has been sent: how many notifications will be sent again, and when the
    /// next of them.
    package struct Deliveries: Codable, Sendable, Equatable {
        package var waiting: Int
        package var next: Date?
        package init(waiting: Int, next: Date? = nil) {
            self.waiting = waiting
            self.next = next
        }
    }
}
