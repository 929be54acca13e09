import Primitives

/// A table of exchange rates to one currency, which an operator gives.
///
///     {"name": "ECB, 2026-11-20", "currency": "EUR", "rates": {"USD": "0.8612", "GBP": "1.1374"}}
///
/// A rate is the price of one unit of a currency, in the currency of the table. It is exact; no rate is computed from
/// others.
package struct CurrencyRates: Sendable, Equatable {
    /// The name of the table, which is shown in answers and charts.
    package let name: String
    /// The currency into which amounts are converted.
    package let currency: String
    /// The rates in units of 10^-12.
    private let rates: [ExactString: Int64]

    /// The rate 1.
    static let one: Int64 = 1_000_000_000_000
    private static let largest = one * 1_000_000

    /// Reads a table.
    ///
    /// - Throws: A sentence for each error, with its place and what to write.
    package init(_ json: JSONValue) throws(FigureSettingErrors) {
        guard case .object(let members) = json else {
            throw FigureSettingErrors(["this should be a JSON object with name, currency and rates"])
        }
        var sentences: [String] = []
        for (name, _) in members where !["name", "currency", "rates"].contains(name) {
            sentences.append("/\(name): there is no such member; there are name, currency and rates")
        }
        let name = members["name"]?.stringValue ?? ""
        if !(1...100).contains(name.utf8.count)
            || name.unicodeScalars.contains(where: { $0.value < 32 || $0.value == 127 })
        {
            sentences.append(
                "/name: write where the rates are from and their day in at most 100 bytes, such as \"ECB, 2026-11-20\"")
        }
        let currency = members["currency"]?.stringValue ?? ""
        if !Self.isCode(currency) {
            sentences.append("/currency: write the currency of the results as its ISO 4217 code, such as \"EUR\"")
        }
        var rates: [ExactString: Int64] = [:]
        if case .object(let table)? = members["rates"], !table.isEmpty {
            for (code, value) in table {
                let pointer = "/rates/\(code)"
                guard Self.isCode(code) else {
                    sentences.append("\(pointer): write the currency as its ISO 4217 code, such as \"USD\"")
                    continue
                }
                guard let rate = value.stringValue.flatMap({ DecimalText.integer($0, decimals: 12) }), rate > 0,
                    rate <= Self.largest
                else {
                    sentences.append(
                        "\(pointer): write what one \(code) is worth as a string with a decimal number above 0, up to "
                            + "1000000 and with at most 12 decimals, such as \"0.8612\"")
                    continue
                }
                if code.hasSameBytes(as: currency), rate != Self.one {
                    sentences.append("\(pointer): the rate of the currency of the table is 1; leave it out")
                }
                rates[ExactString(code)] = rate
            }
        } else {
            sentences.append("/rates: write an object with a rate for each currency, such as {\"USD\": \"0.8612\"}")
        }
        guard sentences.isEmpty else { throw FigureSettingErrors(sentences) }
        rates[ExactString(currency)] = Self.one
        self.name = name
        self.currency = currency
        self.rates = rates
    }

    private static func isCode(_ text: String) -> Bool {
        text.utf8.count == 3 && text.utf8.allSatisfy { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) }
    }

    /// Returns the rate of a currency in units of 10^-12; `nil` if the table has none.
    func rate(of currency: ExactString) -> Int64? { rates[currency] }
}
