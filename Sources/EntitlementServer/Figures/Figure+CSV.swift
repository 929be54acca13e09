import Foundation
import Primitives
import StoreModel

extension FigureQuery.Answer {
    /// The rows as CSV (RFC 4180), with the name of the rates for converted values. A text that a spreadsheet would
    /// compute as a formula gets an apostrophe before it.
    var csv: String {
        var lines = ["figure,at,group,age,value,currency" + (rates == nil ? "" : ",rates")]
        for row in rows {
            let fields = [
                figure.name, FigureInterval.text(of: row.day), Self.field(row.group ?? ""),
                row.age.map { String($0) } ?? "", figure.unit.text(of: row.value), Self.field(row.currency ?? ""),
            ]
            let table = rates.map { rates in
                [row.currency.map { $0.hasSameBytes(as: rates.currency) } ?? false ? Self.field(rates.name) : ""]
            }
            lines.append((fields + (table ?? [])).joined(separator: ","))
        }
        return lines.joined(separator: "\r\n") + "\r\n"
    }

    private static func field(_ text: String) -> String {
        let isFormula = text.utf8.first.map { "=+-@\t\r".utf8.contains($0) } ?? false
        let safe = isFormula ? "'\(text)" : text
        guard safe.utf8.contains(where: { ",\"\n\r".utf8.contains($0) }) else { return safe }
        return "\"\(safe.replacingOccurrences(of: "\"", with: "\"\""))\""
    }
}
