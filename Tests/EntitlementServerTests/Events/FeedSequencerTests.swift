import BaseTestSupport
import Foundation
import HostTestSupport
import PostgresStorage
import Primitives
import SQLStorage
import Testing

@testable import EntitlementServer

@Suite(.enabled(if: PostgresCluster.isAvailable, "PostgreSQL is not installed"))
struct FeedSequencerTests {
    private static func withDatabase(
        _ configuration: PostgresDatabase.Configuration = .init(), _ body: (PostgresDatabase) async throws -> Void
    ) async throws {
        let database = try PostgresDatabase(
            url: try await PostgresCluster.shared().makeDatabase(), configuration: configuration)
        try database.migrate(Schema.migrations(for: .postgreSQL))
        try await database.write { connection in
            try connection.perform("INSERT INTO app (bundle_id, rules_digest, created_at) VALUES ('a', '', 0)", [])
        }
        try await body(database)
        await database.close()
    }

    @Sendable private static func insert(_ customer: String, _ connection: any SQLConnection) throws {
        try connection.execute(
            """
            INSERT INTO event (app, environment, customer, type, body, created_at)
            VALUES ('a', 'sandbox', ?1, 'customer.updated', '', 0)
            """, [.text(customer)])
    }

    private static func numbered(_ database: PostgresDatabase) throws -> [Int64: String] {
        try database.read { connection in
            Dictionary(
                uniqueKeysWithValues: try connection.query("SELECT sequence, customer FROM event WHERE sequence > 0")
                    .map {
                        (try $0["sequence"], try $0["customer"])
                    })
        }
    }

    @Test func `an event that is committed last gets the last number`() async throws {
        try await Self.withDatabase { database in
            let sequencer = FeedSequencer(database: database, changes: ChangeSignal(clock: SystemClock()))
            let (began, goOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
            let slow = Task {
                try await database.write { connection in
                    try Self.insert("slow", connection)
                    began.signal()
                    goOn.wait()
                }
            }
            await withCheckedContinuation { continuation in
                DispatchQueue.global().async {
                    began.wait(); continuation.resume()
                }
            }
            try await database.write { try Self.insert("quick", $0) }
            #expect(try await !sequencer.step())
            #expect(try Self.numbered(database) == [1: "quick"])
            goOn.signal()
            try await slow.value
            #expect(try await !sequencer.step())
            #expect(try Self.numbered(database) == [1: "quick", 2: "slow"])
        }
    }

    @Test(arguments: [false, true])
    func `an event that is erased while it gets its number leaves no gap, and the feed continues`(isReadCommitted: Bool)
        async throws
    {
        var configuration = PostgresDatabase.Configuration()
        configuration.isolation = isReadCommitted ? .readCommitted : .serializable
        try await Self.withDatabase(configuration) { database in
            let sequencer = FeedSequencer(database: database, changes: ChangeSignal(clock: SystemClock()))
            for customer in ["a", "b", "c"] { try await database.write { try Self.insert(customer, $0) } }
            let (began, goOn) = (Locked(false), DispatchSemaphore(value: 0))
            let erasing = Task {
                try await database.write { connection in
                    try connection.execute("DELETE FROM event WHERE customer = 'b'")
                    began.withLock { $0 = true }
                    goOn.wait()
                }
            }
            try await until("the event is erased") { began.withLock(\.self) }
            let numbering = Task { try await sequencer.step() }
            try await until("the sequencer waits") {
                try database.read { connection in
                    try connection.first(
                        """
                        SELECT 1 AS one FROM pg_stat_activity
                        WHERE datname = current_database() AND wait_event_type = 'Lock'
                        """) != nil
                }
            }
            goOn.signal()
            try await erasing.value
            _ = try await numbering.value
            #expect(try Self.numbered(database) == [1: "a", 2: "c"])
            try await database.write { try Self.insert("d", $0) }
            _ = try await sequencer.step()
            #expect(try Self.numbered(database) == [1: "a", 2: "c", 3: "d"])
        }
    }

    @Test func `several sequencers give each event one number, without a gap, in each customer's order`()
        async throws
    {
        try await Self.withDatabase { database in
            let isDone = Locked(false)
            let sequencers = (0..<3).map { _ in
                Task {
                    let sequencer = FeedSequencer(database: database, changes: ChangeSignal(clock: SystemClock()))
                    while !isDone.withLock({ $0 }) { _ = try await sequencer.step() }
                }
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for customer in 0..<4 {
                    group.addTask {
                        for number in 0..<30 {
                            try await database.write { try Self.insert("\(customer) \(number)", $0) }
                        }
                    }
                }
                try await group.waitForAll()
            }
            isDone.withLock { $0 = true }
            for sequencer in sequencers { try await sequencer.value }
            _ = try await FeedSequencer(database: database, changes: ChangeSignal(clock: SystemClock())).step()
            let events = try Self.numbered(database)
            #expect(Set(events.keys) == Set(1...120))
            for customer in 0..<4 {
                let own = events.sorted { $0.key < $1.key }.map(\.value).filter { $0.hasPrefix("\(customer) ") }
                #expect(own == (0..<30).map { "\(customer) \($0)" })
            }
        }
    }
}
