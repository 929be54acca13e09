import Purchases
import StoreModel

/// Damaged values are never fatal: they are set aside, reported and created again.
extension StoreRecords {
    /// Throws `storageFailed` while the device, and so the storage, is locked. Without this check, intact values would
    /// count as absent.
    func checkUnlocked() throws {
        do {
            _ = try storage.data(for: Key.time)
        } catch let error as PurchaseError where error.code == .storageLocked {
            throw PurchaseError(.storageFailed, "The store cannot be opened yet. \(error.reason)", underlying: error)
        } catch {}
    }

    /// Returns the value of `key`; `nil` if there is none or it cannot be read. A damaged value is set aside.
    func read<Value: Decodable>(
        _ key: String, reportingTo events: EventBroadcaster<StoreEvent>,
        by decode: ([UInt8]) throws -> Value = { try WireJSON.decode(Value.self, from: $0) }
    ) -> Value? {
        var isDamaged = true
        do {
            let bytes: [UInt8]?
            do {
                bytes = try storage.data(for: key)
            } catch {
                isDamaged = (error as? PurchaseError)?.code == .storageCorrupt
                throw error
            }
            return try bytes.map(decode)
        } catch {
            let place = isDamaged ? setAside(key) : nil
            let outcome = place.map { "; it was set aside as \($0)." } ?? "."
            events.send(
                .storage("The stored value \"\(key)\" cannot be read and counts as absent\(outcome)"))
            return nil
        }
    }

    /// Returns the anonymous customer of this device. A damaged id is replaced by its copy. Without a copy there is a
    /// new customer, who must restore earlier purchases. Throws `storageFailed`.
    func anonymousCustomer(reportingTo events: EventBroadcaster<StoreEvent>) throws -> CustomerID {
        do {
            let id = try repairedAnonymousCustomer(reportingTo: events)
            let bytes = Array(id.rawValue.utf8)
            if (try? storage.data(for: Key.anonymousCustomer)) != bytes {
                try storage.set(bytes, for: Key.anonymousCustomer)
            }
            return id
        } catch {
            throw PurchaseError(
                .storageFailed, "Cannot store the id of this device's anonymous customer: \(error)",
                underlying: error)
        }
    }

    private func repairedAnonymousCustomer(reportingTo events: EventBroadcaster<StoreEvent>) throws -> CustomerID {
        do {
            return try AnonymousCustomer(storage: storage).id
        } catch let error as PurchaseError where error.code == .storageCorrupt {
            let place = setAside(AnonymousCustomer.key).map { " and set aside as \($0)" } ?? ""
            let copy = try? storage.data(for: Key.anonymousCustomer)
            let isIntact = copy.flatMap { CustomerID(rawValue: String(decoding: $0, as: UTF8.self)) } != nil
            if isIntact { try storage.set(copy, for: AnonymousCustomer.key) }
            let outcome =
                isIntact
                ? "its copy is used." : "this device has a new customer, who can restore earlier purchases."
            events.send(
                StoreEvent(
                    kind: isIntact ? .nonCriticalError : .criticalError, code: .storageFailed,
                    sentence: "The id of the anonymous customer was damaged\(place); \(outcome)"))
            return try AnonymousCustomer(storage: storage).id
        }
    }

    /// Moves a damaged value aside. Returns its new place; `nil` if it could not be kept.
    private func setAside(_ key: String) -> String? {
        if let storage = storage as? any RepairableStorage { return try? storage.setAside(key) }
        let place = "damaged.\(key)"
        guard let bytes = try? storage.data(for: key), (try? storage.set(bytes, for: place)) != nil,
            (try? storage.set(nil, for: key)) != nil
        else { return nil }
        return place
    }
}
