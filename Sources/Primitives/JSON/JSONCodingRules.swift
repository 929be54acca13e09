/// How `JSONValueDecoder` and `JSONValueEncoder` treat dates and errors.
package struct JSONCodingRules: Sendable {
    package enum Dates: Sendable {
        /// Numbers: seconds since 2001, as Foundation's coders read and write a `Date` unless a strategy is set.
        case seconds
        /// RFC 3339 text, and nothing else.
        case text
        /// RFC 3339 text. Seconds since 2001 are read as well.
        case textOrSeconds
    }

    package enum Errors: Sendable {
        /// The kinds of Foundation's decoder: a text that is not a URL is corrupted data, and an error of a type's own
        /// `init(from:)` is thrown as it is.
        case foundation
        /// Every error is a `DecodingError` with the path of the value. A value that does not fit is a mismatch of its type.
        case mismatches
    }

    package var dates: Dates
    package var errors: Errors

    package init(dates: Dates, errors: Errors = .foundation) {
        self.dates = dates
        self.errors = errors
    }

    /// The rules of ``JSONValue/decode(_:)`` and ``JSONValue/init(encoding:)``.
    package static let standard = JSONCodingRules(dates: .seconds)
}

/// A step of a coding path that no type declares: an index, `super`, or a member that is read by its name.
package struct JSONPathKey: CodingKey {
    package let stringValue: String
    package let intValue: Int?

    package init(stringValue: String) {
        self.stringValue = stringValue
        intValue = nil
    }

    package init(intValue: Int) {
        stringValue = "\(intValue)"
        self.intValue = intValue
    }
}
