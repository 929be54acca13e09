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
    let offers: OfferJudge
    let serverGate: ServerGate
    /// Raised by account for what happened to it, for `clockMoved` when the clock was moved.
    let signal = ChangeSignal<Int64>()
    let moments: Moments
    /// What devices meet on purpose, as the settings have it.
    let faults = Locked(InjectedFaults())
    let markets: Markets
    let sending = Locked<Task<Void, Never>?>(nil)

    /// Virtual time.
    public var clock: any WallClock { virtualClock }

    private init(
        _ configuration: Configuration, _ summary: Summary, _ database: any SQLDatabase, _ clock: AnchoredClock,
        _ moments: Moments, _ chain: SigningChain
    ) throws {
        self.configuration = configuration
        self.summary = summary
        self.database = database
        virtualClock = clock
        self.moments = moments
        signer = StoreSigner(chain: chain, bundleID: configuration.bundleID, catalogue: configuration.catalogue)
        receiptSigner = try ReceiptSigner(chain)
        receiptVerifier = ReceiptVerifier(
            configuration: .ofStore(selling: configuration.bundleID, root: chain.root))
        offers = try OfferJudge(summary, configuration.catalogue.offersKey)
        serverGate = try ServerGate(summary, clock: configuration.baseClock)
        markets = Markets(configuration.catalogue)
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
        let database = try configuration.database ?? openBooks(in: folder)
        do {
            try database.migrate(BooksSchema.migrations)
            let (anchor, isNew) = try await database.write { try Founding(configuration).open(Books($0)) }
            let clock = AnchoredClock(base: configuration.baseClock, anchor: anchor)
            // Whatever somebody was told before the store was closed was before now.
            let floor = isNew ? .distantPast : Moments.next(clock.now())
            let store = try SimulatedAppStore(configuration, summary, database, clock, Moments(floor: floor), chain)
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
    private static func openBooks(in folder: String) throws -> SQLiteDatabase {
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
    func enter<Value: Sendable>(
        _ whom: @escaping @Sendable (Books) throws -> Books.Account,
        _ body: @escaping @Sendable (inout BookEntry) throws -> Value
    ) async throws -> Value {
        try await enter(all: { try $0.household(try whom($0)) }, body)
    }

    /// The same for accounts that do not belong together, or not yet; the first is the one that acts.
    func enter<Value: Sendable>(
        all whom: @escaping @Sendable (Books) throws -> [Books.Account],
        _ body: @escaping @Sendable (inout BookEntry) throws -> Value
    ) async throws -> Value {
        while true {
            do {
                return try await enterOnce(whom, body)
            } catch let behind as NotificationsBehind {
                try await catchUp(behind)
            }
        }
    }

    private func enterOnce<Value: Sendable>(
        _ whom: @escaping @Sendable (Books) throws -> [Books.Account],
        _ body: @escaping @Sendable (inout BookEntry) throws -> Value
    ) async throws -> Value {
        let entered = Locked<[Int64]>([])
        let ticket = moments.ticket()
        defer {
            moments.left(ticket)
            signal.raise(entered.withLock { $0 } + [Self.notifications])
        }
        return try await database.write { [self] sql in
            let books = Books(sql)
            let accounts = try whom(books)
            let ids = accounts.map(\.id)
            let last = accounts.map(\.lastEvent).max() ?? .distantPast
            let now = moments.enter(ids, clock: try books.now(virtualClock), last: last, as: ticket)
            entered.withLock { $0 = ids }
            return try enter(books, accounts, at: now, body)
        }
    }

    /// The same within what is being written already.
    func enter<Value>(
        _ books: Books, _ accounts: [Books.Account], at now: Date, _ body: (inout BookEntry) throws -> Value
    ) throws -> Value {
        let catalogue = markets[try books.country(of: accounts[0])].catalogue
        let writer = try NotificationWriter(books, signer, version: configuration.applicationVersion)
        var entry = try BookEntry(books, accounts, at: now, catalogue: catalogue, writer)
        let value = try body(&entry)
        try entry.settleShares()
        try entry.close()
        return value
    }

    /// Makes one entry that concerns everybody: what holds in the whole store from then on. `body` gets the books and
    /// the instant, which is later than all that was said to anybody.
    func enterAll<Value: Sendable>(
        _ body: @escaping @Sendable (Books, Date) throws -> Value
    ) async throws -> Value {
        while true {
            do {
                return try await enterAllOnce(body)
            } catch let behind as NotificationsBehind {
                try await catchUp(behind)
            }
        }
    }

    private func enterAllOnce<Value: Sendable>(
        _ body: @escaping @Sendable (Books, Date) throws -> Value
    ) async throws -> Value {
        let ticket = moments.ticket()
        defer {
            moments.left(ticket)
            signal.raiseAll()
        }
        return try await database.write { [moments, virtualClock] sql in
            let books = Books(sql)
            let now = moments.enterAll(clock: try books.now(virtualClock), last: try books.lastEvent(), as: ticket)
            let value = try body(books, now)
            try books.setLastEvent(ofAll: now)
            return value
        }
    }

    /// What is so for an account at the instant of which it can be told now: everything before is in the books.
    func look<Value: Sendable>(
        _ whom: (Books) throws -> Books.Account, _ body: (Books, Books.Account, Date) throws -> Value
    ) throws -> Value {
        var account = try database.read { try whom(Books($0)) }
        while true {
            let known = account
            let now = moments.tell(known.id, max(virtualClock.now(), known.lastEvent))
            let answer: Value? = try database.read { sql in
                let books = Books(sql)
                account = try whom(books)
                // A device that changed hands meanwhile is told of its new account's instant.
                return account.id == known.id ? try body(books, account, now) : nil
            }
            if let answer { return answer }
        }
    }
}
