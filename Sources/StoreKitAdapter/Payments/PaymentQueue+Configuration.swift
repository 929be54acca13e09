import Foundation
import StoreModel

/// When the queue finishes a transaction at the store. The enum is closed: these are the three possible times.
public enum FinishPolicy: Sendable {
    /// After the server has acknowledged it (the default).
    case afterAcknowledgement
    /// At once, before the delivery. A transaction that is not acknowledged when the app ends is not reported again.
    /// Use this only in apps that restore missing purchases.
    case immediately
    /// When the app calls ``PaymentQueue/finish(_:)``.
    case byCaller
}

extension PaymentQueue {
    /// The settings of a payment queue.
    public struct Configuration: Sendable {
        /// The connection to the store that sells.
        public var connection: any StoreConnection
        /// Checks a product before each purchase, if set: whether this device may pay, and whether the store sells the
        /// product. An error of this check becomes the purchase's answer.
        public var products: ProductRequest?
        /// When transactions are finished.
        public var finishing: FinishPolicy
        /// Creates the id of a payment. Each call must return another id.
        public var makePaymentID: @Sendable () -> PaymentID
        /// Waits for a duration, or throws if the task is cancelled.
        public var sleep: @Sendable (Duration) async throws -> Void
        /// Returns the pause before retry 1, 2, … of a delivery or a finish that failed.
        public var pause: @Sendable (Int) -> Duration
        /// The time that `shutDown()` waits for deliveries and requests that ignore their cancellation.
        public var shutDownLimit: Duration

        /// Creates a configuration.
        ///
        /// - Parameters:
        ///   - connection: The connection to the store that sells.
        ///   - products: Checks a product before each purchase; `nil` skips this check.
        ///   - finishing: When transactions are finished.
        ///   - makePaymentID: Creates the id of a payment.
        ///   - sleep: Waits for a duration, or throws if the task is cancelled.
        ///   - pause: Returns the pause before retry 1, 2, … of a delivery or a finish that failed.
        ///   - shutDownLimit: How long `shutDown()` waits for work that ignores its cancellation.
        public init(
            connection: any StoreConnection, products: ProductRequest? = nil,
            finishing: FinishPolicy = .afterAcknowledgement,
            makePaymentID: @escaping @Sendable () -> PaymentID = { PaymentID(UUID()) },
            sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) },
            pause: @escaping @Sendable (Int) -> Duration = { .milliseconds(250 << min($0 - 1, 10)) },
            shutDownLimit: Duration = .seconds(5)
        ) {
            self.connection = connection
            self.products = products
            self.finishing = finishing
            self.makePaymentID = makePaymentID
            self.sleep = sleep
            self.pause = pause
            self.shutDownLimit = shutDownLimit
        }
    }
}
