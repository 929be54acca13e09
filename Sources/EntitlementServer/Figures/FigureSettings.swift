import Primitives

/// The values that an operator gives for the figures. No stored sum depends on them.
package struct FigureSettings: Sendable {
    package var commissions: Commissions
    /// The tables of rates, at most one for each currency.
    package let rates: [CurrencyRates]

    /// - Throws: A sentence if two tables are for one currency.
    package init(commissions: Commissions = .usual, rates: [CurrencyRates] = []) throws(FigureSettingError) {
        for (index, table) in rates.enumerated()
        where rates[..<index].contains(where: { $0.currency.hasSameBytes(as: table.currency) }) {
            throw FigureSettingError("two tables of rates are for \(table.currency); give one")
        }
        self.commissions = commissions
        self.rates = rates
    }

    /// The usual commissions, and no table of rates.
    package static let usual = FigureSettings()

    private init() { (commissions, rates) = (.usual, []) }

    /// Returns the table that converts into a currency.
    package func rates(to currency: String) -> CurrencyRates? {
        rates.first { $0.currency.hasSameBytes(as: currency) }
    }
}

/// A setting of the figures that cannot be used. Its sentence says what to write.
package struct FigureSettingError: Error, Equatable, CustomStringConvertible {
    package let description: String
    init(_ sentence: String) { description = sentence }
}

/// The errors of a file with settings of the figures, as sentences.
package struct FigureSettingErrors: Error, Equatable {
    package let sentences: [String]
    init(_ sentences: [String]) { self.sentences = sentences }
}

/// Decimal numbers as integers.
enum DecimalText {
    /// Returns a number without a sign, such as `0.15`, multiplied by 10^`decimals`; `nil` for any other text, for a
    /// number with more decimals, and for a result that exceeds `Int64`.
    static func integer(_ text: String, decimals: Int) -> Int64? {
        let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), parts.allSatisfy({ !$0.isEmpty }),
            parts.allSatisfy({ $0.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } })
        else { return nil }
        let fraction = parts.count == 2 ? Array(parts[1]) : []
        guard fraction.count <= decimals else { return nil }
        let digits =
            Array(parts[0].drop { $0 == UInt8(ascii: "0") }) + fraction
            + Array(repeating: UInt8(ascii: "0"), count: decimals - fraction.count)
        guard digits.count <= 19 else { return nil }
        return Int64(String(decoding: digits.isEmpty ? [UInt8(ascii: "0")] : digits, as: UTF8.self))
    }

    /// Returns `value` / 10^`decimals` as a decimal number without zeros at the end of its fraction.
    static func text(of value: Int64, decimals: Int) -> String {
        var digits = String(value.magnitude)
        digits = String(repeating: "0", count: max(0, decimals + 1 - digits.count)) + digits
        var fraction = digits.suffix(decimals)
        while fraction.last == "0" { fraction.removeLast() }
        return (value < 0 ? "-" : "") + digits.dropLast(decimals) + (fraction.isEmpty ? "" : ".\(fraction)")
    }
}
