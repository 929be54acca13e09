import Foundation

extension JSONValue {
    /// Returns the document as UTF-8 bytes without white space, with members in their order.
    public func encoded() -> [UInt8] {
        var writer = JSONWriter()
        writer.write(self)
        return writer.bytes
    }

    /// Returns the document as text.
    ///
    /// - Parameters:
    ///   - pretty: Whether to indent by two spaces.
    ///   - sortedKeys: Whether to order members by name.
    /// - Returns: The text.
    public func text(pretty: Bool = false, sortedKeys: Bool = false) -> String {
        var writer = JSONWriter(pretty: pretty, sortedKeys: sortedKeys)
        writer.write(self)
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}

extension JSONValue: CustomStringConvertible {
    /// The document as text.
    public var description: String { text() }
}

/// A writer of JSON to a byte buffer.
package struct JSONWriter {
    package private(set) var bytes: [UInt8] = []
    private let pretty: Bool
    private let sortedKeys: Bool
    private var indentation = 0

    package init(pretty: Bool = false, sortedKeys: Bool = false) {
        self.pretty = pretty
        self.sortedKeys = sortedKeys
    }

    package mutating func write(_ value: JSONValue) {
        switch value {
        case .null: raw("null")
        case .bool(let value): raw(value ? "true" : "false")
        case .number(let value): raw(value.text)
        case .string(let value): write(value)
        case .array(let elements):
            list("[", "]", isEmpty: elements.isEmpty) { writer in
                for (index, element) in elements.enumerated() {
                    writer.separate(index)
                    writer.write(element)
                }
            }
        case .object(let members):
            let ordered = sortedKeys ? members.sorted { $0.key.bytesPrecede($1.key) } : Array(members)
            list("{", "}", isEmpty: ordered.isEmpty) { writer in
                for (index, member) in ordered.enumerated() {
                    writer.separate(index)
                    writer.write(member.key)
                    writer.raw(writer.pretty ? ": " : ":")
                    writer.write(member.value)
                }
            }
        }
    }

    /// Writes a string in quotes, escaped as RFC 8259 section 7 requires.
    package mutating func write(_ text: String) {
        bytes.append(UInt8(ascii: "\""))
        var text = text
        text.withUTF8 { utf8 in
            var written = 0
            for place in utf8.indices where Self.isEscaped(utf8[place]) {
                bytes.append(contentsOf: utf8[written..<place])
                escape(utf8[place])
                written = place + 1
            }
            bytes.append(contentsOf: utf8[written...])
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private static func isEscaped(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }

    private mutating func escape(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""): raw("\\\"")
        case UInt8(ascii: "\\"): raw("\\\\")
        case 0x0A: raw("\\n")
        case 0x0D: raw("\\r")
        case 0x09: raw("\\t")
        case 0x08: raw("\\b")
        case 0x0C: raw("\\f")
        default: raw("\\u00" + Hex.encode([byte]))
        }
    }

    /// Writes punctuation, for callers that write the members one by one.
    package mutating func raw(_ text: String) { bytes.append(contentsOf: text.utf8) }

    private mutating func list(_ open: String, _ close: String, isEmpty: Bool, _ body: (inout JSONWriter) -> Void) {
        raw(open)
        indentation += 1
        body(&self)
        indentation -= 1
        if !isEmpty { newLine() }
        raw(close)
    }

    private mutating func separate(_ index: Int) {
        if index > 0 { raw(",") }
        newLine()
    }

    private mutating func newLine() {
        guard pretty else { return }
        bytes.append(0x0A)
        bytes.append(contentsOf: repeatElement(0x20, count: 2 * indentation))
    }
}
