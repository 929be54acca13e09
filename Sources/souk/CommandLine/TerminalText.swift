import Primitives

/// Text for a terminal. Literals are written as they are. Interpolated values may come from outside, so characters that
/// move the cursor, set a colour, begin a line or change the writing direction are escaped.
///
///     Terminal.print("\(Terminal.bold(name)) costs \(product.displayPrice)")
///     Terminal.print(.lines(help))
///
/// All strings for a terminal pass through this type.
struct TerminalText: Sendable, ExpressibleByStringInterpolation {
    private(set) var escapedText: String

    init(stringLiteral literal: StaticString) {
        escapedText = literal.withUTF8Buffer { String(decoding: $0, as: UTF8.self) }
    }

    init(stringInterpolation interpolation: StringInterpolation) { escapedText = interpolation.escapedText }

    private init(escapedText: String) { self.escapedText = escapedText }

    /// Text of several lines. Line feeds are not escaped.
    static func lines(_ text: String) -> TerminalText {
        TerminalText(
            escapedText: text.split(separator: "\n", omittingEmptySubsequences: false).map(Self.escaped).joined(
                separator: "\n"))
    }

    /// JSON with the same values. Control characters in strings become JSON escapes. Between values, tabs and carriage
    /// returns become spaces, and line ends are kept.
    static func json(_ text: String) -> TerminalText {
        let json = escaping(text) { scalar in
            switch scalar {
            case "\n": "\n"
            case "\r", "\t": " "
            default: "\\u" + hex(scalar, digits: 4)
            }
        }
        return TerminalText(escapedText: json)
    }

    /// The text without the user info of URLs. For JSON, use `JSONValue.withoutUserInfo`.
    var withoutUserInfo: TerminalText { changed(\.withoutUserInfo) }

    /// Returns the text after `change`, which may remove characters but must not add any.
    func changed(_ change: (String) -> String) -> TerminalText { TerminalText(escapedText: change(escapedText)) }

    static func + (left: TerminalText, right: TerminalText) -> TerminalText {
        TerminalText(escapedText: left.escapedText + right.escapedText)
    }

    static func += (left: inout TerminalText, right: TerminalText) { left.escapedText += right.escapedText }

    /// Escapes control characters (C0, DEL, C1), line separators and the characters of bidirectional formatting
    /// (Unicode Standard Annex 9) as `\n`, `\r`, `\t`, or in the form `\u{1B}`.
    static func escaped(_ text: some StringProtocol) -> String {
        escaping(text) { scalar in
            switch scalar {
            case "\n": "\\n"
            case "\r": "\\r"
            case "\t": "\\t"
            default: "\\u{" + hex(scalar, digits: 1) + "}"
            }
        }
    }

    private static func escaping(_ text: some StringProtocol, _ escape: (UnicodeScalar) -> String) -> String {
        guard text.unicodeScalars.contains(where: isDangerous) else { return String(text) }
        var escaped = ""
        for scalar in text.unicodeScalars {
            if isDangerous(scalar) { escaped += escape(scalar) } else { escaped.unicodeScalars.append(scalar) }
        }
        return escaped
    }

    private static func isDangerous(_ scalar: UnicodeScalar) -> Bool {
        switch scalar.value {
        case ..<0x20, 0x7F...0x9F, 0x061C, 0x200E, 0x200F, 0x2028, 0x2029, 0x202A...0x202E, 0x2066...0x2069: true
        default: false
        }
    }

    private static func hex(_ scalar: UnicodeScalar, digits: Int) -> String {
        let text = String(scalar.value, radix: 16, uppercase: true)
        return String(repeating: "0", count: max(0, digits - text.count)) + text
    }
}

extension TerminalText {
    struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var escapedText = ""

        init(literalCapacity: Int, interpolationCount: Int) { escapedText.reserveCapacity(literalCapacity) }

        mutating func appendLiteral(_ literal: StaticString) {
            literal.withUTF8Buffer { escapedText += String(decoding: $0, as: UTF8.self) }
        }

        mutating func appendInterpolation(_ text: TerminalText) { escapedText += text.escapedText }

        /// Appends the description of a value, escaped.
        mutating func appendInterpolation(_ value: some Any) { escapedText += TerminalText.escaped("\(value)") }
    }
}

extension Sequence<TerminalText> {
    func joined(separator: TerminalText = "") -> TerminalText {
        var joined: TerminalText = ""
        for (index, text) in enumerated() {
            if index > 0 { joined += separator }
            joined += text
        }
        return joined
    }
}
