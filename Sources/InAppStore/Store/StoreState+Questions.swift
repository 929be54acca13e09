import Foundation
import StoreModel

/// When the server is asked again.
extension StoreState {
    /// When the server is to be asked again: when its answer ends or has grown old, and after a failure with growing
    /// pauses. Of the distant past when there is no answer at all.
    var nextQuestion: Date {
        if failures > 0, let lastFailure {
            return lastFailure.addingTimeInterval(min(60 * pow(2, Double(min(failures, 10) - 1)), 6 * 3600))
        }
        guard let answer else { return .distantPast }
        let old = answer.receivedAt.addingTimeInterval(interval(after: answer.customer))
        guard let end = answer.customer.validUntil else { return old }
        // An answer that had ended when it came (two clocks that differ) must not be asked for without a pause.
        return min(end > answer.receivedAt ? end : answer.receivedAt.addingTimeInterval(60), old)
    }

    private func interval(after answer: Customer) -> TimeInterval {
        let mayGoOn = answer.subscriptions.contains { ![.expired, .revoked].contains($0.state) && $0.revokedAt == nil }
        guard answer.environment != .production, mayGoOn else { return patience.validation }
        return min(patience.sandboxValidation, patience.validation)
    }

    /// Whether the answer no longer stands at `now` and should be asked for again.
    func isStale(at now: Date) -> Bool { answer?.customer.validUntil.map { now >= $0 } ?? (answer == nil) }

    /// An answer has come: what it says counts from now on.
    mutating func note(_ customer: Customer, at now: Date) {
        answer = Answer(customer: customer, receivedAt: now)
        (failures, lastFailure) = (0, nil)
    }

    /// A question got no answer. Deliveries that fail between two questions are paced by the payment queue, and not counted.
    mutating func noteFailure(at now: Date) {
        if failures == 0 || now >= nextQuestion {
            failures += 1
            lastFailure = now
        }
        if answer?.failingSince == nil { answer?.failingSince = now }
    }
}
