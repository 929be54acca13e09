import Foundation

extension String {
    /// Whether the string is in Unicode's normal form C (UAX #15): no character has a shorter or preferred spelling.
    ///
    /// Of all canonically equivalent strings, exactly one is in this form. If every name is in this form, a comparison
    /// of strings and a comparison of bytes give the same result. ASCII and the first 768 code points are always in
    /// this form.
    public var isInNormalFormC: Bool {
        if isPrintableASCII || utf8.allSatisfy({ $0 < 0xCC }) { return true }  // Nothing combines below U+0300.
        // Decomposes first, because Foundation does not compose a Hangul syllable with a following character.
        let normal = decomposedStringWithCanonicalMapping.precomposedStringWithCanonicalMapping
        return normal.hasSameBytes(as: self)
    }
}
