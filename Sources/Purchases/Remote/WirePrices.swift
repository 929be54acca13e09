import Foundation
import Primitives
import StoreModel

extension Decimal {
    /// Parses a price as a decimal string, without a locale. Returns `nil` for anything else.
    init?(wirePrice text: String?) {
        guard let price = text.flatMap({ JSONNumber(text: $0)?.decimal }) else { return nil }
        self = price
    }
}

extension SubscriptionPeriod {
    /// Creates a period, or returns `nil` for an unknown unit or a length that is not positive.
    init?(wireValue value: Int?, type: String?) {
        guard let value, value > 0, let unit = type.flatMap(Unit.init) else { return nil }
        self.init(value: value, unit: unit)
    }
}
