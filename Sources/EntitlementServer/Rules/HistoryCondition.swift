import Foundation
import StoreModel

/// The conditions of a rule about the past of a subscription. Absent ones are always met.
struct HistoryCondition: Sendable, Hashable {
    /// The names of the conditions in a file.
    static let members = ["daysSubscribed", "paidPeriods", "usedIntroductoryOffer", "usedPromotionalOffer"]

    var daysSubscribed: ClosedRange<Int>?
    var paidPeriods: ClosedRange<Int>?
    var usedIntroductoryOffer: Bool?
    var usedPromotionalOffer: Bool?

    var isEmpty: Bool { self == HistoryCondition() }

    /// Returns the name of the first condition that is not met; `nil` if all are met.
    func failure(for history: SubscriptionHistory, at instant: Date) -> String? {
        let isMet = [
            daysSubscribed?.contains(history.days(at: instant)) != false,
            paidPeriods?.contains(history.paidPeriods) != false,
            (usedIntroductoryOffer ?? history.hasUsedIntroductoryOffer) == history.hasUsedIntroductoryOffer,
            (usedPromotionalOffer ?? history.hasUsedPromotionalOffer) == history.hasUsedPromotionalOffer,
        ]
        return isMet.firstIndex(of: false).map { Self.members[$0] }
    }
}
