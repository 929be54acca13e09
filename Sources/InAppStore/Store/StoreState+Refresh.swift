import Foundation
import StoreModel

/// The schedule of requests to the server.
extension StoreState {
    /// When the next request to the server is due: when the answer is no longer valid or is old. After a failure, the
    /// pauses grow. The distant past if there is no answer.
    var nextRefresh: Date {
        if failures > 0, let lastFailure {
            return lastFailure.addingTimeInterval(min(60 * pow(2, Double(min(failures, 10) - 1)), 6 * 3600))
        }
        guard let answer else { return .distantPast }
        let old = answer.receivedAt.addingTimeInterval(interval(after: answer.customer))
        guard let end = answer.customer.validUntil else { return old }
        // An answer may no longer be valid when it arrives, because two clocks differ. The pause prevents a loop.
        return min(end > answer.receivedAt ? end : answer.receivedAt.addingTimeInterval(60), old)
    }

    private func interval(after answer: Customer) -> TimeInterval {
        let mayRenew = answer.subscriptions.contains {
            ![.expired, .revoked].contains($0.state) && $0.revokedAt == nil
        }
        guard answer.environment != .production, mayRenew else { return timeLimits.validation }
        return min(timeLimits.sandboxValidation, timeLimits.validation)
    }

    /// Returns whether the answer is missing or no longer valid at `now`, and should be requested.
    func isStale(at now: Date) -> Bool { answer?.customer.validUntil.map { now >= $0 } ?? (answer == nil) }

    /// Stores an answer, which applies from now on.
    mutating func record(_ customer: Customer, at now: Date) {
        answer = Answer(customer: customer, receivedAt: now)
        (failures, lastFailure) = (0, nil)
    }

    /// Records a failed request. Failed deliveries between two requests are not counted, because the payment queue
    /// paces them.
    mutating func recordFailure(at now: Date) {
        if failures == 0 || now >= nextRefresh {
            failures += 1
            lastFailure = now
        }
        if answer?.failingSince == nil { answer?.failingSince = now }
    }
}
