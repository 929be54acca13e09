import Foundation

/// A text or a regular expression to search for.
public struct TextPattern: Sendable, CustomStringConvertible {
    private enum Kind: Sendable { case literal(String), expression(NSRegularExpression) }

    private let kind: Kind

    /// A pattern that matches exactly this `text`.
    public static func literal(_ text: String) -> TextPattern { TextPattern(kind: .literal(text)) }

    /// A pattern that matches a regular expression. Its replacement may refer to groups as `$1`, `$2`, …
    ///
    /// - Parameter text: The expression in ICU's syntax.
    /// - Throws: `InterceptionError` with the code `invalidSetting` if the expression is malformed.
    public static func regularExpression(_ text: String) throws -> TextPattern {
        do {
            return TextPattern(kind: .expression(try NSRegularExpression(pattern: text)))
        } catch {
            throw InterceptionError(.invalidSetting, "\"\(text)\" is not a regular expression.", underlying: error)
        }
    }

    /// Returns a text with all matches replaced.
    ///
    /// - Parameters:
    ///   - text: The text to search.
    ///   - replacement: The replacement.
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
