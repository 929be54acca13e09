import Foundation
import Primitives
import SQLStorage
import StoreModel
import Testing

@testable import EntitlementServer

/// Power cuts and failures of the disk. Killing the process proves little, because the operating system keeps written
/// data. Here the disk loses unsynced data, or fails, at one operation of a scenario after another. Then the ledger
/// must be in the state before or after a request, with everything that was acknowledged.
@Suite struct DurabilityTests {
    private static let scenario = Task { try await DurabilityScenario() }
    /// The tests try one in `every` disk operations. `make chaos` sets `SOUK_DISK_EVERY=1`, which tries all of them.
    private static let every = Int64(ProcessInfo.processInfo.environment["SOUK_DISK_EVERY"] ?? "") ?? 7

    /// The state after a power cut, with two choices of lost data.
    private struct Snapshot: Sendable {
        let operation: Int64
        /// The number of acknowledged steps before and after the copies were made. Only an operation of the writer
        /// holds the next steps up.
        let acknowledged: ClosedRange<Int>
        let leftovers: [ServerBench.Folder]
    }

    /// With rare and with frequent checkpoints.
    @Test(.onSQLite, arguments: [12_000, 8])
    func `after a power cut each acknowledged request is stored, and no request is stored in part`(
        checkpointPages: Int
    ) async throws {
        let scenario = try await Self.scenario.value
        let folder = try ServerBench.Folder(copyOf: scenario.template.url)
        let acknowledged = Locked(0)
        let snapshots = Locked<[Result<Snapshot, any Error>]>([])
        let disk = try FaultyDisk(folder.url) { disk, operation in
            guard operation % Self.every == 0 else { return }
            let before = acknowledged.withLock { $0 }
            let snapshot = Result {
                let leftovers = try [0, UInt64(operation)].map { try disk.afterPowerCut(seed: $0) }
                let after = acknowledged.withLock { $0 }
                return Snapshot(operation: operation, acknowledged: before...after, leftovers: leftovers)
            }
            snapshots.withLock { $0.append(snapshot) }
        }
        let bench = try await scenario.open(folder, checkpointPages: checkpointPages)
        for step in scenario.steps {
            #expect(try await scenario.take(step, at: bench) == .done)
            acknowledged.withLock { $0 += 1 }
        }
        await bench.close()
        let final = try disk.afterPowerCut()
        #expect(try await scenario.stepCount(in: final) == scenario.steps.count)
        disk.detach()

        var known: [[UInt8]: Int] = [:]
        for snapshot in try snapshots.withLock({ $0 }).map({ try $0.get() }) {
            for folder in snapshot.leftovers {
                let digest = try folder.digest()
                let count: Int
                if let before = known[digest] {
                    count = before
                } else {
                    count = try await scenario.stepCount(in: folder)
                    known[digest] = count
                }
                #expect(
                    snapshot.acknowledged.lowerBound <= count && count <= snapshot.acknowledged.upperBound + 1,
                    "\(count) of \(snapshot.acknowledged) acknowledged steps at operation \(snapshot.operation)")
            }
        }
        #expect(known.count > scenario.steps.count)
    }

    @Test(.onSQLite, arguments: [false, true])
    func `a request with a failing disk operation is stored whole or not at all`(forEver: Bool)
        async throws
    {
        let scenario = try await Self.scenario.value
        var operation: Int64 = 1
        while try await fail(at: operation, forEver: forEver, scenario) { operation += Self.every }
        #expect(
            operation > Int64(scenario.steps.count) * 2,
            "The scenario has too few operations: each step writes and syncs.")
    }

    /// Runs the scenario with a failing disk operation, and checks the ledger. Returns `false` if the scenario has
    /// fewer operations.
    private func fail(at operation: Int64, forEver: Bool, _ scenario: DurabilityScenario) async throws -> Bool {
        let folder = try ServerBench.Folder(copyOf: scenario.template.url)
        let disk = try FaultyDisk(folder.url)
        disk.fail(at: operation, forEver: forEver)
        let bench = try await scenario.open(folder)
        var acknowledged = 0
        for step in scenario.steps {
            var outcome = try await scenario.take(step, at: bench)
            if outcome == .later {
                #expect(try await scenario.look(at: bench) == scenario.visibleStates[acknowledged])
                outcome = try await scenario.take(step, at: bench)
                if forEver {
                    #expect(outcome == .later)
                    break
                }
            }
            #expect(outcome == .done, "at operation \(operation)")
            acknowledged += 1
        }
        let wasReached = disk.operations >= operation
        var leftovers = [try ServerBench.Folder(copyOf: folder.url), try disk.afterPowerCut()]
        await bench.close()
        if !forEver { leftovers.append(try ServerBench.Folder(copyOf: folder.url)) }
        disk.detach()
        for folder in leftovers {
            let known = try await scenario.stepCount(in: folder)
            #expect(
                known == acknowledged || known == acknowledged + 1,
                "\(known) of \(acknowledged) acknowledged steps, failing at operation \(operation)")
        }
        return wasReached
    }

    @Test(.onSQLite) func `an interrupted creation of a ledger is finished at the next start, with its keys`()
        async throws
    {
        let folder = try ServerBench.Folder()
        let key = Locked<String?>(nil)
        let leftovers = Locked<[Result<(folder: ServerBench.Folder, key: String?), any Error>]>([])
        let disk = try FaultyDisk(folder.url) { disk, operation in
            guard operation % Self.every == 0 else { return }
            let handedOut = key.withLock { $0 }
            let seed = UInt64(operation / Self.every % 3)
            let found = Result { (folder: try disk.afterPowerCut(seed: seed), key: handedOut) }
            leftovers.withLock { $0.append(found) }
        }
        let bench = try await ServerBench(folder: folder)
        key.withLock { $0 = bench.keys[ServerBench.app]?.secretKey }
        _ = try await bench.post(bench.purchase("1"))
        await bench.close()
        disk.detach()
        let all = try leftovers.withLock { $0 }.map { try $0.get() }
        #expect(all.contains { $0.key == nil } && all.contains { $0.key != nil })
        for (folder, key) in all {
            let other = try FaultyDisk(folder.url)
            defer { other.detach() }
            let again = try await ServerBench(folder: folder)
            guard let secret = key ?? again.keys[ServerBench.app]?.secretKey else {
                await again.close()
                continue
            }
            let reply = try await again.send(.get, "/v1/customers/anna", as: .other("Bearer \(secret)"))
            #expect(reply.status == 200)
            await again.close()
        }
    }

    @Test func `a database that does not sync loses acknowledged writes`() async throws {
        let whole = try ServerBench.Folder()
        let disk = try FaultyDisk(whole.url)
        let database = try SQLiteDatabase.temporary(in: whole.url.path)
        try await database.write { try $0.execute("CREATE TABLE words (word TEXT)") }
        try await database.write { try $0.execute("INSERT INTO words VALUES ('lost')") }
        let folder = try disk.afterPowerCut()
        let left = try SQLiteDatabase(path: folder.url.appendingPathComponent("database.sqlite").path)
        #expect(try left.read { try $0.query("SELECT name FROM sqlite_schema", []) }.isEmpty)
        await left.close()
        await database.close()
        disk.detach()
    }
}
