import Foundation

/// Text that identifies something. Two values are equal when their UTF-8 bytes are equal.
///
/// Swift compares a `String` by canonical equivalence: the composed "é" equals "e" with a combining accent. A database,
/// a URL and a signature compare bytes. An identifier must mean the same in all of them, so it conforms to this protocol
/// and gets `==`, `hash(into:)` and `<` over its bytes. The order is that of SQLite's collation BINARY.
///
///     struct Room: ExactText { let rawValue: String }
///     Room(rawValue: "caf\u{E9}") == Room(rawValue: "cafe\u{301}")     // false
public protocol ExactText: RawRepresentable, Hashable, Comparable, Sendable where RawValue == String {}

extension ExactText {
    @inlinable public static func == (left: Self, right: Self) -> Bool {
        left.rawValue.hasSameBytes(as: right.rawValue)
    }

    // The standard library has operators for every `RawRepresentable`, which would compare the strings.
    @inlinable public static func != (left: Self, right: Self) -> Bool {
        !left.rawValue.hasSameBytes(as: right.rawValue)
    }

    @inlinable public static func < (left: Self, right: Self) -> Bool { left.rawValue.bytesPrecede(right.rawValue) }

    @inlinable public func hash(into hasher: inout Hasher) { rawValue.hashBytes(into: &hasher) }

    public var hashValue: Int {
        var hasher = Hasher()
        hash(into: &hasher)
        return hasher.finalize()
    }
}

/// A string that is compared, hashed and ordered by its bytes: the key of a dictionary or set of names from outside.
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
    /// Whether both strings have the same UTF-8 bytes.
    @inlinable public func hasSameBytes(as other: String) -> Bool {
        utf8.withContiguousStorageIfAvailable { mine in
            other.utf8.withContiguousStorageIfAvailable { theirs in
                guard mine.count == theirs.count, let first = mine.baseAddress, let second = theirs.baseAddress else {
                    return mine.count == theirs.count
                }
                return memcmp(first, second, mine.count) == 0
            }
        }.flatMap { $0 } ?? utf8.elementsEqual(other.utf8)
    }

    /// Whether the UTF-8 bytes of this string come before those of `other`.
    @usableFromInline func bytesPrecede(_ other: String) -> Bool { utf8.lexicographicallyPrecedes(other.utf8) }

    @inlinable func hashBytes(into hasher: inout Hasher) {
        let isHashed: Void? = utf8.withContiguousStorageIfAvailable {
            hasher.combine(bytes: UnsafeRawBufferPointer($0))
        }
        if isHashed == nil { for byte in utf8 { hasher.combine(byte) } }
        // No byte of UTF-8: it ends the text, so that texts that follow one another cannot be divided in two ways.
        hasher.combine(0xFF as UInt8)
    }
}

extension String? {
    /// Whether there is a string, and it has the bytes of `other`.
    public func hasSameBytes(as other: String) -> Bool { map { $0.hasSameBytes(as: other) } ?? false }
}

extension Dictionary where Key == String {
    /// The value whose key has the bytes of `key`. The ordinary subscript also finds a key in another Unicode form.
    ///
    /// A key is a name. One of more than 1024 bytes is not looked up: hashing a string that is not ASCII takes time in
    /// proportion to the square of its length.
    public subscript(exactly key: String) -> Value? {
        guard key.utf8.count <= 1024, let index = index(forKey: key), keys[index].hasSameBytes(as: key) else {
            return nil
        }
        return values[index]
    }
}
