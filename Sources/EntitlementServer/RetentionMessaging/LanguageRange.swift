import Primitives

/// A language range such as `en` or `pt-BR` (RFC 4647 section 2.1), in lower case.
struct LanguageRange: Sendable, Hashable {
    private let bytes: [UInt8]

    /// Returns `nil` for a string that is not a basic language range. The range `*` is not accepted.
    init?(_ text: String) {
        let subtags = text.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        for (index, subtag) in subtags.enumerated() {
            guard (1...8).contains(subtag.count),
                subtag.allSatisfy({ Self.isLetter($0) || index > 0 && Self.isDigit($0) })
            else { return nil }
        }
        bytes = text.utf8.map(Self.lowercased)
    }

    /// Returns whether the range contains the language of a locale: `en` contains `en` and `en-GB`, but not `enm` (RFC
    /// 4647 section 3.3.1). The locale may have underscores in place of hyphens, as in Foundation.
    func contains(_ locale: String) -> Bool {
        let locale = locale.utf8.map { $0 == UInt8(ascii: "_") ? UInt8(ascii: "-") : Self.lowercased($0) }
        return locale.starts(with: bytes) && (locale.count == bytes.count || locale[bytes.count] == UInt8(ascii: "-"))
    }

    private static func lowercased(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(lowercased(byte))
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
}
