/// The rules of `JSONValueDecoder` and `JSONValueEncoder` for dates and errors.
package struct JSONCodingRules: Sendable {
    package enum Dates: Sendable {
        /// Numbers: seconds since 2001, the default of Foundation's coders for a `Date`.
        case seconds
        /// RFC 3339 text only.
        case text
        /// RFC 3339 text. The decoder also accepts seconds since 2001.
        case textOrSeconds
    }

    package enum Errors: Sendable {
        /// The errors of Foundation's decoder. Text that is not a URL is `dataCorrupted`, and an error of a type's own
        /// `init(from:)` passes through.
        case foundation
        /// Every error is a `DecodingError` with the path of the value. A value that does not fit is a `typeMismatch`.
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
