import Foundation

/// What is looked for in a text.
public struct TextPattern: Sendable, CustomStringConvertible {
    private enum Kind: Sendable { case literal(String), expression(NSRegularExpression) }

    private let kind: Kind

    /// This text, letter by letter.
    public static func literal(_ text: String) -> TextPattern { TextPattern(kind: .literal(text)) }

    /// A regular expression in ICU's syntax; its replacement may refer to its groups as `$1`, `$2`, …
    ///
    /// Throws `InterceptionError` code `invalidSetting` for what is none.
    public static func regularExpression(_ text: String) throws -> TextPattern {
        do {
            return TextPattern(kind: .expression(try NSRegularExpression(pattern: text)))
        } catch {
            throw InterceptionError(.invalidSetting, "\"\(text)\" is no regular expression.", underlying: error)
        }
    }

    /// The text with everything that was found replaced.
    public func replacing(in text: String, with replacement: String) -> String {
        switch kind {
        case .literal(let wanted): wanted.isEmpty ? text : text.replacingOccurrences(of: wanted, with: replacement)
        case .expression(let expression):
            expression.stringByReplacingMatches(
                in: text, range: NSRange(text.startIndex..., in: text), withTemplate: replacement)
        }
    }

    public var description: String {
        switch kind {
        case .literal(let text): "\"\(text)\""
        case .expression(let expression): "/\(expression.pattern)/"
        }
    }
}

extension TextPattern: Hashable {
    public static func == (left: TextPattern, right: TextPattern) -> Bool { left.description == right.description }
    public func hash(into hasher: inout Hasher) { hasher.combine(description) }
}
