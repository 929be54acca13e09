import SimulatorControl
import Foundation
import HTTPCore
import Primitives
import SQLStorage
import SignedData
import StoreKitAdapter
import StoreModel

/// A simulated App Store. It sells the products of a catalogue to accounts and devices in virtual time, and signs
/// transactions with its own root certificate.
///
///     let store = try await SimulatedAppStore.open(.init(catalogue: catalogue, dataDirectory: "/tmp/store"))
///     try await store.createAccount("anna")
///     let connection = try await store.connection(account: "anna")     // or serve `store.handler`
///     await store.close()
///
/// The data folder contains the certificates, the simulator database and the clock. A change is durable when its call
/// returns.
public final class SimulatedAppStore: Sendable {
    /// The configuration that the store was opened with.
    public let configuration: Configuration
    /// The root certificate, and the key of the App Store Server API.
    public let summary: Summary

    let database: any SQLDatabase
    let virtualClock: AnchoredClock
    let signer: StoreSigner
    let receiptSigner: ReceiptSigner
    /// The verifier that trusts only this store's root.
    let receiptVerifier: ReceiptVerifier
    let offerVerifier: OfferVerifier
    let serverAuthenticator: ServerAuthenticator
    /// Raised for an account and `notifications` after the account's events, and for all keys after the clock is moved
    /// or the whole store changes.
    let signal = ChangeSignal<Int64>()
    let timestamps: Timestamps
    /// The faults that the settings inject.
    let faults = Locked(InjectedFaults())
    let catalogues: StorefrontCatalogues
    /// The keys and the catalogue of Google Play; `nil` if the store has none.
    let googlePlay: SimulatedGooglePlay?
    let playSenderTask = Locked<Task<Void, Never>?>(nil)
    let senderTask = Locked<Task<Void, Never>?>(nil)
    let isRunningScenario = Locked(false)
    /// The performance test that runs; `nil` if none does.
    let performanceTest = Locked<RunningTest?>(nil)

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
        offerVerifier = try OfferVerifier(summary, configuration.catalogue.offersKey)
        serverAuthenticator = try ServerAuthenticator(summary, clock: configuration.baseClock)
        catalogues = StorefrontCatalogues(configuration.catalogue)
        googlePlay = try configuration.playCatalogue.map { try SimulatedGooglePlay($0, configuration) }
    }

    /// Opens the store in its data folder, or creates it there.
    ///
    /// - Parameter configuration: The configuration.
    /// - Returns: The open store.
    /// - Throws: `SimulatorError` (`dataFolder`, `otherBundle`; `invalidValue` for an invalid URL of notifications),
    ///   and `SignedDataError` or `SQLError` for a file in the folder that the store did not write.
    public static func open(_ configuration: Configuration) async throws -> SimulatedAppStore {
        let folder = configuration.dataDirectory
        do {
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw SimulatorError(.dataFolder, "Cannot create the data folder \(folder).", underlying: error)
        }
        let url = URL(fileURLWithPath: folder, isDirectory: true)
        let chain = try SigningChain.open(in: url)
        let summary = Summary(
            bundleID: configuration.bundleID, rootCertificate: SigningChain.rootFile(in: url).path,
            rootFingerprint: Hex.encode(chain.root.fingerprint),
            serverAPI: try ServerAPIKey.open(in: folder, rootFingerprint: chain.root.fingerprint))
        let database = try configuration.database ?? openDatabase(in: folder)
        do {
            try database.migrate(SimulatorSchema.migrations)
            let (anchor, isNew) = try await database.write {
                try StoreInitializer(configuration).open(SimulatorDatabase($0))
            }
            let clock = AnchoredClock(base: configuration.baseClock, anchor: anchor)
            // All instants that the store reported before it was closed are earlier than now.
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

    /// Reads the summary of a store in its data folder. The store may be open.
    ///
    /// - Parameter folder: The path of the data folder.
    /// - Throws: `SimulatorError` (`dataFolder`) if a store has no such folder.
    package static func summary(of folder: String) async throws -> Summary {
        let root = SigningChain.rootFile(in: URL(fileURLWithPath: folder, isDirectory: true)).path
        let (key, file) = (ServerAPIKey.file(in: folder), databaseFile(in: folder))
        if let missing = [root, key, file].first(where: { !FileManager.default.fileExists(atPath: $0) }) {
            throw SimulatorError(
                .dataFolder,
                "The folder \(folder) is not a data folder of souk simulate: there is no file \(missing).")
        }
        do {
            let fingerprint = SHA256.hash(Array(try Data(contentsOf: URL(fileURLWithPath: root))))
            let database = try SQLiteDatabase(path: file)
            let bundle: String?
            do {
                bundle = try database.read { try $0.first("SELECT bundle FROM store").map { try $0["bundle"] } }
            } catch {
                await database.close()
                throw error
            }
            await database.close()
            guard let bundleID = bundle.flatMap(BundleID.init(rawValue:)) else {
                throw SimulatorError(.dataFolder, "The store in \(folder) has no bundle id: start souk simulate once.")
            }
            return Summary(
                bundleID: bundleID, rootCertificate: root, rootFingerprint: Hex.encode(fingerprint),
                serverAPI: try ServerAPIKey.read(key, rootFingerprint: fingerprint))
        } catch let error as SimulatorError {
            throw error
        } catch {
            throw SimulatorError(
                .dataFolder, "The folder \(folder) cannot be read as a data folder of souk simulate: \(error).",
                underlying: error)
        }
    }

    private static func databaseFile(in folder: String) -> String { folder + "/store.sqlite" }

    /// Ends all waiting: long polls answer at once, later ones do not wait, and no notifications are sent until the
    /// store is opened again. Everything else continues. Call it before you stop a listener.
    public func endWaiting() { signal.close() }

    /// Opens the database exclusively, because an event wakes only the requests that wait in the same process.
    private static func openDatabase(in folder: String) throws -> SQLiteDatabase {
        var configuration = SQLiteDatabase.Configuration()
        configuration.isExclusive = true
        return try SQLiteDatabase(path: databaseFile(in: folder), configuration: configuration)
    }

    /// Ends all waiting, completes the writes that have begun, and closes the database. Later calls fail.
    public func close() async {
        signal.close()
        await stopPerformanceTest()
        await stopSending()
        await database.close()
    }

    /// Records an event of an account and its family, and wakes the requests that wait for it.
    func recordEvent<Value: Sendable>(
        _ findAccount: @escaping @Sendable (SimulatorDatabase) throws -> SimulatorDatabase.Account,
        _ body: @escaping @Sendable (inout SimulatorEvent) throws -> Value
    ) async throws -> Value {
        try await recordEvent(all: { try $0.family(of: try findAccount($0)) }, body)
    }

    /// Records an event of several accounts, which need not belong to one family. The first account causes the event.
    func recordEvent<Value: Sendable>(
        all findAccounts: @escaping @Sendable (SimulatorDatabase) throws -> [SimulatorDatabase.Account],
        _ body: @escaping @Sendable (inout SimulatorEvent) throws -> Value
    ) async throws -> Value {
        while true {
            do {
                return try await recordEventOnce(findAccounts, body)
            } catch let error as TooManyDueNotifications {
                try await writeDueNotifications(of: error.original)
            }
        }
    }

    private func recordEventOnce<Value: Sendable>(
        _ findAccounts: @escaping @Sendable (SimulatorDatabase) throws -> [SimulatorDatabase.Account],
        _ body: @escaping @Sendable (inout SimulatorEvent) throws -> Value
    ) async throws -> Value {
        let changed = Locked<[Int64]>([])
        let ticket = timestamps.ticket()
        defer {
            timestamps.endEvent(ticket)
            signal.raise(changed.withLock { $0 })
        }
        return try await database.write { [self] sql in
            let db = SimulatorDatabase(sql)
            let accounts = try findAccounts(db)
            let ids = accounts.map(\.id)
            let last = accounts.map(\.lastEvent).max() ?? .distantPast
            let now = timestamps.beginEvent(ids, clock: try db.now(virtualClock), last: last, as: ticket)
            let settings = try db.settings()
            // Without a receiver of notifications and a decider of refunds, the sender has nothing to do.
            let isSenderIdle = !StoreSetting.notificationsURL.isSet(in: settings) && RefundDecider(settings) == nil
            changed.withLock { $0 = isSenderIdle ? ids : ids + [Self.notifications] }
            return try recordEvent(db, accounts, at: now, settings, body)
        }
    }

    /// Records an event within a write that has begun, with the settings that the write read.
    func recordEvent<Value>(
        _ db: SimulatorDatabase, _ accounts: [SimulatorDatabase.Account], at now: Date, _ settings: [String: JSONValue],
        _ body: (inout SimulatorEvent) throws -> Value
    ) throws -> Value {
        let catalogue = catalogues[accounts[0].country(settings)].catalogue
        let writer = NotificationWriter(db, signer, settings, version: configuration.applicationVersion)
        var event = try SimulatorEvent(db, accounts, at: now, catalogue: catalogue, settings, writer)
        let value = try body(&event)
        try event.settleShares()
        try event.close()
        return value
    }

    /// Records an event that concerns the whole store. `body` gets the database and the instant, which is later than
    /// everything reported to any account.
    func recordStoreEvent<Value: Sendable>(
        _ body: @escaping @Sendable (SimulatorDatabase, Date) throws -> Value
    ) async throws -> Value {
        while true {
            do {
                return try await recordStoreEventOnce(body)
            } catch let error as TooManyDueNotifications {
                try await writeDueNotifications(of: error.original)
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

    /// Reads the database at the next instant that can be reported to an account, so that it contains all earlier
    /// events. If the device was moved to another account meanwhile, reads again at the instant of that account.
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
                return account.id == known.id ? try body(db, account, now) : nil
            }
            if let answer { return answer }
        }
    }
}
