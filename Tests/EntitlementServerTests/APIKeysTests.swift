import Foundation
import Primitives
import SQLStorage
import StoreModel
import Testing

@testable import EntitlementServer

/// API keys that are created, listed and revoked while a server runs.
@Suite struct APIKeysTests {
    /// Returns the keys of the bench's ledger as another process reads them: it shares only the database.
    private func keys(_ bench: ServerBench) -> APIKeys {
        APIKeys(database: bench.database, clock: bench.clock)
    }

    private func status(_ bench: ServerBench, _ path: String = "/v1/customers/anna", key: String) async throws -> Int {
        try await bench.send(.get, path, as: .other("Bearer \(key)")).status
    }

    @Test func `a new key is accepted at once, with the rights of its kind`() async throws {
        let bench = try await ServerBench()
        let (secret, secretKey) = try await keys(bench).create(.secret, for: ServerBench.app, label: "backend")
        #expect(secret.label == "backend" && secret.kind == .secret && secret.revokedAt == nil)
        #expect(try await status(bench, "/v1/customers/anna/facts", key: secretKey) == 200)
        let (_, publicKey) = try await keys(bench).create(.public, for: ServerBench.app)
        #expect(try await status(bench, key: publicKey) == 200)
        #expect(try await status(bench, "/v1/customers/anna/facts", key: publicKey) == 403)
        await bench.close()
    }

    @Test func `a revoked key is refused within a second, and other keys are still accepted`() async throws {
        let bench = try await ServerBench()
        let (entry, key) = try await keys(bench).create(.public, for: ServerBench.app)
        let (_, other) = try await keys(bench).create(.public, for: ServerBench.app)
        #expect(try await status(bench, key: key) == 200)
        let revoked = try await keys(bench).revoke(entry.id)
        #expect(revoked.revokedAt == bench.clock.now())
        bench.realClock.advance(by: 1)
        #expect(try await status(bench, key: key) == 401)
        #expect(try await status(bench, key: other) == 200)
        bench.clock.advance(by: 60)
        #expect(
            try await keys(bench).revoke(entry.id).revokedAt == revoked.revokedAt,
            "A second revocation keeps the first date.")
        await bench.close()
    }

    @Test func `a clock that is set back does not extend the key cache`() async throws {
        let clock = SetClock()
        let bench = try await ServerBench { $0.realClock = clock }
        let (entry, key) = try await keys(bench).create(.public, for: ServerBench.app)
        #expect(try await status(bench, key: key) == 200)
        try await keys(bench).revoke(entry.id)
        clock.instant.withLock { $0 -= 3600 }
        bench.realClock.advance(by: 1)
        #expect(try await status(bench, key: key) == 401)
        await bench.close()
    }

    @Test func `the list describes every key and contains no key string`() async throws {
        let bench = try await ServerBench()
        bench.clock.advance(by: 5)
        let (entry, key) = try await keys(bench).create(.secret, for: ServerBench.otherApp, label: "nightly")
        let all = try keys(bench).list()
        #expect(all.count == 5 && all.last == entry && Set(all.map(\.id)).count == 5)
        #expect(try keys(bench).list(of: ServerBench.otherApp).count == 3)
        #expect(!"\(all)".contains(key))
        await bench.close()
    }

    @Test func `an unknown app, an unknown key id and an invalid label are refused`() async throws {
        let bench = try await ServerBench()
        let before = try keys(bench).list()
        let app = await #expect(throws: EntitlementServerError.self) {
            try await keys(bench).create(.secret, for: "com.example.nobody")
        }
        #expect(app?.code == .unknownApp && app?.reason.contains("com.example.darkroom") == true)
        for id in ["", "zz", "00", "0000000000000000", String(before[0].id.dropLast(2))] {
            let unknown = await #expect(throws: EntitlementServerError.self) { try await keys(bench).revoke(id) }
            #expect(unknown?.code == .unknownKey)
        }
        for label in ["", String(repeating: "x", count: 101), "a\nb"] {
            await #expect(throws: EntitlementServerError.self) {
                try await keys(bench).create(.secret, for: ServerBench.app, label: label)
            }
        }
        #expect(try keys(bench).list() == before)
        await bench.close()
    }

    @Test func `a key that cannot be saved is not created`() async throws {
        struct DiskFull: Error {}
        let bench = try await ServerBench()
        let before = try keys(bench).list()
        await #expect(throws: DiskFull.self) {
            try await keys(bench).create(.secret, for: ServerBench.app) { _, _ in throw DiskFull() }
        }
        #expect(try keys(bench).list() == before)
        await bench.close()
    }
}

/// A clock that can be set back.
private final class SetClock: WallClock {
    let instant = Locked(Date(timeIntervalSince1970: 1_800_000_000))

    func now() -> Date { instant.withLock { $0 } }
    func sleep(until deadline: Date) async throws { try Task.checkCancellation() }
}
