import Primitives

/// A piece of HTML or inline SVG that is safe to serve.
///
/// What is written out in the program is markup; what is interpolated is text and comes out escaped, so a name can never
/// become markup:
///
///     let row: HTML = "<li title=\"\(plugin.name)\">\(plugin.name)</li>"
///     let list: HTML = "<ul>\(rows.joined())</ul>"
///
/// There is no way from a `String` to unescaped HTML. A text may stand between tags and in quoted attribute values; one
/// interpolated into a tag, an unquoted attribute, a script or a style is a programming error and stops the program.
public struct HTML: Sendable, Hashable, ExpressibleByStringInterpolation {
    /// The markup, as it is sent.
    public private(set) var markup: String

    public init(stringLiteral literal: StaticString) { markup = literal.text }

    public init(stringInterpolation interpolation: StringInterpolation) { markup = interpolation.markup }

    private init(safe markup: String) { self.markup = markup }

    public static let empty: HTML = ""

    /// `text` as it reads.
    public static func text(_ text: String) -> HTML { HTML(safe: Self.escaped(text)) }

    public static func += (left: inout HTML, right: HTML) { left.markup += right.markup }

    public static func + (left: HTML, right: HTML) -> HTML { HTML(safe: left.markup + right.markup) }

    /// The characters that mean something in a text or a quoted attribute, as character references. Characters that HTML
    /// does not allow are replaced.
    private static func escaped(_ text: String) -> String {
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
}

extension Sequence<HTML> {
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
    public struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var markup = ""
        private var place = Place.text

        public init(literalCapacity: Int, interpolationCount: Int) {
            markup.reserveCapacity(literalCapacity + 16 * interpolationCount)
        }

        public mutating func appendLiteral(_ literal: StaticString) {
            let text = literal.text
            place.advance(over: text)
            markup += text
        }

        /// A text, escaped.
        public mutating func appendInterpolation(_ text: String) {
            precondition(place.takesText, "A text must stand between tags or in a quoted attribute value.")
            markup += HTML.escaped(text)
        }

        /// A text, if there is one.
        public mutating func appendInterpolation(_ text: String?) { appendInterpolation(text ?? "") }

        public mutating func appendInterpolation(_ number: some BinaryInteger) { markup += String(number) }

        /// A length or place in a picture, to a tenth of a unit.
        public mutating func appendInterpolation(_ number: Double) {
            let tenths = Int((number * 10).rounded())
            let sign = tenths < 0 ? "-" : ""
            markup += sign + String(abs(tenths) / 10) + (tenths % 10 == 0 ? "" : ".\(abs(tenths) % 10)")
        }

        /// Elements between tags, or whole attributes within one.
        public mutating func appendInterpolation(_ html: HTML) {
            precondition(place.takesMarkup, "Markup cannot stand in an attribute's value.")
            markup += html.markup
        }

        public mutating func appendInterpolation(_ html: HTML?) { appendInterpolation(html ?? .empty) }

        /// `text` if `condition` holds, as `<li class="row\(" odd", when: isOdd)">`.
        public mutating func appendInterpolation(_ text: String, when condition: Bool) {
            if condition { appendInterpolation(text) }
        }

        /// `html` if `condition` holds, as `<input\(" checked", if: isOn)>`.
        public mutating func appendInterpolation(_ html: HTML, if condition: Bool) {
            if condition { appendInterpolation(html) }
        }
    }

    /// Where in the markup an interpolation stands.
    fileprivate enum Place {
        case text, tag, doubleQuoted, singleQuoted
        /// From the name of a script or style to its closing tag.
        case script, style

        var takesText: Bool { self == .text || self == .doubleQuoted || self == .singleQuoted }
        var takesMarkup: Bool { self == .text || self == .tag }

        mutating func advance(over literal: String) {
            var rest = Substring(literal)
            while let character = rest.first {
                switch (self, character) {
                case (.text, "<"):
                    self = Self.begins(rest, "<script") ? .script : Self.begins(rest, "<style") ? .style : .tag
                // Another closing tag is a piece of the program.
                case (.script, "<"):
                    if Self.begins(rest, "</script") { self = .tag }
                case (.style, "<"):
                    if Self.begins(rest, "</style") { self = .tag }
                case (.tag, ">"), (.doubleQuoted, "\""), (.singleQuoted, "'"):
                    self = self == .tag ? .text : .tag
                case (.tag, "\""): self = .doubleQuoted
                case (.tag, "'"): self = .singleQuoted
                default: break
                }
                rest.removeFirst()
            }
        }

        /// The names of elements have no case.
        private static func begins(_ markup: Substring, _ tag: String) -> Bool {
            markup.prefix(tag.count).lowercased() == tag
        }
    }
}

extension StaticString {
    var text: String { withUTF8Buffer { String(decoding: $0, as: UTF8.self) } }
}
