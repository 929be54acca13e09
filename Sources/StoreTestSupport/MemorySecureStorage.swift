import Primitives
import StoreModel
import Testing

/// A `SecureStorage` in memory, for tests of other components.
public final class MemorySecureStorage: SecureStorage {
    private let values: Locked<[ExactString: [UInt8]]>

    /// Creates a storage with values.
    public init(_ values: [String: [UInt8]] = [:]) {
        self.values = Locked(Dictionary(uniqueKeysWithValues: values.map { (ExactString($0), $1) }))
    }

    public func data(for key: String) throws -> [UInt8]? { values.withLock { $0[ExactString(key)] } }

    public func set(_ data: [UInt8]?, for key: String) throws { values.withLock { $0[ExactString(key)] = data } }
}

/// The contract of every `SecureStorage`. Run it with an empty storage of each implementation.
public enum SecureStorageContract {
    /// Records an issue for each requirement that `storage` does not meet.
    public static func verify(_ storage: any SecureStorage) throws {
        #expect(try storage.data(for: "session") == nil)
        try storage.set([1, 2, 3], for: "session")
        try storage.set([], for: "empty")
        #expect(try storage.data(for: "session") == [1, 2, 3])
        #expect(try storage.data(for: "empty") == [])

        try storage.set([4], for: "session")
        #expect(try storage.data(for: "session") == [4])

        try storage.set(nil, for: "session")
        #expect(try storage.data(for: "session") == nil)
        try storage.set(nil, for: "session")
        #expect(try storage.data(for: "empty") == [])

        let keys = [
            "a/b", "../a", "a b", "A", "a", "\u{E4}", "a\u{308}", "\u{C5}", "\u{212B}", "%61", "a.value", ".", "a\0b",
        ]
        for (index, key) in keys.enumerated() { try storage.set([UInt8(index)], for: key) }
        for (index, key) in keys.enumerated() {
            #expect(try storage.data(for: key) == [UInt8(index)], "\(key.debugDescription) has a value of its own")
        }

        let long = (0..<100_000).map { UInt8(truncatingIfNeeded: $0) }
        try storage.set(long, for: "long")
        #expect(try storage.data(for: "long") == long)
    }
}
