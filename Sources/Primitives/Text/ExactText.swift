import Foundation

/// An identifier as text. Two values are equal when their UTF-8 bytes are equal.
///
/// Swift compares strings by canonical equivalence: the composed "é" equals "e" with a combining accent. Databases,
/// URLs and signatures compare bytes. Types that conform to this protocol compare, hash and order their values by
/// bytes, so that an identifier is the same everywhere. The order is that of SQLite's collation BINARY.
///
///     struct Room: ExactText { let rawValue: String }
///     Room(rawValue: "caf\u{E9}") == Room(rawValue: "cafe\u{301}")     // false
public protocol ExactText: RawRepresentable, Hashable, Comparable, Sendable where RawValue == String {}

extension ExactText {
    /// Returns whether both values have the same bytes.
    @inlinable public static func == (left: Self, right: Self) -> Bool {
        left.rawValue.hasSameBytes(as: right.rawValue)
    }

    // Without this operator, the standard library's `!=` for `RawRepresentable` would compare the strings.
    /// Returns whether the values have different bytes.
    @inlinable public static func != (left: Self, right: Self) -> Bool {
        !left.rawValue.hasSameBytes(as: right.rawValue)
    }

    /// Returns whether the bytes of `left` come before those of `right`.
    @inlinable public static func < (left: Self, right: Self) -> Bool { left.rawValue.bytesPrecede(right.rawValue) }

    /// Hashes the bytes.
    @inlinable public func hash(into hasher: inout Hasher) { rawValue.hashBytes(into: &hasher) }

    /// The hash of the bytes.
    public var hashValue: Int {
        var hasher = Hasher()
        hash(into: &hasher)
        return hasher.finalize()
    }
}

/// A string that is compared, hashed and ordered by its bytes. Use it for dictionaries and sets of external names.
///
///     var seen: Set<ExactString> = []
///     seen.insert(ExactString(name))
package struct ExactString: ExactText, ExpressibleByStringLiteral, CustomStringConvertible {
    package let rawValue: String

    package init(rawValue: String) { self.rawValue = rawValue }
    package init(_ text: String) { rawValue = text }
    package init(stringLiteral value: String) { rawValue = value }

    package var description: String { rawValue }
}

extension String {
    /// Returns whether both strings have the same UTF-8 bytes.
    ///
    /// - Parameter other: The string to compare with.
    /// - Returns: Whether the bytes are equal.
    @inlinable public func hasSameBytes(as other: String) -> Bool {
        // Most strings that differ have different lengths, which strings in UTF-8 store.
        guard utf8.count == other.utf8.count else { return false }
        return utf8.withContiguousStorageIfAvailable { mine in
            other.utf8.withContiguousStorageIfAvailable { theirs in
                guard mine.count == theirs.count, let first = mine.baseAddress, let second = theirs.baseAddress else {
                    return mine.count == theirs.count
                }
                return memcmp(first, second, mine.count) == 0
            }
        }.flatMap { $0 } ?? utf8.elementsEqual(other.utf8)
    }

    /// Returns whether the UTF-8 bytes of this string come before those of `other`.
    @usableFromInline func bytesPrecede(_ other: String) -> Bool { utf8.lexicographicallyPrecedes(other.utf8) }

    @inlinable func hashBytes(into hasher: inout Hasher) {
        let isHashed: Void? = utf8.withContiguousStorageIfAvailable {
            hasher.combine(bytes: UnsafeRawBufferPointer($0))
        }
        if isHashed == nil { for byte in utf8 { hasher.combine(byte) } }
        // Separates consecutive strings. The byte 0xFF does not occur in UTF-8.
        hasher.combine(0xFF as UInt8)
    }
}

extension String? {
    /// Returns whether this string has the same UTF-8 bytes as `other`. Returns `false` for `nil`.
    ///
    /// - Parameter other: The string to compare with.
    /// - Returns: Whether the bytes are equal.
    public func hasSameBytes(as other: String) -> Bool { map { $0.hasSameBytes(as: other) } ?? false }
}

extension Dictionary where Key == String {
    /// The value whose key has the same bytes as `key`. The normal subscript also finds canonically equivalent keys.
    ///
    /// Keys of more than 1024 bytes are not found: the time to hash a string that is not ASCII grows with the square of
    /// its length.
    ///
    /// - Parameter key: The key to find.
    public subscript(exactly key: String) -> Value? {
        guard key.utf8.count <= 1024, let index = index(forKey: key), keys[index].hasSameBytes(as: key) else {
            return nil
        }
        return values[index]
    }
}
