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

/// Bytes as a key of a dictionary, which are hashed and compared as a block.
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

    func hash(into hasher: inout Hasher) { bytes.withUnsafeBytes { hasher.combine(bytes: $0) } }
}
