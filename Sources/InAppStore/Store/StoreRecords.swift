import Foundation
import Primitives
import StoreModel

/// What the store keeps in its `SecureStorage`: each value of a customer's with whose it is, so that one customer's never
/// counts for another.
struct StoreRecords: Sendable {
    /// Names of what is kept.
    enum Key {
        static let answer = "validation"
        static let acquired = "acquiredViaSubscription"
        static let customersOfThisDevice = "customersOfThisDevice"
        static let time = "time"
        static func credit(_ type: String) -> String { "credit.\(type)" }
    }

    private struct Kept<Value: Codable>: Codable {
        var customer: CustomerID
        var value: Value
    }

    let storage: any SecureStorage

    /// A value of `customer`; `nil` when there is none or it is somebody else's.
    ///
    /// Throws when it cannot be read.
    func value<Value: Codable>(_ key: String, of customer: CustomerID, as type: Value.Type) throws -> Value? {
        guard let bytes = try storage.data(for: key) else { return nil }
        let kept = try WireJSON.decode(Kept<Value>.self, from: bytes)
        return kept.customer == customer ? kept.value : nil
    }

    /// The same; what cannot be read is absent, and said.
    func value<Value: Codable>(
        _ key: String, of customer: CustomerID, telling happenings: Happenings<StoreEvent>
    ) -> Value? {
        do {
            return try value(key, of: customer, as: Value.self)
        } catch {
            happenings.send(.storage("What was kept under \"\(key)\" cannot be read and counts as absent."))
            return nil
        }
    }

    /// Durable when it returns.
    func set<Value: Codable>(_ value: Value, for key: String, of customer: CustomerID) throws {
        try storage.set(try WireJSON.encode(Kept(customer: customer, value: value)), for: key)
    }

    func remove(_ key: String) throws { try storage.set(nil, for: key) }

    /// Who has logged in on this device, the latest last.
    func tokensOfThisDevice(telling happenings: Happenings<StoreEvent>) -> [UUID] {
        do {
            let bytes = try storage.data(for: Key.customersOfThisDevice)
            return try bytes.map { try WireJSON.decode([UUID].self, from: $0) } ?? []
        } catch {
            happenings.send(.storage("Who has logged in on this device cannot be read and counts as unknown."))
            return []
        }
    }

    /// The time as it was last written down.
    func time(telling happenings: Happenings<StoreEvent>) -> DeviceTime? {
        do {
            return try storage.data(for: Key.time).map { try WireJSON.decode(DeviceTime.self, from: $0) }
        } catch {
            happenings.send(.storage("The time of the last run cannot be read and counts as unknown."))
            return nil
        }
    }

    /// Durable when it returns.
    func set(_ time: DeviceTime) throws { try storage.set(try WireJSON.encode(time), for: Key.time) }

    func set(tokensOfThisDevice tokens: [UUID]) throws {
        try storage.set(try WireJSON.encode(tokens), for: Key.customersOfThisDevice)
    }
}

extension StoreEvent {
    static func storage(_ sentence: String) -> StoreEvent {
        StoreEvent(kind: .nonCriticalError, code: .storageFailed, sentence: sentence)
    }
}
