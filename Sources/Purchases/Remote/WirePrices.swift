import Foundation
import Primitives
import StoreModel

extension Decimal {
    /// A price as it is written on the wire, a decimal string in any locale's stead; `nil` for anything else.
    init?(wirePrice text: String?) {
        guard let price = text.flatMap({ JSONNumber(text: $0)?.decimal }) else { return nil }
        self = price
    }
}

extension SubscriptionPeriod {
    /// A period as it is written on the wire; `nil` for a unit that is not known and a length that is none.
    init?(wireValue value: Int?, type: String?) {
        guard let value, value > 0, let unit = type.flatMap(Unit.init) else { return nil }
        self.init(value: value, unit: unit)
    }
}
