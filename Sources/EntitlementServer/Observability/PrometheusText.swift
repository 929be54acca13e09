/// Metrics in Prometheus' text format, version 0.0.4.
///
///     var text = PrometheusText()
///     text.family("souk_facts_total", .counter, "New facts, by kind.")
///     text.sample("souk_facts_total", ["kind": "transaction"], 12)
struct PrometheusText {
    enum Kind: String { case counter, gauge, histogram }

    static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    private(set) var text = ""

    /// Begins a family, before all of its samples.
    mutating func family(_ name: String, _ kind: Kind, _ help: String) {
        text += "# HELP \(name) \(Self.escaped(help, quotes: false))\n# TYPE \(name) \(kind.rawValue)\n"
    }

    mutating func sample(_ name: String, _ labels: KeyValuePairs<String, String>, _ value: Double) {
        sample(name, labels: labels.map { ($0, $1) }, value)
    }

    mutating func sample(_ name: String, labels: [(String, String)], _ value: Double) {
        text += name
        if !labels.isEmpty {
            text += "{" + labels.map { "\($0)=\"\(Self.escaped($1, quotes: true))\"" }.joined(separator: ",") + "}"
        }
        text += " \(Self.number(value))\n"
    }

    /// Formats a number; integers have no fraction.
    static func number(_ value: Double) -> String {
        value.magnitude < 1e15 && value == value.rounded() ? String(Int64(value)) : "\(value)"
    }

    private static func escaped(_ text: String, quotes: Bool) -> String {
        var escaped = ""
        for character in text {
            switch character {
            case "\\": escaped += "\\\\"
            case "\n", "\r\n": escaped += "\\n"
            case "\"" where quotes: escaped += "\\\""
            default: escaped.append(character)
            }
        }
        return escaped
    }
}
