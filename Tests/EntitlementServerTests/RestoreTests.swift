import BaseTestSupport
import Foundation
import HTTPCore
import Primitives
import StoreModel
import Testing

@testable import EntitlementServer
@testable import SQLStorage

/// Restores of a backup over a ledger that has changed since.
@Suite struct RestoreTests {
    private static let name = "customer-of-whom-nothing-is-to-stay"
    private static let now = Date(timeIntervalSince1970: 1_800_000_000)
    private static let alias = "anonymous-0b44a9f6-5a53"

    /// Returns the names of a folder's files that contain a text or its upper case, also in free pages.
    private func files(of folder: ServerBench.Folder, holding text: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.url.path).filter { name in
            let bytes = try Data(contentsOf: folder.url.appendingPathComponent(name))
            return [text, text.uppercased()].contains { bytes.range(of: Data($0.utf8)) != nil }
        }
    }

    private func expectNothing(of names: [String], in folder: ServerBench.Folder) throws {
        for name in names + names.map({ CustomerID(unchecked: $0).appAccountToken.wireText }) {
            #expect(try files(of: folder, holding: name) == [], "\(name)")
        }
    }

    /// Creates purchases, an alias, a grant, idempotency keys and a stored answer of one customer.
    private func fill(_ bench: ServerBench, _ name: String = name, alias: String = alias, _ number: Int = 1)
        async throws
    {
        let token = CustomerID(unchecked: name).appAccountToken
        _ = try await bench.post(
            [bench.period("\(number)0") { $0.appAccountToken = token }, bench.purchase("\(number)1")], for: name,
            headers: ["Idempotency-Key": "k\(number)"])
        _ = try await bench.grant("gift", to: name)
        _ = try await bench.send(
            .post, "/v1/customers/\(name)/aliases", as: .secret, body: .json(["alias": .string(alias)]))
        _ = try await bench.get(name)
        _ = try await bench.get(alias)
    }

    private func erase(_ name: String = name, in bench: ServerBench) async throws {
        #expect(try await bench.send(.delete, "/v1/customers/\(name)", as: .secret).status == 200)
    }

    private func backUp(_ bench: ServerBench, to folder: ServerBench.Folder) throws -> SQLiteFile {
        let path = folder.url.appendingPathComponent("backup").path
        try SQLiteFile(path: bench.folder.databasePath).backUp(to: path)
        return try SQLiteFile(path: path)
    }

    /// Restores as `souk restore` does.
    private func restore(
        _ backup: SQLiteFile, to folder: ServerBench.Folder
    ) async throws -> RestoreAmendment.Changes {
        let result = Locked(RestoreAmendment.Changes())
        let former = folder.databasePath + ".before-\(UUID().uuidString)"
        try await backup.replace(folder.databasePath, keepingItAs: former) {
            try RestoreAmendment(of: $0)
        } amending: { copy, amendment in
            let changes = try await #require(amendment).apply(to: copy, at: Self.now)
            result.withLock { $0 = changes }
        }
        try SQLiteFile(path: former).compact()
        return result.withLock { $0 }
    }

    private func status(_ key: String, _ bench: ServerBench) async throws -> Int {
        try await bench.send(.get, "/v1/customers/ben", as: .other("Bearer \(key)")).status
    }

    @Test(.onSQLite) func `an erased customer's names are in no file of a running server`() async throws {
        let bench = try await ServerBench()
        for number in 2..<40 { try await fill(bench, "customer-\(number)", alias: "anonymous-\(number)", number) }
        try await fill(bench)
        #expect(try !files(of: bench.folder, holding: Self.name).isEmpty)
        try await erase(in: bench)
        try expectNothing(of: [Self.name, Self.alias], in: bench.folder)
        #expect(try files(of: bench.folder, holding: "customer-2").contains("ledger.sqlite"))
        await bench.close()
        try expectNothing(of: [Self.name, Self.alias], in: bench.folder)
    }

    /// SQLite moves rows when a page is full, and leaves copies in the page's free space.
    @Test func `no copy of a name is left where rows were moved before their customer was erased`() async throws {
        let bench = try await ServerBench { $0.apps[0].transferMode = .transfer }
        var names: [String] = []
        for number in 0..<60 {
            let name = UUID().uuidString.lowercased()
            names.append(name)
            _ = try await bench.post(
                bench.purchase("\(number)1"), for: name, headers: ["Idempotency-Key": "k\(number)"])
            _ = try await bench.grant("gift", to: name)
            if number > 0 {
                _ = try await bench.send(
                    .post, "/v1/customers/\(name)/transfer", as: .secret, headers: ["Idempotency-Key": "t\(number)"],
                    body: .json(["to": .string(names[number - 1]), "originalTransactionID": "\(number)1"]))
            }
        }
        for name in names.prefix(40).sorted() { try await erase(name, in: bench) }
        try await until("the ledger is compacted") {
            try await bench.service.ledger.purge()
            return try bench.count("compaction_due") == 0
        }
        for name in names.prefix(40) { #expect(try files(of: bench.folder, holding: name) == []) }
        #expect(try bench.replay().differences == [])
        await bench.close()
        for name in names.prefix(40) { #expect(try files(of: bench.folder, holding: name) == []) }
    }

    @Test(.onSQLite)
    func `a reader of an older snapshot delays the completion of an erasure`()
        async throws
    {
        let bench = try await ServerBench()
        try await fill(bench)
        let reader = try SQLiteConnection(path: bench.folder.databasePath, mode: .read, limits: .init(.init()))
        try reader.run(.begin)
        _ = try reader.session { try $0.query("SELECT * FROM customer") }
        try await erase(in: bench)
        #expect(try !files(of: bench.folder, holding: Self.name).isEmpty)
        let job = try #require(bench.service.jobs.first { $0.name == "erasure" })
        #expect(try await job.step() == false)
        reader.endQuietly()
        reader.close()
        #expect(try await job.step() == false)
        try expectNothing(of: [Self.name, Self.alias], in: bench.folder)
        await bench.close()
    }

    @Test(.onSQLite) func `a restore keeps the new keys and the revocations since the backup`() async throws {
        let (folder, elsewhere) = (try ServerBench.Folder(), try ServerBench.Folder())
        let bench = try await ServerBench(folder: folder)
        let old = try await bench.anotherKey()
        let before = try await bench.anotherKey()
        let ring = APIKeys(database: bench.database, clock: bench.clock)
        try await ring.revoke(before.id)
        let backup = try backUp(bench, to: elsewhere)
        try await ring.revoke(old.id)
        let new = try await bench.anotherKey()
        let gone = try await bench.anotherKey()
        try await ring.revoke(gone.id)
        let listed = try ring.list()
        let first = try #require(bench.keys[ServerBench.app]).secretKey
        await bench.close()

        let changes = try await restore(backup, to: folder)
        #expect(changes.revoked.map(\.id) == [old.id] && Set(changes.added.map(\.id)) == [new.id, gone.id])
        #expect(changes.erasedCustomers == 0 && changes.unknownErasures == 0)
        let restored = try await ServerBench(folder: folder)
        #expect(restored.keys.isEmpty, "No key had to be created.")
        #expect(try APIKeys(database: restored.database).list() == listed)
        for (key, expected) in [
            (old.key, 401), (before.key, 401), (new.key, 200), (gone.key, 401), (first, 200),
        ] {
            #expect(try await status(key, restored) == expected)
        }
        await restored.close()
    }

    @Test(.onSQLite) func `keys of another app, and those that only the backup has, are kept`() async throws {
        let (folder, elsewhere) = (try ServerBench.Folder(), try ServerBench.Folder())
        let bench = try await ServerBench { $0.apps.removeLast() }
        let backup = try backUp(bench, to: elsewhere)
        let shipped = try #require(bench.keys[ServerBench.app]).publicKey
        await bench.close()
        let fresh = try await ServerBench(folder: folder)
        let keys = fresh.keys
        await fresh.close()
        let changes = try await restore(backup, to: folder)
        #expect(changes.added.count == 4 && changes.revoked.isEmpty && changes.isOfAnotherLedger)
        let restored = try await ServerBench(folder: folder)
        #expect(restored.keys.isEmpty)
        #expect(try await status(shipped, restored) == 200)
        for pair in keys.values { #expect(try await status(pair.publicKey, restored) == 200) }
        await restored.close()
    }

    @Test(.onSQLite) func `apps whose ids differ only in their Unicode form are two apps`() async throws {
        let (folder, elsewhere) = (try ServerBench.Folder(), try ServerBench.Folder())
        let bench = try await ServerBench(folder: folder)
        let names = ["com.example.caf\u{E9}", "com.example.cafe\u{301}"]
        try await bench.database.write { connection in
            for (index, name) in names.enumerated() {
                try connection.execute(
                    "INSERT INTO app (bundle_id, rules_digest, created_at, token_secret) VALUES (?1, ?2, 0, ?3)",
                    [.text(name), .blob([]), .blob([UInt8(index)])])
            }
        }
        let backup = try backUp(bench, to: elsewhere)
        await bench.close()
        #expect(try await !restore(backup, to: folder).isOfAnotherLedger)

        let again = try await ServerBench(folder: folder)
        try await again.database.write { connection in
            try connection.execute("UPDATE app SET token_secret = x'07' WHERE bundle_id = ?1", [.text(names[1])])
        }
        await again.close()
        #expect(try await restore(backup, to: folder).isOfAnotherLedger)
    }

    @Test(.onSQLite)
    func `customers erased since the backup are erased from the restored ledger, and from the files beside it`()
        async throws
    {
        let (folder, elsewhere) = (try ServerBench.Folder(), try ServerBench.Folder())
        let bench = try await ServerBench(folder: folder)
        for number in 2..<20 { try await fill(bench, "customer-\(number)", alias: "anonymous-\(number)", number) }
        try await fill(bench)
        try await erase("customer-7", in: bench)
        let backup = try backUp(bench, to: elsewhere)
        try await erase(in: bench)
        try await erase("customer-9", in: bench)
        try await fill(bench, "customer-7", alias: "anonymous-7b", 70)
        let secret = try #require(bench.keys[ServerBench.app]).secretKey
        await bench.close()
        #expect(try files(of: elsewhere, holding: Self.name) == ["backup"])

        let changes = try await restore(backup, to: folder)
        #expect(changes.erasedCustomers == 2 && changes.unknownErasures == 0)
        for running in [false, true] {
            let restored = running ? try await ServerBench(folder: folder) : nil
            try expectNothing(
                of: [Self.name, Self.alias, "customer-9", "anonymous-9"], in: folder)
            guard let restored else { continue }
            let customer = { (name: String) in
                try await restored.send(.get, "/v1/customers/\(name)", as: .other("Bearer \(secret)")).customer()
            }
            let found = try await restored.send(.get, "/v1/customers?limit=100", as: .other("Bearer \(secret)"))
            let names = try #require(found.json["customers"]?.arrayValue).compactMap { $0["customer"]?.stringValue }
            #expect(names.count { $0.hasPrefix("erased-") } == 3 && names.count == 19)
            for name in names where name.hasPrefix("erased-") {
                #expect(try await customer(name).features.map(\.name) == ["gift", "pro", "tools"])
            }
            #expect(try await customer("customer-8").features.map(\.name) == ["gift", "pro", "tools"])
            #expect(try await customer(Self.name).features.isEmpty)
            #expect(try restored.replay().differences == [])
            await restored.close()
        }
        let again = try await restore(backup, to: folder)
        #expect(again.erasedCustomers == 2)
    }

    /// The ledger was lost. An older backup was restored in its place (`wasRestored`), or an older copy of the file was
    /// put there. The server then served requests (`wentOn`), or did not.
    @Test(.onSQLite, arguments: [(false, false), (false, true), (true, false), (true, true)])
    func `a ledger that is older than the backup is incomplete`(_ wasRestored: Bool, _ wentOn: Bool)
        async throws
    {
        let (folder, first, second) = (
            try ServerBench.Folder(), try ServerBench.Folder(), try ServerBench.Folder()
        )
        let bench = try await ServerBench(folder: folder)
        try await fill(bench)
        let older = try backUp(bench, to: first)
        try await fill(bench, "customer-2", alias: "anonymous-2", 2)
        let newer = try backUp(bench, to: second)
        try await erase(in: bench)
        await bench.close()
        let whole = try await restore(newer, to: folder)
        #expect(!whole.isIncomplete && whole.erasedCustomers == 1)
        #expect(try await !restore(older, to: folder).isIncomplete)
        #expect(try await !restore(newer, to: folder).isIncomplete)

        for suffix in ["", "-wal", "-shm"] { unlink(folder.databasePath + suffix) }
        if wasRestored {
            try await older.replace(folder.databasePath, keepingItAs: folder.databasePath + ".none") { _ in
            } amending: { copy, _ in
                try await RestoreAmendment.skipUnknownEvents(in: copy, at: Self.now)
            }
        } else {
            try older.backUp(to: folder.databasePath)
        }
        if wentOn {
            let bench = try await ServerBench(folder: folder, keys: bench.keys)
            bench.clock.advance(by: 1)
            for number in 0..<30 { _ = try await bench.grant("gift-\(number)", to: "ben") }
            await bench.close()
        }
        let changes = try await restore(newer, to: folder)
        #expect(changes.isIncomplete && !changes.isOfAnotherLedger)
        let again = try await ServerBench(folder: folder)
        let third = try ServerBench.Folder()
        let newest = try backUp(again, to: third)
        await again.close()
        #expect(try await !restore(newest, to: folder).isIncomplete)
    }

    @Test(.onSQLite) func `a ledger that lacks a key, a revocation or an erasure of the backup is incomplete`()
        async throws
    {
        for change in ["DELETE FROM erased_name", "UPDATE api_key SET revoked_at = NULL", "DELETE FROM api_key"] {
            let (folder, elsewhere) = (try ServerBench.Folder(), try ServerBench.Folder())
            let bench = try await ServerBench(folder: folder)
            try await fill(bench)
            try await erase(in: bench)
            let key = try await bench.anotherKey()
            try await APIKeys(database: bench.database, clock: bench.clock).revoke(key.id)
            let backup = try backUp(bench, to: elsewhere)
            try await bench.database.write { _ = try $0.execute(change) }
            await bench.close()
            #expect(try await restore(backup, to: folder).isIncomplete, "\(change)")
        }
    }

    @Test(.onSQLite) func `the files of a killed restore are removed at the next start`() async throws {
        let folder = try ServerBench.Folder()
        let left = ["", "-wal", ".partial", ".partial-journal"].map { folder.databasePath + ".restoring" + $0 }
        for path in left { try Data(Self.name.utf8).write(to: URL(fileURLWithPath: path)) }
        var configuration = SQLiteDatabase.Configuration()
        configuration.isExclusive = true
        let database = try SQLiteDatabase(path: folder.databasePath, configuration: configuration)
        for path in left { #expect(!FileManager.default.fileExists(atPath: path)) }
        await database.close()
    }

    @Test(.onSQLite) func `two customers that were merged and erased after the backup are both erased by the restore`()
        async throws
    {
        let (folder, elsewhere) = (try ServerBench.Folder(), try ServerBench.Folder())
        let bench = try await ServerBench(folder: folder)
        _ = try await bench.post(bench.purchase("1"), for: Self.name)
        _ = try await bench.post(bench.purchase("2"), for: Self.alias)
        let backup = try backUp(bench, to: elsewhere)
        try await fill(bench, Self.name, alias: Self.alias, 5)
        try await erase(in: bench)
        await bench.close()
        #expect(try await restore(backup, to: folder).erasedCustomers == 2)
        try expectNothing(of: [Self.name, Self.alias], in: folder)
        let restored = try await ServerBench(folder: folder)
        #expect(try restored.count("customer") == 2)
        await restored.close()
    }

    /// In the backup three purchases have tokens of unknown customers. ben has presented one of them.
    @Test(.onSQLite) func `a customer of whom the backup contains only the token is erased from the restored ledger`()
        async throws
    {
        let (folder, elsewhere) = (try ServerBench.Folder(), try ServerBench.Folder())
        let bench = try await ServerBench(folder: folder)
        let uuid = "6f9619ff-8b86-d011-b42d-00cf4fc964ff"
        let tokens = [CustomerID(unchecked: uuid).appAccountToken, CustomerID(unchecked: Self.name).appAccountToken]
        try await bench.append(bench.period("1") { $0.appAccountToken = tokens[0] })
        try await bench.append(bench.period("2") { $0.appAccountToken = tokens[1] })
        _ = try await bench.post(bench.purchase("3") { $0.appAccountToken = tokens[0] }, for: "ben")
        let refusal = try await bench.send(
            .post, "/v1/customers/eve-who-was-refused/grants", as: .secret, headers: ["Idempotency-Key": "k"],
            body: .json(["feature": "", "reason": "r"]))
        #expect(refusal.status == 400)
        let backup = try backUp(bench, to: elsewhere)
        try await erase(uuid, in: bench)
        try await erase(in: bench)
        _ = try await bench.grant("gift", to: "eve-who-was-refused")
        try await erase("eve-who-was-refused", in: bench)
        let secret = try #require(bench.keys[ServerBench.app]).secretKey
        await bench.close()

        #expect(try await restore(backup, to: folder).erasedCustomers == 2)
        try expectNothing(of: [uuid, Self.name, "eve-who-was-refused"], in: folder)
        let restored = try await ServerBench(folder: folder)
        for name in [uuid, Self.name, "ben"] {
            let answer = try await restored.send(.get, "/v1/customers/\(name)", as: .other("Bearer \(secret)"))
            #expect(try answer.customer().features.isEmpty, "\(name)")
        }
        #expect(try restored.replay().differences == [])
        await restored.close()
    }

    @Test(.onSQLite) func `an erasure without a digest is counted, since it cannot be repeated`() async throws {
        let (folder, elsewhere) = (try ServerBench.Folder(), try ServerBench.Folder())
        let bench = try await ServerBench(folder: folder)
        try await fill(bench)
        let backup = try backUp(bench, to: elsewhere)
        try await erase(in: bench)
        try await bench.database.write { try $0.execute("DELETE FROM erased_name") }
        await bench.close()
        let changes = try await restore(backup, to: folder)
        #expect(changes.unknownErasures == 1 && changes.erasedCustomers == 0)
    }

    @Test(.onSQLite) func `a customer that was erased several times since the backup counts as one erasure`()
        async throws
    {
        let (folder, elsewhere) = (try ServerBench.Folder(), try ServerBench.Folder())
        let bench = try await ServerBench(folder: folder)
        try await fill(bench)
        let backup = try backUp(bench, to: elsewhere)
        for number in 2..<5 {
            try await erase(in: bench)
            bench.clock.advance(by: 60)
            _ = try await bench.post(bench.purchase("\(number)2"), for: Self.name)
        }
        try await erase(in: bench)
        await bench.close()
        let changes = try await restore(backup, to: folder)
        #expect(changes.unknownErasures == 0 && changes.erasedCustomers == 1)
        try expectNothing(of: [Self.name, Self.alias], in: folder)
    }

    @Test(.onSQLite) func `an erasure that is committed during a compaction causes another compaction`()
        async throws
    {
        let bench = try await ServerBench()
        try await fill(bench)
        try await erase(in: bench)
        let first = try #require(
            try bench.database.read { try $0.first("SELECT seq FROM sqlite_sequence WHERE name = 'compaction_due'") })
        let number: Int64 = try first["seq"]
        try await bench.database.write { connection in
            try connection.execute("INSERT INTO compaction_due (since) VALUES (0)")
            try Schema.noteCompaction(after: number, connection)
        }
        #expect(try bench.database.read(Schema.erasureToCompact) == number + 1)
        await bench.close()
    }

    @Test(.onSQLite, arguments: [true, false])
    func `after a restore no event id is used twice, and lost events count as deleted`(isKnown: Bool) async throws {
        let (folder, elsewhere) = (try ServerBench.Folder(), try ServerBench.Folder())
        var bench = try await ServerBench(folder: folder)
        _ = try await bench.grant("first", to: "anna")
        let backup = try backUp(bench, to: elsewhere)
        for number in 0..<5 { _ = try await bench.grant("lost", to: "customer-\(number)") }
        let last = try lastEvent(bench)
        await bench.close()
        if isKnown {
            _ = try await restore(backup, to: folder)
        } else {
            let former = folder.databasePath + ".before"
            try await backup.replace(folder.databasePath, keepingItAs: former) { _ in
            } amending: { copy, _ in
                try await RestoreAmendment.skipUnknownEvents(in: copy, at: Self.now)
            }
        }
        bench = try await ServerBench(folder: folder, keys: bench.keys)
        _ = try await bench.grant("new", to: "anna")
        #expect(try lastEvent(bench) > last)
        let span = try bench.service.ledger.span(of: LedgerID(app: ServerBench.app, environment: .sandbox))
        #expect(span.expired > last && span.last > span.expired)
        let second = try lastEvent(bench)
        await bench.close()
        guard !isKnown else { return }
        try await backup.replace(folder.databasePath, keepingItAs: folder.databasePath + ".second") { _ in
        } amending: { copy, _ in
            try await RestoreAmendment.skipUnknownEvents(in: copy, at: Self.now.addingTimeInterval(60))
        }
        bench = try await ServerBench(folder: folder, keys: bench.keys)
        _ = try await bench.grant("new", to: "ben")
        #expect(try lastEvent(bench) > second)
        await bench.close()
    }

    private func lastEvent(_ bench: ServerBench) throws -> Int64 {
        try bench.database.read { try #require(try $0.first("SELECT MAX(sequence) AS last FROM event"))["last"] }
    }

    @Test(.onSQLite)
    func `a backup of every schema since the second migration is migrated, and its customers are erased`() async throws
    {
        for count in 2..<Schema.migrations(for: .sqlite).count {
            let (folder, elsewhere) = (try ServerBench.Folder(), try ServerBench.Folder())
            let path = elsewhere.url.appendingPathComponent("backup").path
            let database = try SQLiteDatabase(path: path)
            try database.migrate(Array(Schema.migrations(for: .sqlite).prefix(count)))
            try await database.write { connection in
                try connection.execute(
                    "INSERT INTO app (bundle_id, rules_digest, created_at) VALUES (?1, ?2, 0)",
                    [.text(ServerBench.app.rawValue), .blob([])])
                try connection.execute(
                    """
                    INSERT INTO customer (app, environment, id, app_account_token, first_seen_at, revision, answer, etag,
                        content_digest, valid_from, valid_until) VALUES (?1, 'sandbox', ?2, ?3, 0, 0, ?4, '', ?4, 0, 0)
                    """,
                    [
                        .text(ServerBench.app.rawValue), .text(Self.name),
                        .text(CustomerID(unchecked: Self.name).appAccountToken.wireText), .blob([]),
                    ])
            }
            await database.close()
            let bench = try await ServerBench(folder: folder)
            try await fill(bench)
            try await erase(in: bench)
            await bench.close()
            let changes = try await restore(try SQLiteFile(path: path), to: folder)
            #expect(changes.erasedCustomers == 1, "\(count) migrations")
            try expectNothing(of: [Self.name, Self.alias], in: folder)
        }
    }
}
