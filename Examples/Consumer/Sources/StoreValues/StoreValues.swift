import Foundation
import StoreModel

/// Computes without a store when a monthly subscription from 31 January ends, and whether its feature is active.
@main
enum StoreValues {
    static func main() {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = TimeZone(secondsFromGMT: 0) ?? .current
        let start = calendar.date(from: DateComponents(year: 2027, month: 1, day: 31)) ?? .distantPast
        let end = SubscriptionPeriod.months(1).end(from: start)
        let period = PaidFeature.Period(startDate: start, endDate: end, isTrial: false)
        let owned = PaidFeatures(features: [
            PaidFeature(name: "pro", paymentType: .subscription(.init(current: period)))
        ])
        let before = owned.hasActiveFeature(with: "pro", at: end.addingTimeInterval(-1))
        let after = owned.hasActiveFeature(with: "pro", at: end)
        print("a second before the end: \(before), at the end: \(after)")
        exit(before && !after && calendar.component(.day, from: end) == 28 ? 0 : 1)
    }
}
