import Foundation
import Primitives

/// The customer of an app whose user has not logged in. The id is random, created once, and stored in `SecureStorage`.
package struct AnonymousCustomer: Hashable, Sendable {
    /// The id: `anonymous-` and a UUID, the same after every restart.
    package let id: CustomerID

    /// Reads the id, or creates it and stores it durably before it is used.
    ///
    /// - Throws: The error of the storage, or `PurchaseError` with the code `storageCorrupt`. A damaged id is not
    ///   replaced, because purchases belong to it.
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

    /// The key of the id in the storage.
    package static let key = "anonymous-customer"
}
