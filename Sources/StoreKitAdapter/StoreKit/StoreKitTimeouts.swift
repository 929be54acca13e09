import Primitives
import StoreModel

/// The timeouts of StoreKit requests, and the clocks that measure them.
struct StoreKitTimeouts: Sendable {
    /// The timeout for all details of one purchase: unfinished and owned transactions, and renewal info.
    var details: Duration = .seconds(2)
    /// The timeout of a required query, such as the one for the product before a purchase. Apple documents no limit. A
    /// query over a slow mobile network ends well within this time. After a timeout, nothing has been sold.
    var query: Duration = .seconds(30)
    var clock = MonotonicClock()
    var sleep: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }

    /// Returns a budget for details, of which a part may already be spent.
    func budget(spent: Duration = .zero) -> TimeoutBudget {
        TimeoutBudget(details - spent, clock: clock, sleep: sleep)
    }

    /// Returns the result of a query. Throws `StoreFailure` with the code `unreachable` if StoreKit does not answer in
    /// time, the error of `operation`, and `CancellationError`.
    ///
    /// - Parameter subject: Completes the sentence "The App Store did not answer …".
    func answer<Answer: Sendable>(
        _ subject: String, _ operation: @escaping @Sendable () async throws -> Answer
    ) async throws -> Answer {
        let seconds = query.components.seconds
        let failure = StoreFailure(
            code: .unreachable,
            reason: "The App Store did not answer \(subject) within \(seconds) seconds. Check the connection to the "
                + "network, then try again.")
        return try await withTimeout(of: query, orThrow: failure, sleep: sleep, operation)
    }
}
