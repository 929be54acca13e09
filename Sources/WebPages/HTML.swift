import Primitives

/// A fragment of HTML or inline SVG that is safe to serve.
///
/// The literal part is markup. Interpolated strings are text and are escaped, so that a name cannot become markup:
///
///     let row: HTML = "<li title=\"\(plugin.name)\">\(plugin.name)</li>"
///     let list: HTML = "<ul>\(rows.joined())</ul>"
///
/// A `String` cannot become unescaped HTML. A string is permitted between tags and in quoted attribute values. A string
/// in a tag, an unquoted attribute, a script or a style is a programming error and stops the process.
public struct HTML: Sendable, Hashable, ExpressibleByStringInterpolation {
    /// The markup.
    public private(set) var markup: String

    /// Creates a fragment from markup in the source code.
    public init(stringLiteral literal: StaticString) { markup = literal.text }

    /// Creates a fragment from markup with interpolated values.
    public init(stringInterpolation interpolation: StringInterpolation) { markup = interpolation.markup }

    private init(safe markup: String) { self.markup = markup }

    /// No markup.
    public static let empty: HTML = ""

    /// Returns `text`, escaped.
    public static func text(_ text: String) -> HTML { HTML(safe: Self.escaped(text)) }

    /// Appends `right` to `left`.
    public static func += (left: inout HTML, right: HTML) { left.markup += right.markup }

    /// Returns the concatenation of `left` and `right`.
    public static func + (left: HTML, right: HTML) -> HTML { HTML(safe: left.markup + right.markup) }

    /// Replaces the special characters of text and quoted attributes with character references, and characters that
    /// HTML does not permit with U+FFFD.
    private static func escaped(_ text: String) -> String {
        guard !text.utf8.allSatisfy(isUnchanged) else { return text }
        var out = ""
        out.reserveCapacity(text.utf8.count)
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": out += "&amp;"
            case "<": out += "&lt;"
            case ">": out += "&gt;"
            case "\"": out += "&quot;"
            case "'": out += "&#39;"
            case "\t", "\n", "\r": out.unicodeScalars.append(scalar)
            case _ where scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value): out += "\u{FFFD}"
            default: out.unicodeScalars.append(scalar)
            }
        }
        return out
    }

    /// Whether a byte of UTF-8 belongs to no character that `escaped` replaces. U+0080 to U+009F begin with 0xC2.
    private static func isUnchanged(_ byte: UInt8) -> Bool {
        switch byte {
        case 0..<0x20, UInt8(ascii: "&"), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "\""),
            UInt8(ascii: "'"), 0x7F, 0xC2:
            false
        default: true
        }
    }
}

extension Sequence<HTML> {
    /// Returns the concatenated fragments.
    ///
    /// - Parameter separator: The fragment between two others.
    public func joined(separator: HTML = .empty) -> HTML {
        var out = HTML.empty
        for (index, piece) in enumerated() {
            if index > 0 { out += separator }
            out += piece
        }
        return out
    }
}

extension HTML {
    /// The builder of an interpolated fragment.
    public struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var markup = ""
        private var place = Place.text

        /// Creates an empty builder.
        ///
        /// - Parameters:
        ///   - literalCapacity: The length of the literal parts.
        ///   - interpolationCount: The number of interpolated values.
        public init(literalCapacity: Int, interpolationCount: Int) {
            markup.reserveCapacity(literalCapacity + 16 * interpolationCount)
        }

        /// Appends markup.
        public mutating func appendLiteral(_ literal: StaticString) {
            literal.withUTF8Buffer { place.advance(over: $0) }
            markup += literal.text
        }

        /// Appends `text`, escaped.
        public mutating func appendInterpolation(_ text: String) {
            precondition(place.permitsText, "A string is permitted only between tags or in a quoted attribute value.")
            markup += HTML.escaped(text)
        }

        /// Appends `text`, escaped. Appends nothing if it is `nil`.
        public mutating func appendInterpolation(_ text: String?) { appendInterpolation(text ?? "") }

        /// Appends a `number`.
        public mutating func appendInterpolation(_ number: some BinaryInteger) { markup += String(number) }

        /// Appends a `number`, rounded to a tenth, for a length or position in a picture.
        public mutating func appendInterpolation(_ number: Double) {
            let tenths = Int((number * 10).rounded())
            let sign = tenths < 0 ? "-" : ""
            markup += sign + String(abs(tenths) / 10) + (tenths % 10 == 0 ? "" : ".\(abs(tenths) % 10)")
        }

        /// Appends elements between tags, or whole attributes in a tag.
        public mutating func appendInterpolation(_ html: HTML) {
            precondition(place.permitsMarkup, "Markup is not permitted in an attribute value.")
            markup += html.markup
        }

        /// Appends elements or attributes. Appends nothing if `html` is `nil`.
        public mutating func appendInterpolation(_ html: HTML?) { appendInterpolation(html ?? .empty) }

        /// Appends `text` if `condition` holds, as in `<li class="row\(" odd", when: isOdd)">`.
        public mutating func appendInterpolation(_ text: String, when condition: Bool) {
            if condition { appendInterpolation(text) }
        }

        /// Appends `html` if `condition` holds, as in `<input\(" checked", if: isOn)>`.
        public mutating func appendInterpolation(_ html: HTML, if condition: Bool) {
            if condition { appendInterpolation(html) }
        }
    }

    /// The syntactic position of an interpolation.
    fileprivate enum Place {
        case text, tag, doubleQuoted, singleQuoted
        /// In a script or style element, including its opening tag.
        case script, style

        var permitsText: Bool { self == .text || self == .doubleQuoted || self == .singleQuoted }
        var permitsMarkup: Bool { self == .text || self == .tag }

        /// Moves over a part of the markup. A script or a style ends only at its own closing tag.
        mutating func advance(over literal: UnsafeBufferPointer<UInt8>) {
            for (index, byte) in literal.enumerated() {
                func begins(_ tag: StaticString) -> Bool { Self.begins(literal[index...], tag) }
                switch (self, byte) {
                case (.text, UInt8(ascii: "<")):
                    self = begins("<script") ? .script : begins("<style") ? .style : .tag
                case (.script, UInt8(ascii: "<")):
                    if begins("</script") { self = .tag }
                case (.style, UInt8(ascii: "<")):
                    if begins("</style") { self = .tag }
                case (.tag, UInt8(ascii: ">")): self = .text
                case (.doubleQuoted, UInt8(ascii: "\"")), (.singleQuoted, UInt8(ascii: "'")): self = .tag
                case (.tag, UInt8(ascii: "\"")): self = .doubleQuoted
                case (.tag, UInt8(ascii: "'")): self = .singleQuoted
                default: break
                }
            }
        }

        /// Whether the markup begins with this lowercase tag, without regard to case.
        private static func begins(_ markup: Slice<UnsafeBufferPointer<UInt8>>, _ tag: StaticString) -> Bool {
            tag.withUTF8Buffer { tag in
                markup.prefix(tag.count).elementsEqual(tag) { byte, lowercase in
                    byte == lowercase
                        || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) && byte | 0x20 == lowercase
                }
            }
        }
    }
}

extension StaticString {
    var text: String { withUTF8Buffer { String(decoding: $0, as: UTF8.self) } }
}
