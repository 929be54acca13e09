import Primitives

extension JSONValue {
    /// The document as YAML 1.2 in block style, with members in their order. Parsers of YAML 1.1 read the same values.
    package var yaml: String {
        var writer = YAMLWriter()
        writer.block(self, indentation: 0)
        return writer.text
    }
}

/// A writer that quotes a string as in JSON, which is valid YAML, when the plain string could have another meaning.
private struct YAMLWriter {
    private(set) var text = ""

    /// Writes a value that begins on its own line.
    mutating func block(_ value: JSONValue, indentation: Int) {
        switch value {
        case .object(let members) where !members.isEmpty:
            for (index, member) in members.enumerated() {
                if index > 0 { indent(indentation) }
                text += Self.scalar(member.key) + ":"
                below(member.value, indentation: indentation)
            }
        case .array(let elements) where !elements.isEmpty:
            for (index, element) in elements.enumerated() {
                if index > 0 { indent(indentation) }
                text += "- "
                block(element, indentation: indentation + 2)
            }
        default: text += Self.inline(value) + "\n"
        }
    }

    /// Writes the value of the member whose name was just written.
    private mutating func below(_ value: JSONValue, indentation: Int) {
        guard value.arrayValue?.isEmpty == false || value.objectValue?.isEmpty == false else {
            text += " " + Self.inline(value) + "\n"
            return
        }
        text += "\n"
        indent(indentation + 2)
        block(value, indentation: indentation + 2)
    }

    private mutating func indent(_ count: Int) { text += String(repeating: " ", count: count) }

    private static func inline(_ value: JSONValue) -> String {
        if case .string(let text) = value { scalar(text) } else { value.text() }
    }

    private static func scalar(_ text: String) -> String { isPlain(text) ? text : JSONValue.string(text).text() }

    /// Returns whether `text` has no special meaning in YAML. Returns `false` when in doubt.
    private static func isPlain(_ text: String) -> Bool {
        guard let first = text.unicodeScalars.first, isLetter(first) || first == "/", text.last != " ",
            !words.contains(text.lowercased())
        else { return false }
        return text.unicodeScalars.allSatisfy {
            isLetter($0) || ("0"..."9").contains($0) || "/._-{} ".unicodeScalars.contains($0)
        }
    }

    private static func isLetter(_ scalar: Unicode.Scalar) -> Bool {
        ("a"..."z").contains(scalar) || ("A"..."Z").contains(scalar)
    }

    /// The words that some parsers read as a Boolean or as null.
    private static let words: Set = ["true", "false", "yes", "no", "on", "off", "y", "n", "null"]
}
