import BaseTestSupport
import Foundation
import HTTPCore
import NetworkInterception
import Primitives
import Testing

/// The contract of every storage of records, tested with the ring buffer in memory and with a SQLite file.
@Suite struct RecordStorageContract {
    enum Kind: String, CaseIterable, Sendable { case memory, sqlite }

    private static let start = Date(timeIntervalSince1970: 1_800_000_000)
    private let folder = TemporaryRecords()

    private func storage(
        _ kind: Kind, _ capacity: RecordCapacity = .standard, clock: any WallClock = SystemClock()
    ) throws -> any RecordStorage {
        switch kind {
        case .memory: MemoryRecordStorage(capacity: capacity, clock: clock)
        case .sqlite:
            // Keeps the folder until the storage has written everything.
            try SQLiteRecordStorage(path: folder.path, capacity: capacity, clock: clock) { [folder] error in
                withExtendedLifetime(folder) { _ = Issue.record(error) }
            }
        }
    }

    private func record(_ number: Int, body: Int = 0, started: Date? = nil) -> Record {
        var record = Record(HTTPRequest(method: .get, url: "http://a/\(number)"))
        record.result = .success(Response(status: 200, body: .bytes([UInt8](repeating: 7, count: body))))
        record.timing.started = started
        return record
    }

    private func urls(_ storage: any RecordStorage, _ count: Int = 100, after record: Record? = nil) async -> [String] {
        await storage.records(count, after: record).map { String($0.originalRequest.url.dropFirst(9)) }
    }

    @Test(arguments: Kind.allCases)
    func `records come newest first, up to the requested number`(_ kind: Kind) async throws {
        let storage = try storage(kind)
        #expect(await urls(storage).isEmpty)
        let records = (1...5).map { record($0) }
        for record in records { await storage.store(record) }
        #expect(await urls(storage) == ["5", "4", "3", "2", "1"])
        #expect(await urls(storage, 2) == ["5", "4"])
        #expect(await urls(storage, 0).isEmpty)
        #expect(await urls(storage, 2, after: records[3]) == ["3", "2"])
        #expect(await urls(storage, 9, after: records[0]).isEmpty)
        #expect(
            await urls(storage, 1, after: record(9)) == ["5"],
            "after an unknown record, the list begins with the newest")
        #expect(await storage.record(records[2].id)?.originalRequest.url == "http://a/3")
        #expect(await storage.record(UUID()) == nil)
    }

    @Test(arguments: Kind.allCases)
    func `a record that is stored again changes in its place`(_ kind: Kind) async throws {
        let storage = try storage(kind)
        var first = record(1)
        first.result = nil
        await storage.store(first)
        await storage.store(record(2))
        first.result = .success(Response(status: 404))
        await storage.store(first)
        let records = await storage.records(9, after: nil)
        #expect(records.map(\.originalRequest.url) == ["http://a/2", "http://a/1"])
        #expect(records.last?.response?.status == 404)
    }

    @Test(arguments: Kind.allCases)
    func `beyond the capacity in records or bytes, the oldest records are removed`(_ kind: Kind) async throws {
        let storage = try storage(kind, RecordCapacity(records: 3, bytes: 1000))
        for number in 1...5 { await storage.store(record(number)) }
        #expect(await urls(storage) == ["5", "4", "3"])
        await storage.store(record(6, body: 700))
        await storage.store(record(7, body: 200))
        #expect(await urls(storage) == ["7", "6", "5"])
        var grown = try #require(await storage.records(1, after: nil).first)
        grown.result = .success(Response(status: 200, body: .bytes([UInt8](repeating: 1, count: 600))))
        await storage.store(grown)
        #expect(await urls(storage) == ["7"], "the growth of a record counts too")
        await storage.store(record(8, body: 5000))
        #expect(await urls(storage) == ["8"], "the newest stays, however large it is")
    }

    @Test(arguments: Kind.allCases)
    func `the bytes of a record count once, however often it is stored`(_ kind: Kind) async throws {
        let storage = try storage(kind, RecordCapacity(records: 9, bytes: 1500))
        let old = record(1, body: 600)
        for _ in 0..<5 { await storage.store(old) }
        var new = record(2)
        new.originalRequest.body = .bytes([UInt8](repeating: 1, count: 600))
        new.designatedRequest.body = new.originalRequest.body
        await storage.store(new)
        #expect(await urls(storage) == ["2", "1"])
    }

    @Test(arguments: Kind.allCases)
    func `records beyond the age limit are neither found nor kept`(_ kind: Kind) async throws {
        let clock = ManualClock(Self.start)
        let storage = try storage(kind, RecordCapacity(age: .seconds(60)), clock: clock)
        let old = record(1, started: Self.start)
        await storage.store(old)
        await storage.store(record(2, started: Self.start.addingTimeInterval(50)))
        clock.advance(by: 61)
        #expect(await urls(storage) == ["2"])
        #expect(await storage.record(old.id) == nil)
        await storage.store(record(3, started: clock.now()))
        #expect(await urls(storage) == ["3", "2"])
    }

    @Test(arguments: Kind.allCases)
    func `single records and all records can be removed`(_ kind: Kind) async throws {
        let storage = try storage(kind)
        let records = (1...4).map { record($0) }
        for record in records { await storage.store(record) }
        await storage.remove(records[3].id)
        await storage.remove(records[1].id)
        await storage.remove(UUID())
        #expect(await urls(storage) == ["3", "1"])
        await storage.store(record(5))
        await storage.store(records[1])
        #expect(await urls(storage) == ["2", "5", "3", "1"], "a removed record that is stored again is new")
        await storage.removeAll()
        #expect(await urls(storage).isEmpty)
        await storage.store(record(6))
        #expect(await urls(storage) == ["6"])
    }

    @Test(arguments: Kind.allCases)
    func `after random operations, the storage has the same records as a list`(_ kind: Kind) async throws {
        var random = SeededNumbers(state: 10)
        let storage = try storage(kind, RecordCapacity(records: 20))
        var list: [Record] = []
        var removed: [Record] = []
        for number in 0..<1500 {
            let chosen = list.indices.randomElement(using: &random)
            switch (Int.random(in: 0..<100, using: &random), chosen) {
            case (0, _):
                removed += list
                list = []
                await storage.removeAll()
            case (1..<10, let index?):
                removed.append(list.remove(at: index))
                await storage.remove(removed[removed.count - 1].id)
            case (10..<30, let index?):
                list[index].originalRequest.url = "http://a/\(number)"
                await storage.store(list[index])
            default:
                var record = removed.popLast() ?? record(0)
                record.originalRequest.url = "http://a/\(number)"
                list = (list + [record]).suffix(20)
                await storage.store(record)
            }
            let isWhole = number.isMultiple(of: 10) || number == 1499 || list.count < 4
            let kept = await storage.records(.max, after: isWhole ? nil : list[2])
            let expected = isWhole ? list : Array(list.prefix(2))
            func described(_ records: some Sequence<Record>) -> [String] {
                records.map { "\($0.id) \($0.originalRequest.url)" }
            }
            guard described(kept) != described(expected.reversed()) else { continue }
            Issue.record(
                "after step \(number) it holds \(described(kept)) instead of \(described(expected.reversed()))")
            return
        }
    }

    @Test(arguments: Kind.allCases)
    func `each reader of updates receives every stored record`(_ kind: Kind) async throws {
        let storage = try storage(kind)
        await storage.store(record(0))
        let readers = [storage.updates, storage.updates]
        for number in 1...3 { await storage.store(record(number)) }
        for reader in readers {
            var heard: [String] = []
            for await record in reader {
                heard.append(record.originalRequest.url)
                if heard.count == 3 { break }
            }
            #expect(heard == ["http://a/1", "http://a/2", "http://a/3"])
        }
    }

    @Test(arguments: Kind.allCases)
    func `a stored record is read back unchanged`(_ kind: Kind) async throws {
        let storage = try storage(kind)
        var record = Record(
            HTTPRequest(
                method: .init("PROPFIND"), url: "http://a/?q=%20", headers: ["b": "1", "A": "2", "a": "ü"],
                body: .bytes([0, 255, 10]), timeout: .milliseconds(1500)))
        record.designatedRequest.headers.add("X", "y")
        record.designatedRequest.body = .text("other")
        record.result = .success(
            Response(status: 299, headers: ["Set-Cookie": "a", "set-cookie": "b"], body: .bytes([1, 0, 2])))
        record.timing = .init(
            started: Self.start, sent: Self.start.addingTimeInterval(0.001),
            answered: Self.start.addingTimeInterval(0.3))
        record.bodies = .init(
            original: .init(byteCount: 3), response: .init(byteCount: 900, isCut: true, end: .underway))
        record.changes = [.init(floret: "Stamp", kind: .changedRequest)]
        await storage.store(record)
        let kept = try #require(await storage.records(1, after: nil).first)
        #expect(String(describing: kept) == String(describing: record))
        record.result = .failure(HTTPError(.timeout, "No answer came."))
        await storage.store(record)
        let failed = await storage.record(record.id)?.failure as? HTTPError
        #expect(failed?.code == .timeout && failed?.reason == "No answer came.")
    }

    @Test(arguments: Kind.allCases)
    func `records are found by their words, method, host and outcome`(_ kind: Kind) async throws {
        let storage = try storage(kind)
        var first = Record(
            HTTPRequest(method: .post, url: "https://api.example.com/Orders", body: .text("{\"name\":\"Änne\"}")))
        first.result = .success(Response(status: 503, headers: ["Retry-After": "5"], body: .text("no such CUSTOMER")))
        var second = Record(HTTPRequest(method: .get, url: "http://cdn.example.com:8080/logo"))
        second.result = .failure(HTTPError(.timeout, "No answer came."))
        let third = Record(HTTPRequest(method: .get, url: "http://other/orders"))
        for record in [first, second, third] { await storage.store(record) }
        func found(_ typed: String, after record: Record? = nil) async -> [Int] {
            let ids = [first.id, second.id, third.id]
            return await storage.records(9, after: record, matching: RecordQuery(typed)).compactMap {
                ids.firstIndex(of: $0.id).map { $0 + 1 }
            }
        }
        #expect(await found("") == [3, 2, 1])
        #expect(await found("orders") == [3, 1])
        #expect(await found("orders", after: third) == [1])
        #expect(await found("orders CUSTOMER") == [1])
        #expect(await found("\"such customer\"") == [1])
        #expect(await found("\"customer such\"") == [])
        #expect(await found("änne") == [1])
        #expect(await found("\"retry-after: 5\"") == [1])
        #expect(await found("no answer") == [2])
        #expect(await found("method:get") == [3, 2])
        #expect(await found("host:*.example.com") == [2, 1])
        #expect(await found("host:cdn.example.com:8080") == [2])
        #expect(await found("status:5xx") == [1])
        #expect(await found("status:503 method:get") == [])
        #expect(await found("status:failed") == [2])
        #expect(await found("status:underway") == [3])
        #expect(await found("status:nonsense") == [], "an invalid status is searched as text")
    }

    @Test(arguments: Kind.allCases)
    func `records that many tasks store are all kept, each once`(_ kind: Kind) async throws {
        let storage = try storage(kind)
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<200 {
                group.addTask {
                    var record = record(number)
                    record.result = nil
                    await storage.store(record)
                    record.result = .success(Response(status: 201))
                    await storage.store(record)
                }
            }
        }
        let records = await storage.records(1000, after: nil)
        #expect(Set(records.map(\.id)).count == 200 && records.count == 200)
        #expect(records.allSatisfy { $0.response?.status == 201 })
    }

    @Test func `the fields of a form make the same query as typed words`() {
        #expect(
            RecordQuery(HTTPQuery([("text", "a \"b c\""), ("method", "post"), ("host", "h"), ("status", "404")]))
                == RecordQuery("a \"b c\" method:POST host:h status:404"))
        #expect(RecordQuery(HTTPQuery([("method", ""), ("status", "")])).isEmpty)
        #expect(RecordQuery("http://a/b").texts == ["http://a/b"])
    }
}

/// A temporary folder for a file of records, which is removed after the test.
final class TemporaryRecords: Sendable {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("records-\(UUID().uuidString)").path
    var path: String { folder + "/records.sqlite" }

    init() { try? FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true) }
    deinit { try? FileManager.default.removeItem(atPath: folder) }
}
