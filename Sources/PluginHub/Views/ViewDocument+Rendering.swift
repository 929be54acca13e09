import Primitives

extension ViewDocument {
    /// Returns the document as JSON text, with members ordered by name.
    ///
    /// - Parameter pretty: Whether to indent the text.
    /// - Returns: The JSON text.
    /// - Throws: `EncodingError` for a value that JSON cannot express, such as NaN.
    public func json(pretty: Bool = true) throws -> String {
        try JSONValue(encoding: self).text(pretty: pretty, sortedKeys: true)
    }

    /// Creates a document from the text that `json(pretty:)` writes.
    ///
    /// - Parameter text: The JSON text.
    /// - Throws: `PluginError` with the code `invalidDocument`.
    public init(json text: String) throws {
        do {
            self = try JSONValue(parsing: text).decode(ViewDocument.self)
        } catch {
            throw PluginError(.invalidDocument, "The text is not a view document: \(error).", underlying: error)
        }
    }

    /// Returns the document as plain text for a terminal, with one line for each row. Control characters are escaped.
    ///
    ///     Mock
    ///     ====
    ///
    ///     Recording
    ///       [x] Record  (recording)
    ///       Recorded    12 answers
    ///       > Clear  (mock.clear)
    public func text() -> String {
        var lines = [Self.visible(title), String(repeating: "=", count: Self.visible(title).count)]
        for section in sections {
            lines.append("")
            if let title = section.title { lines.append(Self.visible(title)) }
            let width = section.rows.map { Self.head(of: $0).count }.max() ?? 0
            for row in section.rows {
                let head = Self.head(of: row)
                let tail = Self.tail(of: row)
                let padding = String(repeating: " ", count: tail.isEmpty ? 0 : width - head.count + 2)
                lines.append("  " + head + padding + tail)
            }
            for action in section.actions {
                lines.append("  > \(Self.visible(action.label ?? action.id))  (\(Self.visible(action.id)))")
            }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func head(of row: Row) -> String {
        if case .toggle(let toggle) = row.content { return "[\(toggle.isOn ? "x" : " ")] \(visible(toggle.label))" }
        return visible(row.label)
    }

    private static func tail(of row: Row) -> String {
        switch row.content {
        case .text(let text):
            let action = text.action.map { "(\(visible($0.id)))" }
            return [text.value.map(visible), action].compactMap { $0 }.joined(separator: "  ")
        case .toggle(let toggle): return "(\(visible(toggle.id)))"
        case .field(let field):
            let value = field.value.isEmpty ? field.placeholder.map { "‹\(visible($0))›" } ?? "" : visible(field.value)
            return "[\(value)]  (\(visible(field.id)))"
        case .choice(let choice):
            let options = choice.options.map { option in
                let label = visible(option.label)
                return option.value == choice.selected ? "•\(label)" : label
            }
            return options.joined(separator: " | ") + "  (\(visible(choice.id)))"
        }
    }

    /// Escapes control characters, which a terminal would interpret.
    private static func visible(_ text: String) -> String {
        var out = ""
        for scalar in text.unicodeScalars {
            if scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value) {
                out += "\\u{\(String(scalar.value, radix: 16))}"
            } else {
                out.unicodeScalars.append(scalar)
            }
        }
        return out
    }
}
