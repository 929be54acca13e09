import Foundation
import Primitives
import Purchases
import StoreModel
import StoreTestSupport
import Testing

@testable import InAppStore

/// The store's values in files, and their recovery when the files are damaged.
@Suite(.timeLimit(.minutes(2)))
final class DamagedStateTests {
    private let directory = NSTemporaryDirectory() + "souk-damaged-\(UUID().uuidString)"
    private let broadcaster = EventBroadcaster<StoreEvent>()
    private let acquired: Set<ProductID> = ["film.noir"]
    private let key = StoreRecords.Key.acquired

    deinit { try? FileManager.default.removeItem(atPath: directory) }

    private func records() throws -> StoreRecords {
        StoreRecords(storage: try FileSecureStorage(directory: directory))
    }

    private func file(_ key: String) -> URL {
        URL(fileURLWithPath: "\(directory)/\(key.replacingOccurrences(of: ".", with: "%2e")).value")
    }

    private func value(_ records: StoreRecords) -> Set<ProductID>? {
        records.value(key, of: "anna", reportingTo: broadcaster)
    }

    @Test func `after a flipped bit in any byte or any truncation, the copy is used and the damaged file set aside`()
        throws
    {
        let records = try records()
        try records.set(acquired, for: key, of: "anna")
        let whole = try Data(contentsOf: file(key))
        let flipped = whole.indices.map { index in
            var bytes = whole
            bytes[index] ^= 1 << UInt8(index % 8)
            return bytes
        }
        for damaged in flipped + whole.indices.map({ whole.prefix($0) }) {
            try damaged.write(to: file(key))
            #expect(value(records) == acquired)
            #expect(try Data(contentsOf: file(key).appendingPathExtension("damaged")) == damaged)
            #expect(!FileManager.default.fileExists(atPath: file(key).path))
        }
    }

    @Test func `the event names the damaged file that was set aside`() async throws {
        let records = try records()
        try records.set(acquired, for: key, of: "anna")
        try Data([1]).write(to: file(key))
        _ = value(records)
        var events = broadcaster.stream().makeAsyncIterator()
        let event = await events.next()
        #expect(event?.code == .storageFailed)
        #expect(event?.sentence.contains(file(key).path + ".damaged") == true)
    }

    @Test func `with both copies of its values damaged, a store runs and is rebuilt from the server`() async throws {
        let test = StoreTestContext(Fixture.customer(purchases: [Fixture.purchase("pack")]))
        var configuration = test.configuration()
        configuration.storage = try FileSecureStorage(directory: directory)
        let first = try await test.open(configuration)
        #expect(first.allowedProducts == ["pack"])
        await first.close()
        for name in try FileManager.default.contentsOfDirectory(atPath: directory) where name.hasSuffix(".value") {
            try Data([7]).write(to: URL(fileURLWithPath: "\(directory)/\(name)"))
        }
        configuration.storage = try FileSecureStorage(directory: directory)
        let second = try await test.open(configuration)
        #expect(await second.reaches { $0.allowedProducts == ["pack"] } != nil)
        await second.close()
        test.breakServer()
        configuration.storage = try FileSecureStorage(directory: directory)
        let third = try await test.open(configuration)
        #expect(third.allowedProducts == ["pack"], "The values must be written again.")
        await third.close()
    }

    @Test func `a store whose folder disappears runs, but does not store its state`() async throws {
        let test = StoreTestContext(Fixture.customer(purchases: [Fixture.purchase("pack")]))
        var configuration = test.configuration()
        configuration.storage = try FileSecureStorage(directory: directory)
        let store = try await test.open(configuration)
        // Renaming is atomic. A removal could collide with a write of the store.
        let gone = directory + ".gone"
        defer { try? FileManager.default.removeItem(atPath: gone) }
        try FileManager.default.moveItem(atPath: directory, toPath: gone)
        test.setAnswer(Fixture.customer(purchases: [Fixture.purchase("pack"), Fixture.purchase("lens.macro")]))
        try await store.validateReceipt()
        #expect(store.allowedProducts == ["pack", "lens.macro"])
        var events = store.events.makeAsyncIterator()
        while let event = await events.next(), event.code != .storageFailed {}
        await store.close()
    }

    @Test func `an anonymous customer with one damaged copy of the id keeps the id`() async throws {
        let records = try records()
        let id = try records.anonymousCustomer(reportingTo: broadcaster)
        try Data([7]).write(to: file(AnonymousCustomer.key))
        #expect(try records.anonymousCustomer(reportingTo: broadcaster) == id)
        #expect(try records.anonymousCustomer(reportingTo: broadcaster) == id)
    }

    @Test func `an anonymous customer with two damaged copies gets a new id, with an event`() async throws {
        let records = try records()
        let id = try records.anonymousCustomer(reportingTo: broadcaster)
        for key in [AnonymousCustomer.key, StoreRecords.Key.anonymousCustomer] { try Data([7]).write(to: file(key)) }
        let new = try records.anonymousCustomer(reportingTo: broadcaster)
        #expect(new != id)
        #expect(try records.anonymousCustomer(reportingTo: broadcaster) == new)
        var events = broadcaster.stream().makeAsyncIterator()
        #expect(await events.next()?.kind == .criticalError)
    }

    @Test func `in a storage without a function to set values aside, a damaged value moves to another key`() throws {
        let storage = MemorySecureStorage([key: [0x7B]])
        let records = StoreRecords(storage: storage)
        #expect(value(records) == nil)
        #expect(try storage.data(for: key) == nil)
        #expect(try storage.data(for: "damaged.\(key)") == [0x7B])
    }
}
