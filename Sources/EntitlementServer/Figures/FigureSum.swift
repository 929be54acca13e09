import StoreModel

/// A factor of a sum: the product of a share and a rate, exact to 10^-18.
struct FigureFactor: Sendable {
    /// The factor in units of 10^-18, at most 10^24 units.
    fileprivate let parts: FigureValue

    static let one = FigureFactor(parts: FigureValue(FigureValue.base))

    private init(parts: FigureValue) { self.parts = parts }

    /// Creates the product of a share in millionths and a rate in units of 10^-12.
    init(share: Int64, rate: Int64) { parts = .product(share, rate) }
}

/// An exact sum of values with factors. It is rounded once, when it is complete.
struct FigureSum: Sendable {
    private var whole: FigureValue
    /// The rest in units of 10^-18. Its magnitude can exceed 1, and its sign can differ from the sign of `whole`.
    private var rest: FigureValue = 0

    init(_ value: FigureValue = 0) { whole = value }

    /// Creates the product of a value and a factor.
    init(_ value: FigureValue, times factor: FigureFactor) {
        let (units, parts) = (factor.parts.high, factor.parts.low)
        whole = FigureValue(high: FigureValue.product(value.high, units).clamped, low: 0)
        whole += .product(value.high, parts) + .product(value.low, units)
        rest = .product(value.low, parts)
    }

    static func += (left: inout FigureSum, right: FigureSum) {
        left.whole += right.whole
        left.rest += right.rest
    }

    /// The integer part, and the rest in units of 10^-18 with the same sign.
    private var normalized: (whole: FigureValue, rest: Int64) {
        let (sum, part) = (whole + FigureValue(rest.high), rest.low)
        if sum.sign > 0, part < 0 { return (sum - 1, part + FigureValue.base) }
        if sum.sign < 0, part > 0 { return (sum + 1, part - FigureValue.base) }
        return (sum, part)
    }

    /// The nearest integer; a half is rounded away from zero.
    var rounded: FigureValue {
        let (whole, rest) = normalized
        guard rest.magnitude >= FigureValue.base.magnitude / 2 else { return whole }
        return whole + FigureValue(rest.signum())
    }

    /// Returns the nearest integer to the quotient by a number above zero; a half is rounded away from zero.
    func rounded(dividedBy divisor: Int64) -> FigureValue {
        let (whole, rest) = normalized
        let (quotient, remainder) = whole.magnitude(dividedBy: divisor)
        // The rest is below 1. So it decides only where the remainder is just below the half of an odd divisor.
        let missing = (divisor - remainder).subtractingReportingOverflow(remainder).partialValue
        let isUp = missing <= 0 || missing == 1 && rest.magnitude >= FigureValue.base.magnitude / 2
        let rounded = isUp ? quotient + 1 : quotient
        return whole.sign < 0 || rest < 0 ? -rounded : rounded
    }
}
