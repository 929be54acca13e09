import SimulatorControl
import Foundation
import Primitives
import SQLStorage
import StoreKitAdapter
import StoreModel

/// The store's client side: what StoreKit does for a device.
extension SimulatedAppStore {
    /// How many updates one answer holds at most; the next question gets the rest.
    static let updateLimit = 200

    /// Signs a device in. Throws `unknownAccount`.
    package func signIn(account name: AccountName) async throws -> StoreWire.Device {
        try await applyInjectedFaults(to: .signIn)
        return try await database.write { [virtualClock, catalogues] sql in
            let db = SimulatorDatabase(sql)
            let account = try db.known(name)
            // Of version 5 over the seed, so that a store of the same seed names its devices alike.
            let number = try db.nextDevice()
            let id = UUID(namespace: .simulatedStore, name: "device \(try db.seed()) \(number)")
            let device = DeviceID(unchecked: id.uuidString.lowercased())
            try db.add(
                device: device, number: number, account: account.id,
                at: try db.beginning(for: account, virtualClock))
            return try db.describe(device, account, catalogues)
        }
    }

    /// Throws `unknownDevice`.
    package func device(_ id: DeviceID) throws -> StoreWire.Device {
        try database.read { sql in
            let db = SimulatorDatabase(sql)
            return try db.describe(id, try db.known(id).account, catalogues)
        }
    }

    /// The products among `ids` as the store of the catalogue's own country sells them now, in the catalogue's order; all of
    /// them when `ids` is empty.
    public func products(_ ids: [ProductID]) throws -> ProductAnswer { try answer(ids, in: catalogues.home) }

    /// The same, as the store of the device's country sells them. Throws `unknownDevice`, and what the settings inject.
    public func products(_ ids: [ProductID], for device: DeviceID) async throws -> ProductAnswer {
        try await applyInjectedFaults(to: .loadProducts)
        let country = try database.read { sql in
            let db = SimulatorDatabase(sql)
            return try db.country(of: try db.known(device).account)
        }
        return try answer(ids, in: catalogues[country])
    }

    private func answer(_ ids: [ProductID], in localCatalogue: StorefrontCatalogue) throws -> ProductAnswer {
        let products = try current(localCatalogue.products, in: localCatalogue.storefront)
        guard !ids.isEmpty else { return ProductAnswer(products: products) }
        let wanted = Set(ids)
        let found = products.filter { wanted.contains($0.id) }
        return ProductAnswer(
            products: found, invalidProductIDs: wanted.subtracting(found.map(\.id)).sorted())
    }

    /// As `device`, for the device itself. Throws `unknownDevice`, and what the settings inject.
    package func state(of id: DeviceID) async throws -> StoreWire.Device {
        try await applyInjectedFaults(to: .device)
        return try device(id)
    }

    /// What happened after `cursor`, at once if there is something, else as soon as there is, at most after `wait`
    /// seconds. Without a cursor: what is unfinished, and what this device was not told yet.
    ///
    /// What the store has to say to the customer comes with every answer, and so does what they began in the store itself. Asking with a cursor says that everything up to
    /// it has arrived. Who names another storefront than the device's is answered at once, and so is whoever shows a cursor
    /// of another account, or of a time that is not yet: the device has changed hands or the books were replaced, and it
    /// begins anew with what is unfinished. Throws `invalidValue` for
    /// a cursor that no answer held.
    package func updates(
        for id: DeviceID, after text: String?, wait: Double = 0, storefront: String? = nil
    ) async throws -> StoreWire.Updates {
        try await applyInjectedFaults(to: .updates)
        let cursor = try text.map(Cursor.init(parsing:))
        let base = configuration.baseClock
        let deadline = base.now().addingTimeInterval(min(max(wait, 0), configuration.longestWait))
        if let cursor { try await noteArrival(at: id, upTo: cursor) }
        while true {
            let mark = signal.mark()
            let (device, start, country, feed, answered, promoted) = try read({ try $0.known(id).account }) {
                db, account, now in
                let device = try db.known(id)
                let start = cursor.flatMap { $0.isOf(device.account, by: now) ? $0.at : nil }
                return (
                    device, start, try db.country(of: device.account),
                    try Feed(db, for: device, after: start, until: now, limit: Self.updateLimit),
                    try db.answeredMessages(of: account.id), try db.promotedPurchases(of: account.id)
                )
            }
            let localCatalogue = catalogues[country]
            let current = localCatalogue.storefront
            let messages = OpenMessage.all(of: feed.subscriptions, localCatalogue.catalogue).map(\.message)
                .filter { answered[$0.id] == nil }
            let isOthers = cursor != nil && start == nil
            // A message that was put aside is news as well; every other change of them comes with an update.
            let hasChanges =
                cursor.map { cursor in (answered.values + promoted.map(\.at)).contains { $0 > cursor.at } }
                ?? !(messages.isEmpty && promoted.isEmpty)
            if !feed.items.isEmpty || isOthers || hasChanges || storefront.map({ $0 != current.id }) == true
                || base.now() >= deadline
                || signal.isClosed || Task.isCancelled
            {
                return StoreWire.Updates(
                    updates: try feed.items.map { try update($0, for: device, at: feed.asked) },
                    cursor: Cursor(at: feed.end, account: device.account.id).text, storefront: current,
                    messages: messages.isEmpty ? nil : messages,
                    promotedPurchases: promoted.isEmpty ? nil : promoted.map(\.purchase))
            }
            let due = feed.nextChange.flatMap { virtualClock.anchor.base(at: $0) }
            await signal.wait(
                for: device.account.id, since: mark, until: min(deadline, due ?? deadline), on: base)
        }
    }

    /// The instant up to which an account's device has heard.
    private struct Cursor {
        var at: Date
        /// Whose; a bare instant is one of whichever account the device has.
        var account: Int64?

        init(at: Date, account: Int64) {
            self.at = at
            self.account = account
        }

        init(parsing text: String) throws {
            let parts = text.split(separator: ".", omittingEmptySubsequences: false).map { Int64($0) }
            guard let at = parts[0], at >= 0, parts.count == 1 || parts.count == 2 && parts[1] != nil else {
                throw SimulatorError(.invalidValue, "The cursor is not one of this store's; ask again without it.")
            }
            self.at = Date(microseconds: at)
            account = parts.count == 2 ? parts[1] : nil
        }

        var text: String { "\(at.microseconds)" + (account.map { ".\($0)" } ?? "") }

        /// Whether it may be one that the account's device was given by `now`; the books may have been replaced since.
        func isOf(_ account: SimulatorDatabase.Account, by now: Date) -> Bool {
            at <= now && (self.account == nil || self.account == account.id)
        }
    }

    /// Asking after a cursor says that what is told only once has arrived: a device that forgets its cursor goes on there.
    private func noteArrival(at id: DeviceID, upTo cursor: Cursor) async throws {
        let hasChanges = try read({ try $0.known(id).account }) { db, _, now in
            let device = try db.known(id)
            guard cursor.isOf(device.account, by: now), cursor.at > device.seen else { return false }
            let feed = try Feed(
                db, for: device, after: device.seen, until: cursor.at, limit: Self.updateLimit)
            // After so many sales it is noted as well, so that they are not looked at again.
            return !feed.hasOnlySales || feed.end < feed.asked
        }
        guard hasChanges else { return }
        try await database.write { sql in
            let db = SimulatorDatabase(sql)
            guard let device = try db.device(id), cursor.isOf(device.account, by: cursor.at) else { return }
            try db.set(seen: cursor.at, of: id)
        }
    }

    private func update(_ item: Feed.Item, for device: SimulatorDatabase.Device, at now: Date) throws
        -> StoreWire.Update
    {
        StoreWire.Update(
            paymentID: item.payment, productID: item.productID, state: item.state.rawValue,
            transaction: try item.transaction.map {
                try signer.storeTransaction($0, item.subscription, for: device, at: now, isFresh: false)
            },
            alreadyOwned: item.isAlreadyOwned ? true : nil, failure: item.failure)
    }

    /// Marks a transaction of the device's account as delivered; again is the same. Throws `unknownTransaction`.
    public func finish(_ transaction: TransactionID, from id: DeviceID) async throws {
        try await applyInjectedFaults(to: .finish)
        let (account, now) = try read({ try $0.known(id).account }) { ($1, $2) }
        try await database.write { sql in
            guard let number = Int64(transaction.rawValue),
                try SimulatorDatabase(sql).finish(number, of: account.id, at: now)
            else {
                throw SimulatorError(
                    .unknownTransaction, "The account \(account.name) has no transaction \(transaction).")
            }
        }
    }

    /// The transactions that give the device's account access now, signed now.
    public func restore(for id: DeviceID) async throws -> [StoreTransaction] {
        try await applyInjectedFaults(to: .appStoreSync)
        return try ownedTransactions(of: id)
    }

    /// The transactions that give the device's account access now, freshly signed, without a sync. Throws `unknownDevice`.
    public func ownedTransactions(of id: DeviceID) throws -> [StoreTransaction] {
        let (device, entitlements, now) = try read({ try $0.known(id).account }) { db, account, now in
            (try db.known(id), try db.entitlements(of: account.id, at: now), now)
        }
        return try entitlements.map { record, state in
            try signer.storeTransaction(record, state, for: device, at: now, isFresh: true)
        }
    }

    /// How the device's account got the app, signed now for the device: a JWS of `AppTransaction`. Throws `unknownDevice`.
    public func appTransaction(of id: DeviceID) throws -> String {
        let (device, now) = try read({ try $0.known(id).account }) { db, _, now in (try db.known(id), now) }
        return try signer.appTransaction(of: device, version: configuration.applicationVersion, at: now)
    }

    /// The version that the customer first got, as Apple's sandbox has it for every app.
    static let originalApplicationVersion = "1.0"
}

extension SimulatorDatabase {
    func known(_ name: AccountName) throws -> Account {
        guard let account = try account(name) else {
            throw SimulatorError(.unknownAccount, "There is no account \(name); create it first.")
        }
        return account
    }

    func known(_ id: DeviceID) throws -> Device {
        guard let device = try device(id) else {
            throw SimulatorError(.unknownDevice, "There is no device \(id); sign in first.")
        }
        return device
    }

    func describe(_ id: DeviceID, _ account: Account, _ catalogues: StorefrontCatalogues) throws -> StoreWire.Device {
        StoreWire.Device(
            deviceID: id.rawValue, account: account.name.rawValue,
            storefront: catalogues[try country(of: account)].storefront, canMakePayments: account.canMakePayments)
    }

    /// Where a device of the account begins: what happens from now on, at this very instant too, is news to it.
    func beginning(for account: Account, _ clock: AnchoredClock) throws -> Date {
        max(account.lastEvent, Timestamps.before(try now(clock)))
    }
}
