import Foundation

/// Two strings that are canonically equivalent by Unicode (UAX #15) and have different bytes. Swift's `String` treats
/// them as equal.
///
///     for pair in UnicodeForms.pairs { #expect(CustomerID(rawValue: pair.composed) != CustomerID(rawValue: pair.other)) }
package struct UnicodeForms: Sendable, CustomStringConvertible {
    /// The string in normal form C.
    package let composed: String
    /// The string in another form.
    package let other: String

    package var description: String {
        [composed, other].map { text in
            text.unicodeScalars.map { "U+" + String($0.value, radix: 16, uppercase: true) }.joined(separator: " ")
        }.joined(separator: " / ")
    }

    /// Pairs that differ in various ways, such as composed accents, replaced signs, Hangul and the order of marks.
    package static let pairs: [UnicodeForms] = forms.map { UnicodeForms(composed: $0.0, other: $0.1) }

    private static let forms: [(String, String)] = [
        ("caf\u{E9}", "cafe\u{301}"),
        ("\u{C5}", "\u{212B}"), ("\u{C5}", "A\u{30A}"), ("\u{3A9}", "\u{2126}"), ("\u{3AC}", "\u{1F71}"),
        ("K", "\u{212A}"), ("a;b", "a\u{37E}b"),
        // Hangul: syllables and their parts.
        ("\u{AC00}", "\u{1100}\u{1161}"), ("\u{AC01}", "\u{1100}\u{1161}\u{11A8}"), ("\u{AC01}", "\u{AC00}\u{11A8}"),
        ("\u{1E69}", "s\u{307}\u{323}"), ("\u{1E69}", "\u{1E61}\u{323}"), ("q\u{323}\u{307}", "q\u{307}\u{323}"),
        // The composed form of the next two pairs is the longer one.
        ("\u{915}\u{93C}", "\u{958}"), ("\u{1D157}\u{1D165}", "\u{1D15E}"),
        ("\u{304C}", "\u{304B}\u{3099}"), ("\u{2260}", "=\u{338}"), ("\u{8C48}", "\u{F900}"),
    ]

    /// Returns the number of random pairs for a property test: `SOUK_IDENTITIES` divided by `cost`, or `standard`
    /// without this variable.
    ///
    /// - Parameter cost: The cost of a pair, relative to one comparison.
    package static func rounds(_ standard: Int, cost: Int = 1) -> Int {
        ProcessInfo.processInfo.environment["SOUK_IDENTITIES"].flatMap { Int($0) }.map { $0 / cost } ?? standard
    }

    /// Returns a pair of 1 to 12 parts, at least one of which differs.
    package static func random(using numbers: inout some RandomNumberGenerator) -> UnicodeForms {
        var (composed, other) = ("", "")
        for _ in 0..<Int.random(in: 0...11, using: &numbers) {
            if Bool.random(using: &numbers) {
                let letters = String("abcXYZ0129-._ /%".shuffled(using: &numbers).prefix(3))
                (composed, other) = (composed + letters, other + letters)
            } else {
                let pair = pairs[Int.random(in: 0..<pairs.count, using: &numbers)]
                let isSame = Bool.random(using: &numbers)
                (composed, other) = (composed + pair.composed, other + (isSame ? pair.composed : pair.other))
            }
        }
        let last = pairs[Int.random(in: 0..<pairs.count, using: &numbers)]
        return UnicodeForms(composed: composed + last.composed, other: other + last.other)
    }
}
