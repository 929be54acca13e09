import BaseTestSupport
import Foundation
import Primitives
import Purchases
import StoreTestSupport
import Testing

@Suite final class FileSecureStorageTests {
    private let directory = NSTemporaryDirectory() + "souk-storage-\(UUID().uuidString)"

    deinit { try? FileManager.default.removeItem(atPath: directory) }

    private func mode(_ path: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        return try #require(attributes[.posixPermissions] as? Int)
    }

    private func files() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: directory) }

    @Test func `the storage in files passes the contract of secure storages`() throws {
        try SecureStorageContract.verify(FileSecureStorage(directory: directory))
    }

    @Test func `the storage in memory passes the contract of secure storages`() throws {
        try SecureStorageContract.verify(MemorySecureStorage())
    }

    @Test func `values are there after a restart`() throws {
        try FileSecureStorage(directory: directory).set([1, 2], for: "session")
        #expect(try FileSecureStorage(directory: directory).data(for: "session") == [1, 2])
    }

    @Test func `other users cannot read the values`() throws {
        let storage = try FileSecureStorage(directory: directory + "/a/b")
        try storage.set([1], for: "session")
        #expect(try mode(directory + "/a/b") == 0o700)
        #expect(try mode(directory + "/a/b/session.value") == 0o600)
    }

    @Test func `a folder that others could read is closed to them`() throws {
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
        _ = try FileSecureStorage(directory: directory)
        #expect(try mode(directory) == 0o700)
    }

    @Test func `temporary files of a crash are ignored`() throws {
        let storage = try FileSecureStorage(directory: directory)
        try storage.set([1], for: "session")
        let left = "\(directory)/.new-\(ProcessInfo.processInfo.processIdentifier)-2"
        try Data([9, 9]).write(to: URL(fileURLWithPath: left))
        #expect(try storage.data(for: "session") == [1])
        try storage.set([2], for: "session")
        #expect(try storage.data(for: "session") == [2])
        #expect(try files() == ["session.value"])
    }

    @Test func `writing leaves one file per key`() throws {
        let storage = try FileSecureStorage(directory: directory)
        for number in 0..<20 { try storage.set([UInt8(number)], for: "k\(number % 2)") }
        #expect(Set(try files()) == ["k0.value", "k1.value"])
    }

    @Test(arguments: [0, 3, 20, 38, 40])
    func `a value cut short is refused, not returned`(length: Int) throws {
        let storage = try FileSecureStorage(directory: directory)
        try storage.set([1, 2, 3], for: "session")
        let file = URL(fileURLWithPath: directory + "/session.value")
        let whole = try Data(contentsOf: file)
        try whole.prefix(length).write(to: file)
        #expect(throws: PurchaseError(.storageCorrupt)) { try storage.data(for: "session") }
    }

    @Test func `every changed byte is detected`() throws {
        let storage = try FileSecureStorage(directory: directory)
        try storage.set([1, 2, 3], for: "session")
        let file = URL(fileURLWithPath: directory + "/session.value")
        let whole = try Data(contentsOf: file)
        #expect(whole.count == 41)
        for index in whole.indices {
            var changed = whole
            changed[index] ^= 1
            try changed.write(to: file)
            #expect(throws: PurchaseError(.storageCorrupt)) { try storage.data(for: "session") }
        }
        try storage.set([4], for: "session")
        #expect(try storage.data(for: "session") == [4])
    }

    @Test func `a link is not followed`() throws {
        let storage = try FileSecureStorage(directory: directory)
        try storage.set([1], for: "other")
        try FileManager.default.createSymbolicLink(
            atPath: directory + "/session.value", withDestinationPath: directory + "/other.value")
        #expect(throws: PurchaseError(.storageFailed)) { try storage.data(for: "session") }
    }

    @Test func `a value over the limit is refused and changes nothing`() throws {
        let storage = try FileSecureStorage(configuration: .init(directory: directory, maximumBytes: 4))
        try storage.set([1, 2, 3, 4], for: "session")
        #expect(throws: PurchaseError(.storageFailed)) { try storage.set([1, 2, 3, 4, 5], for: "session") }
        #expect(try storage.data(for: "session") == [1, 2, 3, 4])
    }

    @Test func `a file longer than any value is refused`() throws {
        let storage = try FileSecureStorage(configuration: .init(directory: directory, maximumBytes: 4))
        try Data(count: 1000).write(to: URL(fileURLWithPath: directory + "/session.value"))
        #expect(throws: PurchaseError(.storageCorrupt)) { try storage.data(for: "session") }
    }

    @Test(arguments: ["", String(repeating: "k", count: 300)])
    func `a key that cannot name a file is refused`(key: String) throws {
        let storage = try FileSecureStorage(directory: directory)
        #expect(throws: PurchaseError(.storageFailed)) { try storage.set([1], for: key) }
        #expect(throws: PurchaseError(.storageFailed)) { try storage.data(for: key) }
    }

    @Test func `the error of a folder that cannot be created names it`() throws {
        try Data().write(to: URL(fileURLWithPath: directory))
        let error = #expect(throws: PurchaseError.self) { try FileSecureStorage(directory: directory + "/inner") }
        #expect(error?.code == .storageFailed)
        #expect(error?.reason.contains(directory) ?? false)
    }

    @Test func `many writers leave one whole value`() async throws {
        let storage = try FileSecureStorage(directory: directory)
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<40 {
                group.addTask {
                    let value = [UInt8](repeating: UInt8(number), count: 5000)
                    #expect(throws: Never.self) {
                        try storage.set(value, for: "session")
                        let read = try storage.data(for: "session") ?? []
                        #expect(read.count == 5000 && Set(read).count == 1)
                    }
                }
            }
        }
        #expect(try files() == ["session.value"])
    }

    @Test func `the anonymous customer is created once and stays`() throws {
        let storage = try FileSecureStorage(directory: directory)
        let uuid = UUID(uuidString: "7E3FB20B-4CDB-47CC-936D-99D65F608138") ?? UUID()
        let customer = try AnonymousCustomer(storage: storage, makeUUID: { uuid })
        #expect(customer.id == "anonymous-7e3fb20b-4cdb-47cc-936d-99d65f608138")
        #expect(try AnonymousCustomer(storage: FileSecureStorage(directory: directory)) == customer)
    }

    @Test func `a damaged anonymous customer is not replaced by a new one`() throws {
        let storage = MemorySecureStorage(["anonymous-customer": [0xFF, 0xFE]])
        #expect(throws: PurchaseError(.storageCorrupt)) { try AnonymousCustomer(storage: storage) }
        #expect(try storage.data(for: "anonymous-customer") == [0xFF, 0xFE])
    }

    // MARK: - Locks

    @Test func `a folder is locked once, until the lock is released`() throws {
        let storage = try FileSecureStorage(directory: directory)
        let lock = try storage.lock()
        #expect(lock != nil)
        #expect(try FileSecureStorage(directory: directory).lock() == nil)
        lock?.release()
        lock?.release()
        var again = try storage.lock()
        #expect(again != nil)
        #expect(try storage.lock() == nil)
        again = nil
        #expect(try storage.lock() != nil)
        #expect(try mode(directory + "/.claim") == 0o600)
    }

    @Test func `a folder that cannot be written to cannot be locked`() throws {
        let storage = try FileSecureStorage(directory: directory)
        try FileManager.default.removeItem(atPath: directory)
        #expect(throws: PurchaseError(.storageFailed)) { try storage.lock() }
    }
}
