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
    /// The texts by their places. A place without a text has an empty field.
    private let texts = Locked<[HTTPField]>(Array(repeating: HTTPField(name: "", value: ""), count: placeCount))

    /// Returns the numbers of the fields that are known, as a bit set. Fields after the first 64 are not looked up.
    func known(_ fields: [HTTPField]) -> UInt64 {
        texts.withLock { texts in
            texts.withUnsafeBufferPointer { texts in
                var known: UInt64 = 0
                for number in 0..<min(fields.count, 64) where Self.contains(fields[number], texts) {
                    known |= 1 &<< UInt64(number)
                }
                return known
            }
        }
    }

    /// Whether the URL is known.
    func contains(url: String) -> Bool {
        texts.withLock { $0.withUnsafeBufferPointer { Self.contains(HTTPField(name: "", value: url), $0) } }
    }

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

    private static func contains(_ field: HTTPField, _ texts: UnsafeBufferPointer<HTTPField>) -> Bool {
        guard let place = place(of: field.name, field.value) else { return false }
        return texts[place].value.hasSameBytes(as: field.value) && texts[place].name.hasSameBytes(as: field.name)
    }

    /// The place of a text, or `nil` if it is empty or too long. Two texts may have one place.
    private static func place(of name: String, _ value: String) -> Int? {
        let count = name.utf8.count + value.utf8.count
        guard count > 0, count <= longestText else { return nil }
        return Int(truncatingIfNeeded: mixed(value, into: mixed(name, into: 0)) >> 56)
    }

    /// Mixes eight bytes at a time. One byte at a time took a twentieth of the time of a recorded call.
    private static func mixed(_ text: String, into hash: UInt64) -> UInt64 {
        text.utf8.withContiguousStorageIfAvailable { text in
            let bytes = UnsafeRawBufferPointer(text)
            var (hash, place) = (hash, 0)
            while place + 8 <= bytes.count {
                hash = mixed(bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self), into: hash)
                place += 8
            }
            // The last eight bytes may overlap the previous ones.
            if bytes.count >= 8 {
                return mixed(bytes.loadUnaligned(fromByteOffset: bytes.count - 8, as: UInt64.self), into: hash)
            }
            return bytes.reduce(hash) { mixed(UInt64($1), into: $0) }
        } ?? 0
    }

    private static func mixed(_ bits: UInt64, into hash: UInt64) -> UInt64 {
        let product = (hash ^ bits) &* 0x9E37_79B9_7F4A_7C15
        return product ^ product >> 32
    }
}
