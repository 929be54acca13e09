import Foundation

/// A dictionary of at most `capacity` entries. It removes entries that were not used recently.
///
/// It has two generations. New and used entries are in the young one. When the young generation is full, it replaces
/// the old one, whose remaining entries are removed.
package struct BoundedCache<Key: Hashable, Value> {
    private let generationSize: Int
    private var young: [Key: Value] = [:]
    private var old: [Key: Value] = [:]

    /// Creates a cache. A capacity of 0 or 1 stores nothing.
    package init(capacity: Int) { generationSize = capacity / 2 }

    var count: Int { young.count + old.count }

    package mutating func value(for key: Key) -> Value? {
        if let value = young[key] { return value }
        guard let value = old.removeValue(forKey: key) else { return nil }
        insert(value, for: key)
        return value
    }

    package mutating func insert(_ value: Value, for key: Key) {
        guard generationSize > 0 else { return }
        if young.count >= generationSize {
            old = young
            young = [:]
        }
        old[key] = nil
        young[key] = value
    }
}

/// Bytes as a key of a dictionary. All bytes are compared, but the hash uses only some of them, because hashing takes
/// many times as long as comparing.
///
/// Use it only for keys that a trusted signer chose. Anyone can make other keys with the same hash.
struct ByteKey: Hashable {
    private let bytes: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { self.bytes = bytes }

    static func == (left: ByteKey, right: ByteKey) -> Bool {
        left.bytes.withUnsafeBytes { left in
            right.bytes.withUnsafeBytes { right in
                guard left.count == right.count else { return false }
                guard let one = left.baseAddress, let other = right.baseAddress else { return true }
                return memcmp(one, other, left.count) == 0
            }
        }
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(bytes.count)
        bytes.withUnsafeBytes { bytes in
            guard bytes.count > 128 else { return hasher.combine(bytes: bytes) }
            for place in stride(from: 0, through: bytes.count - 8, by: (bytes.count - 8) / 15) {
                hasher.combine(bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self))
            }
        }
    }
}
