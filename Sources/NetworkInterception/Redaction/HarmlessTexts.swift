import HTTPCore
import Primitives

/// The fields or URLs in which recent scans found no secret. Most requests repeat those of an earlier request, which
/// then need no scan.
///
/// It contains no secrets, and at most 128 KiB of text. The bytes of a text determine its place, where a newer text
/// replaces the older one.
final class HarmlessTexts: Sendable {
    private static let placeCount = 256
    private static let longestText = 512
    private let texts = Locked<[HTTPField?]>(Array(repeating: nil, count: placeCount))

    /// Returns the numbers of the fields that are known, as a bit set. Fields after the first 64 are not looked up.
    func known(_ fields: [HTTPField]) -> UInt64 {
        texts.withLock { texts in
            var known: UInt64 = 0
            for (number, field) in fields.prefix(64).enumerated() {
                if Self.contains(field.name, field.value, texts) { known |= 1 &<< UInt64(number) }
            }
            return known
        }
    }

    /// Whether the URL is known.
    func contains(url: String) -> Bool { texts.withLock { Self.contains("", url, $0) } }

    /// Adds a field without a secret. Ignores a long field.
    func insert(_ field: HTTPField) {
        guard let place = Self.place(of: field.name, field.value) else { return }
        // The older field is released outside of the lock.
        let older = texts.withLock { texts in
            let older = texts[place]
            texts[place] = field
            return older
        }
        withExtendedLifetime(older) {}
    }

    /// Adds a URL without a secret. Ignores a long URL.
    func insert(url: String) { insert(HTTPField(name: "", value: url)) }

    private static func contains(_ name: String, _ value: String, _ texts: [HTTPField?]) -> Bool {
        guard let place = place(of: name, value), let text = texts[place] else { return false }
        return text.name.hasSameBytes(as: name) && text.value.hasSameBytes(as: value)
    }

    /// The place of a text, or `nil` if it is too long. Two texts may have one place.
    private static func place(of name: String, _ value: String) -> Int? {
        guard name.utf8.count + value.utf8.count <= longestText else { return nil }
        return Int(truncatingIfNeeded: mixed(value, into: mixed(name, into: 0)) >> 56)
    }

    private static func mixed(_ text: String, into hash: UInt64) -> UInt64 {
        text.utf8.withContiguousStorageIfAvailable { bytes in
            bytes.reduce(hash) { ($0 ^ UInt64($1)) &* 0x9E37_79B9_7F4A_7C15 }
        } ?? 0
    }
}
