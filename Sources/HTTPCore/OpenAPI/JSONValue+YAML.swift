import Primitives

extension JSONValue {
    /// The document as YAML 1.2 in block style, members in their order. Readers of YAML 1.1 read the same.
    package var yaml: String {
        var writer = YAMLWriter()
        writer.block(self, indentation: 0)
        return writer.text
    }
}

/// Writes every text that could be read as something else the way JSON does, which is YAML too.
private struct YAMLWriter {
    private(set) var text = ""

    /// A value that begins a line of its own.
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

    /// The value of a member whose name has just been written.
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

    /// Whether nothing in `text` means anything to YAML. Rather once too often "no".
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

    /// What some reader takes for a truth value or for nothing.
    private static let words: Set = ["true", "false", "yes", "no", "on", "off", "y", "n", "null"]
}
