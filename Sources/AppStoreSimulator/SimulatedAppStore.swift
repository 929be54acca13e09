import SimulatorControl
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
    let receiptSigner: ReceiptSigner
    /// Trusts this store's root and no other.
    let receiptVerifier: ReceiptVerifier
    let offers: OfferVerifier
    let serverAuthenticator: ServerAuthenticator
    /// Raised by account for what happened to it, for `clockMoved` when the clock was moved.
    let signal = ChangeSignal<Int64>()
    let timestamps: Timestamps
    /// What devices meet on purpose, as the settings have it.
    let faults = Locked(InjectedFaults())
    let catalogues: StorefrontCatalogues
    let sending = Locked<Task<Void, Never>?>(nil)

    /// Virtual time.
    public var clock: any WallClock { virtualClock }

    private init(
        _ configuration: Configuration, _ summary: Summary, _ database: any SQLDatabase, _ clock: AnchoredClock,
        _ timestamps: Timestamps, _ chain: SigningChain
    ) throws {
        self.configuration = configuration
        self.summary = summary
        self.database = database
        virtualClock = clock
        self.timestamps = timestamps
        signer = StoreSigner(chain: chain, bundleID: configuration.bundleID, catalogue: configuration.catalogue)
        receiptSigner = try ReceiptSigner(chain)
        receiptVerifier = ReceiptVerifier(
            configuration: .ofStore(selling: configuration.bundleID, root: chain.root))
        offers = try OfferVerifier(summary, configuration.catalogue.offersKey)
        serverAuthenticator = try ServerAuthenticator(summary, clock: configuration.baseClock)
        catalogues = StorefrontCatalogues(configuration.catalogue)
    }

    /// Opens the store in its data folder, or founds it there.
    ///
    /// Throws `SimulatorError` (`dataFolder`, `otherBundle`, `invalidValue` for a URL of notifications that is none), and
    /// `SignedDataError` or `SQLError` when a file in the folder is not what the store wrote.
    public static func open(_ configuration: Configuration) async throws -> SimulatedAppStore {
        let folder = configuration.dataDirectory
        do {
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw SimulatorError(.dataFolder, "The data folder \(folder) cannot be made.", underlying: error)
        }
        let url = URL(fileURLWithPath: folder, isDirectory: true)
        let chain = try SigningChain.open(in: url)
        let summary = Summary(
            bundleID: configuration.bundleID, rootCertificate: SigningChain.rootFile(in: url).path,
            rootFingerprint: Hex.encode(chain.root.fingerprint),
            serverAPI: try ServerAPIKey.open(in: folder, issuer: chain.root.fingerprint))
        let database = try configuration.database ?? openDatabase(in: folder)
        do {
            try database.migrate(SimulatorSchema.migrations)
            let (anchor, isNew) = try await database.write {
                try StoreInitializer(configuration).open(SimulatorDatabase($0))
            }
            let clock = AnchoredClock(base: configuration.baseClock, anchor: anchor)
            // Whatever somebody was told before the store was closed was before now.
            let floor = isNew ? .distantPast : Timestamps.next(clock.now())
            let store = try SimulatedAppStore(configuration, summary, database, clock, Timestamps(floor: floor), chain)
            try store.followSettings()
            try await store.startSending()
            return store
        } catch {
            await database.close()
            throw error
        }
    }

    /// Ends what waits: long polls answer at once with what there is, and later ones do not wait; no notification is sent
    /// any more until the store is opened anew. Everything else goes on.
    /// A listener that is about to stop calls this first.
    public func endWaiting() { signal.close() }

    /// For one process at a time: each wakes only those who wait for its own entries.
    private static func openDatabase(in folder: String) throws -> SQLiteDatabase {
        var configuration = SQLiteDatabase.Configuration()
        configuration.isExclusive = true
        return try SQLiteDatabase(path: folder + "/store.sqlite", configuration: configuration)
    }

    /// Ends what waits, lets what is being written end and closes the books. Everything asked afterwards is refused.
    public func close() async {
        signal.close()
        await stopSending()
        await database.close()
    }

    // MARK: - The books

    /// Makes one entry in the books, for those whom it concerns and their families, and wakes those who wait for news.
    func recordEvent<Value: Sendable>(
        _ findAccount: @escaping @Sendable (SimulatorDatabase) throws -> SimulatorDatabase.Account,
        _ body: @escaping @Sendable (inout SimulatorEvent) throws -> Value
    ) async throws -> Value {
        try await recordEvent(all: { try $0.household(try findAccount($0)) }, body)
    }

    /// The same for accounts that do not belong together, or not yet; the first is the one that acts.
    func recordEvent<Value: Sendable>(
        all findAccount: @escaping @Sendable (SimulatorDatabase) throws -> [SimulatorDatabase.Account],
        _ body: @escaping @Sendable (inout SimulatorEvent) throws -> Value
    ) async throws -> Value {
        while true {
            do {
                return try await recordEventOnce(findAccount, body)
            } catch let behind as NotificationsBehind {
                try await catchUp(behind)
            }
        }
    }

    private func recordEventOnce<Value: Sendable>(
        _ findAccount: @escaping @Sendable (SimulatorDatabase) throws -> [SimulatorDatabase.Account],
        _ body: @escaping @Sendable (inout SimulatorEvent) throws -> Value
    ) async throws -> Value {
        let affected = Locked<[Int64]>([])
        let ticket = timestamps.ticket()
        defer {
            timestamps.endEvent(ticket)
            signal.raise(affected.withLock { $0 } + [Self.notifications])
        }
        return try await database.write { [self] sql in
            let db = SimulatorDatabase(sql)
            let accounts = try findAccount(db)
            let ids = accounts.map(\.id)
            let last = accounts.map(\.lastEvent).max() ?? .distantPast
            let now = timestamps.beginEvent(ids, clock: try db.now(virtualClock), last: last, as: ticket)
            affected.withLock { $0 = ids }
            return try recordEvent(db, accounts, at: now, body)
        }
    }

    /// The same within what is being written already.
    func recordEvent<Value>(
        _ db: SimulatorDatabase, _ accounts: [SimulatorDatabase.Account], at now: Date,
        _ body: (inout SimulatorEvent) throws -> Value
    ) throws -> Value {
        let catalogue = catalogues[try db.country(of: accounts[0])].catalogue
        let writer = try NotificationWriter(db, signer, version: configuration.applicationVersion)
        var event = try SimulatorEvent(db, accounts, at: now, catalogue: catalogue, writer)
        let value = try body(&event)
        try event.settleShares()
        try event.close()
        return value
    }

    /// Makes one entry that concerns everybody: what holds in the whole store from then on. `body` gets the books and
    /// the instant, which is later than all that was said to anybody.
    func recordStoreEvent<Value: Sendable>(
        _ body: @escaping @Sendable (SimulatorDatabase, Date) throws -> Value
    ) async throws -> Value {
        while true {
            do {
                return try await recordStoreEventOnce(body)
            } catch let behind as NotificationsBehind {
                try await catchUp(behind)
            }
        }
    }

    private func recordStoreEventOnce<Value: Sendable>(
        _ body: @escaping @Sendable (SimulatorDatabase, Date) throws -> Value
    ) async throws -> Value {
        let ticket = timestamps.ticket()
        defer {
            timestamps.endEvent(ticket)
            signal.raiseAll()
        }
        return try await database.write { [timestamps, virtualClock] sql in
            let db = SimulatorDatabase(sql)
            let now = timestamps.beginStoreEvent(clock: try db.now(virtualClock), last: try db.lastEvent(), as: ticket)
            let value = try body(db, now)
            try db.setLastEvent(ofAll: now)
            return value
        }
    }

    /// What is so for an account at the instant of which it can be told now: everything before is in the books.
    func read<Value: Sendable>(
        _ findAccount: (SimulatorDatabase) throws -> SimulatorDatabase.Account,
        _ body: (SimulatorDatabase, SimulatorDatabase.Account, Date) throws -> Value
    ) throws -> Value {
        var account = try database.read { try findAccount(SimulatorDatabase($0)) }
        while true {
            let known = account
            let now = timestamps.report(known.id, max(virtualClock.now(), known.lastEvent))
            let answer: Value? = try database.read { sql in
                let db = SimulatorDatabase(sql)
                account = try findAccount(db)
                // A device that changed hands meanwhile is told of its new account's instant.
                return account.id == known.id ? try body(db, account, now) : nil
            }
            if let answer { return answer }
        }
    }
}
