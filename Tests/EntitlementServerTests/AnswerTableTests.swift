import Foundation
import StoreModel
import Testing

@testable import EntitlementServer

@Suite struct AnswerTableTests {
    private func key(_ number: Int) -> CustomerKey {
        CustomerKey(
            ledgerID: LedgerID(app: ServerBench.app, environment: .sandbox),
            customer: CustomerID(unchecked: "customer-\(number)"))
    }

    private func answer(_ text: String, at second: Double = 0) -> StoredAnswer {
        StoredAnswer(
            revision: 7, bytes: Array(text.utf8), etag: "\"\(text)\"", validFrom: Date(timeIntervalSince1970: second),
            validUntil: nil)
    }

    /// Returns a hash with one of `count` upper halves. The table uses the upper half, so many hashes collide.
    private func hash(_ number: Int, among count: Int) -> Int { ((number % count) << 32) | (number & 0xffff) }

    @Test(arguments: [1, 3, 97, 1 << 20])
    func `an answer table behaves as a dictionary`(hashes: Int) {
        var random = SystemRandomNumberGenerator()
        var (table, known) = (AnswerTable(), [Int: String]())
        func look(_ name: Int) -> String? {
            table.place(of: key(name), hash(name, among: hashes)).flatMap { table[$0] }
                .map { String(decoding: $0.answer.bytes, as: UTF8.self) }
        }
        for step in 0..<4000 {
            let name = Int.random(in: 0..<500, using: &random)
            if let place = table.place(of: key(name), hash(name, among: hashes)) {
                if Bool.random(using: &random) {
                    table.remove(at: place)
                    known[name] = nil
                } else {
                    table[place] = PackedAnswer(answer("\(step)"), of: key(name))
                    known[name] = "\(step)"
                }
            } else {
                #expect(known[name] == nil)
                table.insert(PackedAnswer(answer("\(step)"), of: key(name)), hash(name, among: hashes))
                known[name] = "\(step)"
            }
            #expect(table.count == known.count)
            let other = Int.random(in: 0..<500, using: &random)
            #expect(look(other) == known[other])
        }
        for name in 0..<500 { #expect(look(name) == known[name]) }
        let places = (0..<table.capacity).filter { table[$0] != nil }
        #expect(places.count == known.count)
    }

    @Test func `an answer stays marked as read when its neighbour is removed`() throws {
        var table = AnswerTable()
        for name in 0..<3 { table.insert(PackedAnswer(answer("\(name)"), of: key(name)), 1 << 32) }
        table.setRead(true, at: try #require(table.place(of: key(2), 1 << 32)))
        table.remove(at: try #require(table.place(of: key(0), 1 << 32)))
        let places = try (1...2).map { try #require(table.place(of: key($0), 1 << 32)) }
        #expect(places.map(table.wasRead) == [false, true])
        table.setRead(false, at: places[1])
        #expect(!table.wasRead(at: places[1]))
    }

    @Test func `to remove, mark or replace the answer of an empty slot has no effect`() {
        var table = AnswerTable()
        table.remove(at: 0)
        table.setRead(true, at: 0)
        table[0] = PackedAnswer(answer("a"), of: key(1))
        #expect(table.count == 0 && table[0] == nil && !table.wasRead(at: 0))
    }
}

@Suite struct PackedAnswerTests {
    private let ledgerID = LedgerID(app: "com.example.souk", environment: .production)

    @Test(arguments: ["", "{}", String(repeating: "é🛒", count: 4000)], [nil, Date(timeIntervalSince1970: 9)])
    func `a packed answer is unpacked unchanged`(body: String, until: Date?) {
        for name in ["a", "customer-of-exactly-more-than-15-bytes", "é🛒"] {
            let key = CustomerKey(ledgerID: ledgerID, customer: CustomerID(unchecked: name))
            let answer = StoredAnswer(
                revision: .max, bytes: Array(body.utf8), etag: "W/\"\(name)\"",
                validFrom: Date(timeIntervalSince1970: 0.001), validUntil: until)
            let packed = PackedAnswer(answer, of: key)
            #expect(packed.answer == answer && packed.isOf(key) && packed.count == body.utf8.count)
        }
    }

    /// A packed answer has no separators between the parts of its key. Some keys here differ only in where a part ends.
    @Test func `an answer is not returned for another customer`() {
        let names: [(String, BundleID, StoreEnvironment)] = [
            ("ab", "cd", .sandbox), ("abc", "d", .sandbox), ("a", "bcd", .sandbox), ("ab", "cd", .production),
            ("ab", "c", .init(rawValue: "dsandbox")), ("", "abcd", .sandbox), ("ab", "cds", .init(rawValue: "andbox")),
        ]
        let keys = names.map {
            CustomerKey(ledgerID: LedgerID(app: $1, environment: $2), customer: CustomerID(unchecked: $0))
        }
        for (number, key) in keys.enumerated() {
            let packed = PackedAnswer(.none, of: key)
            #expect(keys.map(packed.isOf) == keys.indices.map { $0 == number })
        }
    }

    @Test func `of two answers, the one with the lower revision, or else the earlier start, is older`() {
        func answer(_ revision: Int64, _ second: Double) -> StoredAnswer {
            StoredAnswer(
                revision: revision, bytes: [], etag: "", validFrom: Date(timeIntervalSince1970: second), validUntil: nil
            )
        }
        let packed = PackedAnswer(answer(5, 5), of: CustomerKey(ledgerID: ledgerID, customer: "a"))
        #expect(packed.isOlder(than: answer(6, 4)) && packed.isOlder(than: answer(5, 6)))
        #expect(!packed.isOlder(than: answer(5, 5)) && !packed.isOlder(than: answer(5, 4)))
        #expect(!packed.isOlder(than: answer(4, 9)))
    }
}
