import HTTPCore
import Purchases
import StoreModel

/// The customer's credit, which consumables add and the app spends.
extension Store {
    /// Fetches the customer's credit of a type from the server.
    ///
    /// - Parameter type: The type of the credit.
    /// - Returns: The balance.
    /// - Throws: `PurchaseError`: `creditFailed`, `unsupported` without a credit service, `operationCancelled`.
    public func credit(_ type: String) async throws -> CreditBalance {
        let customer = customer
        let balance = try await withCreditService { try await $0.credit(type, of: customer) }
        coordinator.storeCredit(balance, of: customer)
        return balance
    }

    /// Returns the stored credit of the type `type`; `nil` if there is none for this customer.
    public func cachedCredit(_ type: String) -> CreditBalance? {
        coordinator.records.value(StoreRecords.Key.credit(type), of: customer, reportingTo: coordinator.events)
    }

    /// Returns the prices of items.
    ///
    /// - Parameters:
    ///   - type: The type of the credit.
    ///   - itemTypes: The types of the items.
    /// - Returns: The price of each type.
    /// - Throws: `PurchaseError`, as ``credit(_:)`` does; `creditFailed` if one of them has no price.
    public func creditPrices(_ type: String, of itemTypes: Set<String>) async throws -> [String: Int] {
        let prices = try await credit(type).prices
        let unknown = itemTypes.filter { prices[$0] == nil }.sorted()
        guard unknown.isEmpty else {
            throw PurchaseError(
                .creditFailed,
                "The credit \"\(type)\" has no price for: \(unknown.joined(separator: ", ")). Add it to the server's feature file."
            )
        }
        return prices.filter { itemTypes.contains($0.key) }
    }

    /// Spends credit on all of the items, or on none. An item that was redeemed before costs nothing.
    ///
    /// - Parameters:
    ///   - items: The type of each item, by its id.
    ///   - type: The type of the credit.
    /// - Returns: The server's answer, with the new balance.
    /// - Throws: `PurchaseError`, as ``credit(_:)`` does; `insufficientCredit`.
    @discardableResult
    public func redeem(_ items: [String: String], credit type: String) async throws -> RedeemAnswer {
        let customer = customer
        let items = items.sorted { $0.key < $1.key }.map { RedeemRequest.Item(id: $0.key, type: $0.value) }
        let answer = try await withCreditService { try await $0.redeem(items, credit: type, of: customer) }
        if let known = cachedCredit(type), customer == self.customer {
            coordinator.storeCredit(
                CreditBalance(
                    type: type, earned: known.earned, spent: known.earned - answer.balance, prices: known.prices),
                of: customer)
        }
        return answer
    }

    private func withCreditService<Answer: Sendable>(
        _ operation: (any CreditService) async throws -> Answer
    ) async throws -> Answer {
        guard let credits else {
            throw PurchaseError(.unsupported, "This store has no credit service. Set one in its configuration.")
        }
        do {
            return try await operation(credits)
        } catch is CancellationError {
            throw PurchaseError(.operationCancelled, "The request for credit was cancelled.")
        } catch {
            let isShort = ((error as? PurchaseError)?.underlying as? HTTPProblem)?.code == "insufficient_credit"
            throw PurchaseError(
                isShort ? .insufficientCredit : .creditFailed,
                (error as? PurchaseError)?.reason ?? "The request for credit failed.", underlying: error)
        }
    }
}

extension StoreCoordinator {
    fileprivate nonisolated func storeCredit(_ balance: CreditBalance, of customer: CustomerID) {
        do {
            try records.set(balance, for: StoreRecords.Key.credit(balance.type), of: customer)
        } catch {
            report(.storage("Cannot store the credit \"\(balance.type)\": \(error)"))
        }
    }
}
