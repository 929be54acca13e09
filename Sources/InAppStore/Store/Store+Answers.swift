import Foundation
import Primitives
import Purchases
import StoreModel

/// The server's last answer about the customer, by which a store goes.
public struct StoreAnswer: Equatable, Sendable {
    /// The customer as they are now: a subscription that ends later than the server said has its later end.
    public let customer: Customer
    /// When the answer came, by the store's clock.
    public let receivedAt: Date
}

/// For systems in front of a store, such as `InAppStorePurchasePlugin` and `StoreHubPlugin`.
extension Store {
    /// The clock by which access ends. It does not go back when the device's clock is set back.
    public var clock: any WallClock { keeper.clock }

    /// The server's last answer about the customer; `nil` before the first.
    public var lastAnswer: StoreAnswer? {
        let state = keeper.state
        guard let customer = state.customer(at: keeper.now), let answer = state.answer else { return nil }
        return StoreAnswer(customer: customer, receivedAt: answer.receivedAt)
    }

    /// The features that the customer paid for, by `lastAnswer`.
    public var paidFeatures: PaidFeatures { keeper.paidFeatures }

    /// The server's answer about the customer. The server is asked first when its last answer has ended, and after
    /// `invalidateAnswer()`. When it cannot be asked, its last answer is returned.
    ///
    /// Throws `receiptValidationFailed` when the server cannot be asked and has never answered, and `operationCancelled`.
    public func currentAnswer() async throws -> StoreAnswer? {
        if isAnswerInvalid.withLock({ $0 }) || keeper.state.isStale(at: keeper.now) {
            do {
                try await keeper.refresh()
                isAnswerInvalid.withLock { $0 = false }
            } catch  where keeper.state.answer == nil {
                throw error
            } catch {}
        }
        return lastAnswer
    }

    /// Lets the next `currentAnswer()` ask the server, though its last answer has not ended.
    public func invalidateAnswer() { isAnswerInvalid.withLock { $0 = true } }
}

extension ProductsInfoProvider {
    /// Whether the customer may use a feature now, for example `isActive("pro")`. False for a feature that nothing gives.
    public func isActive(_ feature: String) -> Bool {
        snapshot.features.contains { $0.isActive && $0.name.hasSameBytes(as: feature) }
    }
}
