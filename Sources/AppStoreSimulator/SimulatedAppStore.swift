import Foundation
import HTTPCore
import Primitives
import SQLStorage
import SignedData
import StoreKitAdapter
import StoreModel

/// An App Store in this process: it sells a catalogue to accounts and devices, in virtual time, and signs what it sold
/// under its own root.
///
///     let store = try await SimulatedAppStore.open(.init(catalogue: catalogue, dataDirectory: "/tmp/store"))
///     try await store.createAccount("anna")
///     let connection = try await store.connection(account: "anna")     // or serve `store.handler`
///     await store.close()
///
/// Everything lies in the data folder: certificates, books, clock. What was answered is durable.
public final class SimulatedAppStore: Sendable {
    public let configuration: Configuration
    /// The root under which everything is signed, and the key of the App Store Server API.
    public let summary: Summary

    let database: any SQLDatabase
    let virtualClock: AnchoredClock
    let signer: StoreSigner
    /// Raised by account for news, and for 0 when what is due next may have changed.
    let signal = ChangeSignal<Int64>()
    let products: [StoreProduct]
    private let ticker = Locked<Task<Void, Never>?>(nil)

    static let schedule: Int64 = 0

    /// Virtual time.
    public var clock: any WallClock { virtualClock }

    private init(
        _ configuration: Configuration, _ summary: Summary, _ database: any SQLDatabase, _ clock: AnchoredClock,
        _ chain: SigningChain
    ) {
        self.configuration = configuration
        self.summary = summary
        self.database = database
        virtualClock = clock
        signer = StoreSigner(chain: chain, bundleID: configuration.bundleID, catalogue: configuration.catalogue)
        products = configuration.catalogue.storeProducts
    }

    /// Opens the store in its data folder, or founds it there.
    ///
    /// Throws `SimulatorError` (`dataFolder`, `otherBundle`), and `SignedDataError` or `SQLError` when a file in the
    /// folder is not what the store wrote.
    public static func open(_ configuration: Configuration) async throws -> SimulatedAppStore {
        let folder = configuration.dataDirectory
        do {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        } catch {
            throw SimulatorError(.dataFolder, "The data folder \(folder) cannot be made.", underlying: error)
        }
        let url = URL(fileURLWithPath: folder, isDirectory: true)
        let chain = try SigningChain.open(in: url)
        let summary = Summary(
            bundleID: configuration.bundleID, rootCertificate: SigningChain.rootFile(in: url).path,
            rootFingerprint: Hex.encode(chain.root.fingerprint),
            serverAPI: try ServerAPIKey.open(in: folder, issuer: chain.root.fingerprint))
        let database = try configuration.database ?? openBooks(in: folder)
        do {
            try database.migrate(BooksSchema.migrations)
            let anchor = try await database.write { try Founding(configuration).open(Books($0)) }
            let clock = AnchoredClock(base: configuration.baseClock, anchor: anchor)
            let store = SimulatedAppStore(configuration, summary, database, clock, chain)
            store.ticker.withLock { $0 = Task { await store.keepUpToDate() } }
            return store
        } catch {
            await database.close()
            throw error
        }
    }

    /// Ends what waits: long polls answer at once with what there is, and later ones do not wait. Everything else goes on.
    /// A listener that is about to stop calls this first.
    public func endWaiting() { signal.close() }

    /// For one process at a time: each wakes only those who wait for its own entries.
    private static func openBooks(in folder: String) throws -> SQLiteDatabase {
        var configuration = SQLiteDatabase.Configuration()
        configuration.isExclusive = true
        return try SQLiteDatabase(path: folder + "/store.sqlite", configuration: configuration)
    }

    /// Ends what waits, lets what is being written end and closes the books. Everything asked afterwards is refused.
    public func close() async {
        signal.close()
        let ticker = ticker.withLock { $0 }
        ticker?.cancel()
        await ticker?.value
        await database.close()
    }

    // MARK: - The books

    /// Makes one entry in the books and wakes those who wait for what it says.
    func enter<Value: Sendable>(
        _ body: @escaping @Sendable (inout BookEntry) throws -> Value
    ) async throws -> Value {
        let (value, touched) = try await database.write { [catalogue = configuration.catalogue, virtualClock] sql in
            var entry = try BookEntry(sql, catalogue: catalogue, clock: virtualClock)
            try entry.settle()
            let value = try body(&entry)
            try entry.close()
            return (value, entry.touched)
        }
        if !touched.isEmpty { signal.raise(touched.union([Self.schedule])) }
        return value
    }

    /// Does what is due by now, a batch at a time. Costs a look when nothing is.
    func settle() async throws {
        while true {
            let now = virtualClock.now()
            let due = try database.read { try Books($0).nextDue() }
            guard let due, due <= now else { return }
            let touched = try await database.write { [catalogue = configuration.catalogue, virtualClock] sql in
                var entry = try BookEntry(sql, catalogue: catalogue, clock: virtualClock)
                _ = try entry.settleBatch()
                try entry.close()
                return entry.touched
            }
            signal.raise(touched)
        }
    }

    /// Does what falls due at the instant it does, until the store is closed.
    private func keepUpToDate() async {
        while !Task.isCancelled, !signal.isClosed {
            let mark = signal.mark()
            do {
                try await settle()
                let due = try database.read { try Books($0).nextDue() }
                await signal.wait(for: Self.schedule, since: mark, until: due, on: virtualClock)
            } catch {
                // The same error meets whoever asks; here it is only tried again.
                let base = configuration.baseClock
                await signal.wait(
                    for: Self.schedule, since: mark, until: base.now().addingTimeInterval(1), on: base)
            }
        }
    }
}
