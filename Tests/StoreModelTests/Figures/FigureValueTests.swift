import BaseTestSupport
import Foundation
import Testing

@testable import StoreModel

/// Sums of more than 64 bits. The reference is `Decimal`, which is exact up to 38 digits.
struct FigureValueTests {
    private static let base = Decimal(FigureValue.base)

    private static func decimal(_ value: FigureValue) -> Decimal { Decimal(value.high) * base + Decimal(value.low) }

    /// Returns numbers of all sizes up to 10^35, and the ends of 64 bits.
    private static func numbers(_ seed: UInt64) -> [FigureValue] {
        var numbers = SeededNumbers(state: seed)
        let edges: [Int64] = [0, 1, -1, .max, .min, FigureValue.base, FigureValue.base - 1, 1 - FigureValue.base]
        return edges.map { FigureValue($0) }
            + (0..<60).map { _ in
                let high = Int64.random(in: -100_000_000_000_000_000...100_000_000_000_000_000, using: &numbers)
                return FigureValue(
                    high: high >> Int64.random(in: 0...60, using: &numbers),
                    low: Int64.random(in: .min ... .max, using: &numbers) >> Int64.random(in: 0...62, using: &numbers))
            }
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func `sums, differences and comparisons agree with decimal arithmetic`(seed: UInt64) {
        let numbers = Self.numbers(seed)
        for one in numbers {
            #expect(one.text == "\(Self.decimal(one))")
            #expect(Self.decimal(-one) == -Self.decimal(one))
            #expect(one.sign == (Self.decimal(one) == 0 ? 0 : Self.decimal(one) < 0 ? -1 : 1))
            #expect(one.low.magnitude < FigureValue.base.magnitude)
            #expect(one.high.signum() * one.low.signum() >= 0)
            for other in numbers {
                #expect(Self.decimal(one + other) == Self.decimal(one) + Self.decimal(other))
                #expect(Self.decimal(one - other) == Self.decimal(one) - Self.decimal(other))
                #expect((one < other) == (Self.decimal(one) < Self.decimal(other)))
                #expect((one == other) == (Self.decimal(one) == Self.decimal(other)))
            }
        }
    }

    @Test(arguments: [4, 5] as [UInt64])
    func `products and quotients agree with decimal arithmetic`(seed: UInt64) {
        var random = SeededNumbers(state: seed)
        for number in Self.numbers(seed) {
            let divisor = Int64.random(in: 1 ... .max, using: &random) >> Int64.random(in: 0...61, using: &random) | 1
            let (quotient, remainder) = number.magnitude(dividedBy: divisor)
            #expect(remainder >= 0 && remainder < divisor)
            #expect(
                Self.decimal(quotient) * Decimal(divisor) + Decimal(remainder) == Self.decimal(number.magnitude))
            let (left, right) = (number.low, divisor % FigureValue.base)
            #expect(Self.decimal(FigureValue.product(left, right)) == Decimal(left) * Decimal(right))
        }
        #expect(([5, -5, 4, 7, -7, 15] as [FigureValue]).map { $0.rounded(dividedBy: 10) } == [1, -1, 0, 1, -1, 2])
        #expect(FigureValue(.max).clamped == .max && FigureValue(high: 10, low: 0).clamped == .max)
        #expect(FigureValue(high: -10, low: 0).clamped == .min && FigureValue(.min).clamped == .min)
    }

    @Test func `a sum beyond the range stays at the end of the range`() {
        let largest = FigureValue(high: .max, low: FigureValue.base - 1)
        #expect(largest + 1 == largest && largest + largest == largest)
        #expect(-largest - largest - 1 < 0)
    }

    @Test func `a value is created from billions and a rest, and from a floating-point number`() {
        #expect(FigureValue(billions: 9_000_000_000_000_000_001, rest: -1).text == "9000000000000000000999999999")
        #expect(FigureValue(billions: -3, rest: 7).text == "-2999999993")
        #expect(FigureValue(rounding: 2.5e30).text == "2500000000000" + String(repeating: "0", count: 18))
        #expect(FigureValue(rounding: -1_500_000).text == "-1500000")
    }
}
