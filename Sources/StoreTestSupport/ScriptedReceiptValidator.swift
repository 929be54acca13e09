import BaseTestSupport
import Foundation
import Primitives
import StoreModel

/// A server that acknowledges everything and answers what a test set, unless the test says otherwise.
public final class ScriptedReceiptValidator: ReceiptValidator {
    public enum Call: Hashable, Sendable {
        case validate([TransactionID], CustomerID)
        case customer(CustomerID)
    }

    public typealias Judge = @Sendable ([StoreTransaction], CustomerID) async throws -> TransactionValidation
    public typealias Answer = @Sendable (CustomerID) async throws -> Customer

    private struct State {
        var judge: Judge
        var answer: Answer
        var clock: (any WallClock)?
    }

    package let calls = CallLog<Call>()
    private let state: Locked<State>

    /// `answer` is what it says about a customer; without it, that nobody has anything.
    public init(_ answer: @escaping Answer = { Customer(customer: $0, environment: .sandbox, asOf: .distantPast) }) {
        state = Locked(
            State(
                judge: { transactions, customer in
                    TransactionValidation(
                        customer: try await answer(customer), acknowledged: Set(transactions.map(\.id)))
                }, answer: answer))
    }

    /// What it says from now on, also with an acknowledgement of everything presented.
    public func answer(_ answer: @escaping Answer) {
        state.withLock { state in
            state.answer = answer
            state.judge = { transactions, customer in
                TransactionValidation(
                    customer: try await answer(customer), acknowledged: Set(transactions.map(\.id)))
            }
        }
    }

    /// From now on it says with each answer what time it is.
    public func reportTime(of clock: any WallClock) { state.withLock { $0.clock = clock } }

    /// What it says of presented transactions from now on.
    public func judge(_ judge: @escaping Judge) { state.withLock { $0.judge = judge } }

    public func validate(
        _ transactions: [StoreTransaction], for customer: CustomerID
    ) async throws -> TransactionValidation {
        calls.record(.validate(transactions.map(\.id), customer))
        let (judge, clock) = state.withLock { ($0.judge, $0.clock) }
        var validation = try await judge(transactions, customer)
        validation.saidAt = validation.saidAt ?? clock?.now()
        return validation
    }

    public func answer(about customer: CustomerID) async throws -> CustomerAnswer {
        let answer = try await self.customer(customer)
        return CustomerAnswer(customer: answer, saidAt: state.withLock { $0.clock }?.now())
    }

    public func customer(_ customer: CustomerID) async throws -> Customer {
        calls.record(.customer(customer))
        return try await state.withLock { $0.answer }(customer)
    }
}
