import Foundation

extension String {
    /// Whether the string is in Unicode's normal form C (UAX #15): no character has a shorter or preferred spelling.
    ///
    /// Of all canonically equivalent strings exactly one is in this form. Where every name is, comparing strings and
    /// comparing bytes give the same result. ASCII always is, and so are the first 768 code points.
    public var isInNormalFormC: Bool {
        // Below U+0300, whose first byte is 0xCC, nothing combines.
        if utf8.allSatisfy({ $0 < 0xCC }) { return true }
        // Decomposed first: Foundation composes a Hangul syllable with nothing that follows it.
        let normal = decomposedStringWithCanonicalMapping.precomposedStringWithCanonicalMapping
        return normal.hasSameBytes(as: self)
    }
}
