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
        static let provisional = "provisional"
        static let refuted = "refutedTransactions"
        /// Whether what the customer owns was presented.
        static let owned = "ownedTransactionsPresented"
        /// What is forgotten when another customer is there.
        static let ofOneCustomer = [answer, acquired, provisional, refuted, owned]
        /// The copy of its id.
        static let anonymousCustomer = "anonymousCustomer"
        static func credit(_ type: String) -> String { "credit.\(type)" }
    }

    private struct Kept<Value: Codable>: Codable {
        var customer: CustomerID
        var value: Value
    }

    let storage: any SecureStorage

    /// A value of `customer`; `nil` when there is none or it is somebody else's. What is damaged is set aside and said, and
    /// its copy takes its place.
    func value<Value: Codable>(
        _ key: String, of customer: CustomerID, telling happenings: Happenings<StoreEvent>
    ) -> Value? {
        let kept: Kept<Value>? = read(key, telling: happenings) ?? read(Self.copy(of: key), telling: happenings)
        return kept?.customer == customer ? kept?.value : nil
    }

    /// Durable when it returns, twice: a damaged value must not lock out who paid while nobody can be asked.
    func set<Value: Codable>(_ value: Value, for key: String, of customer: CustomerID) throws {
        let bytes = try WireJSON.encode(Kept(customer: customer, value: value))
        try storage.set(bytes, for: key)
        try storage.set(bytes, for: Self.copy(of: key))
    }

    func remove(_ key: String) throws {
        try storage.set(nil, for: Self.copy(of: key))
        try storage.set(nil, for: key)
    }

    private static func copy(of key: String) -> String { key + ".copy" }

    /// Who has logged in on this device, the latest last.
    func tokensOfThisDevice(telling happenings: Happenings<StoreEvent>) -> [UUID] {
        read(Key.customersOfThisDevice, telling: happenings) ?? []
    }

    /// The time as it was last written down.
    func time(telling happenings: Happenings<StoreEvent>) -> DeviceTime? { read(Key.time, telling: happenings) }

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
