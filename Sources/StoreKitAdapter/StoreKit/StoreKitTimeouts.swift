import Primitives
import StoreModel

/// How long StoreKit is waited for, and the clocks that measure it.
struct StoreKitTimeouts: Sendable {
    /// The details of one purchase, all together: what is unfinished, what is owned, how a subscription renews.
    var details: Duration = .seconds(2)
    /// A query that nothing can go on without, such as the one for the product before a purchase. Apple documents no bound
    /// for it. A slow mobile network answers well within this time, and nothing has been sold when it ends.
    var query: Duration = .seconds(30)
    var clock = MonotonicClock()
    var sleep: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }

    /// Returns a budget for details, of which a part may have been spent before.
    func budget(spent: Duration = .zero) -> TimeoutBudget {
        TimeoutBudget(details - spent, clock: clock, sleep: sleep)
    }

    /// Returns the answer of a query. Throws `StoreFailure` with the code `unreachable` when StoreKit does not answer in
    /// time, what `question` throws, and `CancellationError`.
    ///
    /// - Parameter subject: completes the sentence "The App Store did not answer …".
    func answer<Answer: Sendable>(
        _ subject: String, _ question: @escaping @Sendable () async throws -> Answer
    ) async throws -> Answer {
        let seconds = query.components.seconds
        let failure = StoreFailure(
            code: .unreachable,
            reason: "The App Store did not answer \(subject) within \(seconds) seconds. Check the connection to the "
                + "network, then try again.")
        return try await timelyAnswer(within: query, orThrow: failure, sleep: sleep, question)
    }
}
