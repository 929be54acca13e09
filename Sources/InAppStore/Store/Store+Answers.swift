import Foundation
import Primitives
import Purchases
import StoreModel

/// The server's last answer about the customer, which decides the access.
public struct StoreAnswer: Equatable, Sendable {
    /// The customer at the time when `lastAnswer` was read. Includes a grace period, so a subscription may end later
    /// than in the server's answer.
    public let customer: Customer
    /// When the answer arrived, by the store's clock.
    public let receivedAt: Date
}

/// The server's answers, for plugins of a store such as `InAppStorePurchasePlugin` and `StoreHubPlugin`.
extension Store {
    /// The clock that decides when access ends. It does not go back if the device's clock is set back.
    public var clock: any WallClock { coordinator.clock }

    /// The server's last answer about the customer; `nil` before the first.
    public var lastAnswer: StoreAnswer? {
        let state = coordinator.state
        guard let customer = state.customer(at: coordinator.now), let answer = state.answer else { return nil }
        return StoreAnswer(customer: customer, receivedAt: answer.receivedAt)
    }

    /// The features that the customer paid for, according to `lastAnswer`.
    public var paidFeatures: PaidFeatures { coordinator.paidFeatures }

    /// Returns the server's answer about the customer. Requests a new one if there is none, if the last answer is
    /// outdated, or after `invalidateAnswer()`. If the server is unreachable, returns its last answer.
    ///
    /// - Returns: The answer; `nil` only if a login or logout changed the customer during the request.
    /// - Throws: `PurchaseError` if there is no earlier answer: `receiptValidationFailed` if the server is unreachable,
    ///   `operationCancelled` if the caller was cancelled.
    public func currentAnswer() async throws -> StoreAnswer? {
        if isAnswerInvalid.withLock({ $0 }) || coordinator.state.isStale(at: coordinator.now) {
            do {
                try await coordinator.refresh()
                isAnswerInvalid.withLock { $0 = false }
            } catch  where coordinator.state.answer == nil {
                throw error
            } catch {}
        }
        return lastAnswer
    }

    /// Makes the next `currentAnswer()` request a new answer from the server, even if the last one is still valid.
    public func invalidateAnswer() { isAnswerInvalid.withLock { $0 = true } }
}

extension ProductsInfoProvider {
    /// Returns whether the customer may use the feature `feature` now, for example `isActive("pro")`. Returns `false`
    /// for an unknown feature.
    public func isActive(_ feature: String) -> Bool {
        snapshot.features.contains { $0.isActive && $0.name.hasSameBytes(as: feature) }
    }
}
