import Foundation
import Primitives
import StoreModel

/// The values that the store writes to its `SecureStorage`. A value of a customer is stored together with the customer,
/// so that it is never used for another customer.
struct StoreRecords: Sendable {
    enum Key {
        static let answer = "validation"
        static let acquired = "acquiredViaSubscription"
        static let customersOfThisDevice = "customersOfThisDevice"
        static let time = "time"
        static let provisional = "provisional"
        static let rejectedTransactions = "refutedTransactions"
        /// Whether the purchases that the customer owns were presented.
        static let owned = "ownedTransactionsPresented"
        /// The keys of values that are removed when the customer changes.
        static let ofOneCustomer = [answer, acquired, provisional, rejectedTransactions, owned]
        /// The copy of the anonymous customer's id.
        static let anonymousCustomer = "anonymousCustomer"
        static func credit(_ type: String) -> String { "credit.\(type)" }
    }

    struct StoredValue<Value: Codable>: Codable {
        var customer: CustomerID
        var value: Value
    }

    let storage: any SecureStorage

    /// Returns a value of `customer`; `nil` if there is none or it belongs to another customer. A damaged value is set
    /// aside and reported, and its copy is used.
    func value<Value: Codable>(
        _ key: String, of customer: CustomerID, reportingTo events: EventBroadcaster<StoreEvent>,
        by decode: ([UInt8]) throws -> StoredValue<Value> = { try WireJSON.decode(StoredValue.self, from: $0) }
    ) -> Value? {
        let stored =
            read(key, reportingTo: events, by: decode) ?? read(Self.copy(of: key), reportingTo: events, by: decode)
        return stored?.customer == customer ? stored?.value : nil
    }

    /// Returns the products that `customer` acquired on this device, as `value` does.
    func acquiredProducts(
        of customer: CustomerID, reportingTo events: EventBroadcaster<StoreEvent>
    ) -> Set<ProductID>? {
        value(Key.acquired, of: customer, reportingTo: events) { try StoredValue(parsing: $0) }
    }

    /// Stores a value durably, twice: a damaged value must not lock a paying customer out while the server is
    /// unreachable.
    func set<Value: Codable>(_ value: Value, for key: String, of customer: CustomerID) throws {
        let bytes = try WireJSON.encode(StoredValue(customer: customer, value: value))
        try storage.set(bytes, for: key)
        try storage.set(bytes, for: Self.copy(of: key))
    }

    func remove(_ key: String) throws {
        try storage.set(nil, for: Self.copy(of: key))
        try storage.set(nil, for: key)
    }

    private static func copy(of key: String) -> String { key + ".copy" }

    /// Returns the app account tokens of the customers who have logged in on this device, the latest last.
    func tokensOfThisDevice(reportingTo events: EventBroadcaster<StoreEvent>) -> [UUID] {
        read(Key.customersOfThisDevice, reportingTo: events) ?? []
    }

    func time(reportingTo events: EventBroadcaster<StoreEvent>) -> DeviceTime? { read(Key.time, reportingTo: events) }

    func set(_ time: DeviceTime) throws { try storage.set(try WireJSON.encode(time), for: Key.time) }

    func set(tokensOfThisDevice tokens: [UUID]) throws {
        try storage.set(try WireJSON.encode(tokens), for: Key.customersOfThisDevice)
    }
}

extension StoreRecords.StoredValue<Set<ProductID>> {
    /// Reads a customer's products. There can be a hundred thousand, and a decoder takes several times as long as this
    /// reading. A decoder reads only what has another form, for its error.
    init(parsing bytes: [UInt8]) throws {
        let document = try JSONValue(parsing: bytes)
        guard let customer = document["customer"]?.stringValue.flatMap(CustomerID.init(rawValue:)),
            case .array(let elements)? = document["value"], let ids = Self.ids(elements)
        else {
            self = try WireJSON.decode(Self.self, from: document)
            return
        }
        self.init(customer: customer, value: ids)
    }

    private static func ids(_ elements: [JSONValue]) -> Set<ProductID>? {
        var ids = Set<ProductID>(minimumCapacity: elements.count)
        for element in elements {
            guard case .string(let text) = element, let id = ProductID(rawValue: text) else { return nil }
            ids.insert(id)
        }
        return ids
    }
}

extension StoreEvent {
    static func storage(_ sentence: String) -> StoreEvent {
        StoreEvent(kind: .nonCriticalError, code: .storageFailed, sentence: sentence)
    }
}
