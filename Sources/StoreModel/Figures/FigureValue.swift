/// An exact integer with up to 36 digits: a sum of the figures, which can exceed 64 bits.
///
/// It has two parts with a base of 10^18, as the columns of a table store it:
///
///     let sum = FigureValue(1_000_000_000_000_000) + FigureValue(1)
///     sum.text                                                        // "1000000000000001"
///
/// A sum beyond the range becomes the end of the range. No sum of contributions gets there: a contribution is at most
/// 10^15, and a ledger has fewer than 2^63 facts.
package struct FigureValue: Hashable, Sendable {
    /// The base of `high`.
    package static let base: Int64 = 1_000_000_000_000_000_000

    /// The multiple of 10^18, with the sign of the number.
    package let high: Int64
    /// The rest, with the sign of the number; its magnitude is below 10^18.
    package let low: Int64

    package static let zero = FigureValue(0)

    package init(_ value: Int64) {
        (high, low) = value.quotientAndRemainder(dividingBy: Self.base)
    }

    /// Creates the number `high` × 10^18 + `low`, for parts of any signs.
    package init(high: Int64, low: Int64) {
        let (carry, rest) = low.quotientAndRemainder(dividingBy: Self.base)
        let (sum, overflows) = high.addingReportingOverflow(carry)
        guard !overflows else {
            (self.high, self.low) = high > 0 ? (.max, Self.base - 1) : (.min, 1 - Self.base)
            return
        }
        if sum > 0, rest < 0 {
            (self.high, self.low) = (sum - 1, rest + Self.base)
        } else if sum < 0, rest > 0 {
            (self.high, self.low) = (sum + 1, rest - Self.base)
        } else {
            (self.high, self.low) = (sum, rest)
        }
    }

    /// Creates the number `billions` × 10^9 + `rest`.
    package init(billions: Int64, rest: Int64) {
        let (high, low) = billions.quotientAndRemainder(dividingBy: 1_000_000_000)
        self = FigureValue(high: high, low: low * 1_000_000_000) + FigureValue(rest)
    }

    package var isZero: Bool { high == 0 && low == 0 }
    /// -1, 0 or 1.
    package var sign: Int64 { high == 0 ? low.signum() : high.signum() }

    /// Creates the integer that is nearest to a number of less than 10^36.
    package init(rounding value: Double) {
        let high = (value / Double(Self.base)).rounded(.towardZero)
        let low = (value - high * Double(Self.base)).rounded()
        self.init(high: Int64(exactly: high) ?? 0, low: Int64(exactly: low) ?? 0)
    }

    /// The nearest `Double`.
    package var double: Double { Double(high) * Double(Self.base) + Double(low) }

    /// The number if an `Int64` can express it, and otherwise the nearer end of the range of `Int64`.
    package var clamped: Int64 {
        let (product, overflows) = high.multipliedReportingOverflow(by: Self.base)
        let (sum, exceeds) = product.addingReportingOverflow(low)
        return overflows || exceeds ? (sign < 0 ? .min : .max) : sum
    }

    /// The number without its sign.
    package var magnitude: FigureValue { sign < 0 ? .zero - self : self }

    /// The digits, after a minus for a number below zero.
    package var text: String {
        guard high != 0 else { return "\(low)" }
        return "\(high)" + String(low.magnitude + Self.base.magnitude).dropFirst()
    }

    package static func + (left: FigureValue, right: FigureValue) -> FigureValue {
        let (high, overflows) = left.high.addingReportingOverflow(right.high)
        guard !overflows else {
            return FigureValue(high: left.high > 0 ? .max : .min, low: left.high > 0 ? base - 1 : 1 - base)
        }
        return FigureValue(high: high, low: left.low + right.low)
    }

    package static prefix func - (value: FigureValue) -> FigureValue {
        FigureValue(high: value.high == .min ? .max : -value.high, low: -value.low)
    }

    package static func - (left: FigureValue, right: FigureValue) -> FigureValue { left + -right }

    package static func += (left: inout FigureValue, right: FigureValue) { left = left + right }
}

extension FigureValue: Comparable {
    package static func < (left: FigureValue, right: FigureValue) -> Bool {
        (left.high, left.low) < (right.high, right.low)
    }
}

extension FigureValue: ExpressibleByIntegerLiteral {
    package init(integerLiteral value: Int64) { self.init(value) }
}

extension FigureValue: CustomStringConvertible {
    package var description: String { text }
}

// MARK: - Products and quotients

extension FigureValue {
    /// Returns the product of two numbers. A product beyond the range becomes about the end of the range.
    package static func product(_ left: Int64, _ right: Int64) -> FigureValue {
        let wide = left.magnitude.multipliedFullWidth(by: right.magnitude)
        guard wide.high < base.magnitude else {
            return FigureValue(high: (left < 0) == (right < 0) ? .max : .min, low: 0)
        }
        let (quotient, remainder) = base.magnitude.dividingFullWidth(wide)
        guard let high = Int64(exactly: quotient) else {
            return FigureValue(high: (left < 0) == (right < 0) ? .max : .min, low: 0)
        }
        let low = Int64(remainder)
        return (left < 0) == (right < 0) ? FigureValue(high: high, low: low) : FigureValue(high: -high, low: -low)
    }

    /// Returns the number without its sign, divided by a number above zero, and the remainder.
    package func magnitude(dividedBy divisor: Int64) -> (quotient: FigureValue, remainder: Int64) {
        let number = magnitude
        let (first, rest) = number.high.quotientAndRemainder(dividingBy: divisor)
        // rest × 10^18 + low is below divisor × 10^18, so the second quotient is below 10^18.
        var wide = rest.magnitude.multipliedFullWidth(by: Self.base.magnitude)
        let (sum, carries) = wide.low.addingReportingOverflow(number.low.magnitude)
        wide = (wide.high + (carries ? 1 : 0), sum)
        let (second, remainder) = divisor.magnitude.dividingFullWidth(wide)
        return (FigureValue(high: first, low: Int64(second)), Int64(remainder))
    }

    /// Returns the quotient by a number above zero, rounded to the nearest integer; a half is rounded away from zero.
    package func rounded(dividedBy divisor: Int64) -> FigureValue {
        let (quotient, remainder) = magnitude(dividedBy: divisor)
        let rounded = remainder >= divisor - remainder ? quotient + 1 : quotient
        return sign < 0 ? -rounded : rounded
    }
}
