import Foundation
import Primitives
import StoreModel

extension FigureQuery.Answer {
    /// The answer as JSON: `{"name","unit","position","rows":[{"at","group"?,"age"?,"value","currency"?}]}`, with
    /// `currencyRates` for converted values and `commissions` for proceeds.
    package var json: JSONValue {
        var json: JSONValue = [
            "name": .string(figure.name), "unit": .string(figure.unit.rawValue), "position": .number(position),
            "rows": .array(
                rows.map { row in
                    var json: JSONValue = ["at": .string(RFC3339.string(from: FigureDay.start(of: row.day)))]
                    json["group"] = row.group.map { .string($0) }
                    json["age"] = row.age.map { .number($0) }
                    json["value"] = figure.unit.json(of: row.value)
                    json["currency"] = row.currency.map { .string($0) }
                    return json
                }),
        ]
        json["currencyRates"] = rates.map { rates in
            [
                "name": .string(rates.name), "currency": .string(rates.currency),
                "unconverted": .array(unconverted.map { .string($0) }),
            ]
        }
        json["commissions"] = commissions.map { commissions in
            .array(commissions.texts.map { ["source": .string($0.source), "share": .string($0.share)] })
        }
        return json
    }
}

extension Figure {
    /// The figure in a list.
    package var json: JSONValue {
        ["name": .string(name), "unit": .string(unit.rawValue), "summary": .string(summary)]
    }
}

extension Figure.Unit {
    /// Returns a count or a ratio as a number, and money as a decimal string.
    package func json(of value: FigureValue) -> JSONValue {
        switch self {
        case .count: .number(value.clamped)
        case .money: .string(text(of: value))
        case .ratio: .number(value.double / 1_000_000)
        }
    }

    /// Returns a value as a decimal number.
    package func text(of value: FigureValue) -> String {
        guard self != .count else { return value.text }
        let (units, millionths) = value.magnitude(dividedBy: 1_000_000)
        let sign = value < 0 ? "-" : ""
        guard millionths != 0 else { return "\(sign)\(units)" }
        var digits = String(millionths + 1_000_000).dropFirst()
        while digits.last == "0" { digits.removeLast() }
        return "\(sign)\(units).\(digits)"
    }
}
