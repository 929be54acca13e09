import BaseTestSupport
import Foundation
import Primitives
import StoreModel

/// A receipt validator with scripted answers. By default, it acknowledges all transactions.
public final class ScriptedReceiptValidator: ReceiptValidator {
    /// A recorded call.
    public enum Call: Hashable, Sendable {
        case validate([TransactionID], CustomerID)
        case customer(CustomerID)
    }

    /// Validates transactions of a customer.
    public typealias Judge = @Sendable ([StoreTransaction], CustomerID) async throws -> TransactionValidation
    /// Returns the answer about a customer.
    public typealias Answer = @Sendable (CustomerID) async throws -> Customer

    private struct State {
        var judge: Judge
        var answer: Answer
        var clock: (any WallClock)?
    }

    package let calls = CallLog<Call>()
    private let state: Locked<State>

    /// Creates a validator with a function for the answer about each customer; by default, an answer without purchases.
    public init(_ answer: @escaping Answer = { Customer(customer: $0, environment: .sandbox, asOf: .distantPast) }) {
        state = Locked(
            State(
                judge: { transactions, customer in
                    TransactionValidation(
                        customer: try await answer(customer), acknowledged: Set(transactions.map(\.id)))
                }, answer: answer))
    }

    /// Sets the answer about each customer, and acknowledges all transactions from now on.
    public func answer(_ answer: @escaping Answer) {
        state.withLock { state in
            state.answer = answer
            state.judge = { transactions, customer in
                TransactionValidation(
                    customer: try await answer(customer), acknowledged: Set(transactions.map(\.id)))
            }
        }
    }

    /// Sets the clock for the server time of an answer. A time that the function of `judge` sets is kept.
    public func reportTime(of clock: any WallClock) { state.withLock { $0.clock = clock } }

    /// Calls `reportTime(of:)`.
    @available(*, deprecated, renamed: "reportTime(of:)")
    public func tellTime(by clock: any WallClock) { reportTime(of: clock) }

    /// Sets the function that validates transactions from now on.
    public func judge(_ judge: @escaping Judge) { state.withLock { $0.judge = judge } }

    public func validate(
        _ transactions: [StoreTransaction], for customer: CustomerID
    ) async throws -> TransactionValidation {
        calls.record(.validate(transactions.map(\.id), customer))
        let (judge, clock) = state.withLock { ($0.judge, $0.clock) }
        var validation = try await judge(transactions, customer)
        validation.serverTime = validation.serverTime ?? clock?.now()
        return validation
    }

    public func answer(about customer: CustomerID) async throws -> CustomerAnswer {
        let answer = try await self.customer(customer)
        return CustomerAnswer(customer: answer, serverTime: state.withLock { $0.clock }?.now())
    }

    public func customer(_ customer: CustomerID) async throws -> Customer {
        calls.record(.customer(customer))
        return try await state.withLock { $0.answer }(customer)
    }
}
