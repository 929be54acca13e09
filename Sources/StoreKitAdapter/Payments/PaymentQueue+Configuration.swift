import Foundation
import StoreModel

/// When a transaction is finished at the store. Closed: there is no fourth moment.
public enum FinishPolicy: Sendable {
    /// When whoever keeps the truth has acknowledged it (the default).
    case afterAcknowledgement
    /// At once, before it is delivered. What is not acknowledged when the app ends is not reported again: only for apps
    /// that restore what they miss.
    case immediately
    /// When the app calls `finish(_:)`.
    case byCaller
}

extension PaymentQueue {
    public struct Configuration: Sendable {
        public var connection: any StoreConnection
        /// Given, a purchase begins with the question whether this device may pay and whether the store sells the product;
        /// that question's error is then the purchase's answer.
        public var products: ProductRequest?
        public var finishing: FinishPolicy
        public var makePaymentID: @Sendable () -> PaymentID
        public var sleep: @Sendable (Duration) async throws -> Void
        /// The pause before attempt 1, 2, … of a delivery or a finish that failed.
        public var pause: @Sendable (Int) -> Duration
        /// How long `shutDown()` waits for deliveries and questions that do not end though they are cancelled.
        public var shutDownLimit: Duration

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
