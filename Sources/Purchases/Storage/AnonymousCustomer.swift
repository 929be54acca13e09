import Foundation
import Primitives

/// The customer of an app whose user has not logged in: a random id, made once and kept in `SecureStorage`.
package struct AnonymousCustomer: Hashable, Sendable {
    /// `anonymous-` and a UUID; the same after every restart.
    package let id: CustomerID

    /// Reads the id, or makes it and keeps it durably before anybody learns it.
    ///
    /// Throws what the storage throws, and `PurchaseError.storageCorrupt`: a damaged id is not replaced, because
    /// purchases hang on it.
    package init(storage: any SecureStorage, makeUUID: () -> UUID = { UUID() }) throws {
        if let bytes = try storage.data(for: Self.key) {
            guard let text = String(utf8: bytes), let id = CustomerID(rawValue: text) else {
                throw PurchaseError(.storageCorrupt, "The stored id of the anonymous customer is damaged; remove it.")
            }
            self.id = id
        } else {
            id = CustomerID(unchecked: "anonymous-\(makeUUID().uuidString.lowercased())")
            try storage.set(Array(id.rawValue.utf8), for: Self.key)
        }
    }

    /// Where the id is kept.
    package static let key = "anonymous-customer"
}
