import Foundation
import Primitives

extension AndroidPublisher {
    /// An amount of money: whole units of a currency, and billionths of a unit with the same sign.
    ///
    ///     let price = AndroidPublisher.Money(currencyCode: "USD", units: 4, nanos: 990_000_000)
    ///     price?.adding(price!)        // 9.98 USD
    ///
    /// Arithmetic returns `nil` instead of overflowing, and for different currencies.
    package struct Money: Codable, Sendable, Hashable {
        /// The currency (ISO 4217).
        package let currencyCode: String
        /// The amount in billionths of a unit.
        package let billionths: Int64

        /// Whole units, rounded toward zero.
        package var units: Int64 { billionths / Self.unit }
        /// The rest, in billionths of a unit, with the sign of the amount.
        package var nanos: Int { Int(billionths % Self.unit) }

        private static let unit: Int64 = 1_000_000_000

        package init(currencyCode: String, billionths: Int64) {
            self.currencyCode = currencyCode
            self.billionths = billionths
        }

        /// Returns `nil` for over 9,223,372,036 units, for a billion billionths, and for different signs.
        package init?(currencyCode: String, units: Int64, nanos: Int = 0) {
            guard nanos.magnitude < Self.unit.magnitude, units == 0 || nanos == 0 || (units < 0) == (nanos < 0) else {
                return nil
            }
            let (whole, isTooLarge) = units.multipliedReportingOverflow(by: Self.unit)
            let (sum, overflows) = whole.addingReportingOverflow(Int64(nanos))
            guard !isTooLarge, !overflows else { return nil }
            self.init(currencyCode: currencyCode, billionths: sum)
        }

        /// No money.
        package static func zero(_ currencyCode: String) -> Money { Money(currencyCode: currencyCode, billionths: 0) }

        /// The amount in units.
        package var amount: Decimal { Decimal(billionths) / Decimal(Self.unit) }

        package func adding(_ other: Money) -> Money? {
            guard currencyCode.hasSameBytes(as: other.currencyCode) else { return nil }
            let (sum, overflows) = billionths.addingReportingOverflow(other.billionths)
            return overflows ? nil : Money(currencyCode: currencyCode, billionths: sum)
        }

        package func subtracting(_ other: Money) -> Money? {
            guard currencyCode.hasSameBytes(as: other.currencyCode) else { return nil }
            let (rest, overflows) = billionths.subtractingReportingOverflow(other.billionths)
            return overflows ? nil : Money(currencyCode: currencyCode, billionths: rest)
        }

        /// Returns `numerator / denominator` of a positive amount, rounded down to a hundredth of a unit. The numerator
        /// is from 0 to the denominator.
        package func share(_ numerator: Int64, of denominator: Int64) -> Money? {
            guard billionths >= 0, denominator > 0, (0...denominator).contains(numerator) else { return nil }
            let product = billionths.magnitude.multipliedFullWidth(by: numerator.magnitude)
            // The quotient fits, because the numerator is at most the denominator.
            let quotient = denominator.magnitude.dividingFullWidth((product.high, product.low)).quotient
            let hundredth = UInt64(Self.unit / 100)
            return Money(currencyCode: currencyCode, billionths: Int64(quotient - quotient % hundredth))
        }

        private enum CodingKeys: String, CodingKey { case currencyCode, units, nanos }

        package init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            let units = try container.decodeIfPresent(Int64Text.self, forKey: .units)?.value ?? 0
            let nanos = try container.decodeIfPresent(Int.self, forKey: .nanos) ?? 0
            let currency = try container.decodeIfPresent(String.self, forKey: .currencyCode) ?? ""
            guard let money = Money(currencyCode: currency, units: units, nanos: nanos) else {
                throw DecodingError.dataCorruptedError(
                    forKey: .units, in: container, debugDescription: "units and nanos are not an amount of money")
            }
            self = money
        }

        /// Encodes the amount as Google does, without members that are 0.
        package func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(currencyCode, forKey: .currencyCode)
            if units != 0 { try container.encode(Int64Text(units), forKey: .units) }
            if nanos != 0 { try container.encode(nanos, forKey: .nanos) }
        }
    }
}
