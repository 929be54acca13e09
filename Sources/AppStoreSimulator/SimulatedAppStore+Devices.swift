import SimulatorControl
import Foundation
import Primitives
import SQLStorage
import StoreKitAdapter
import StoreModel

/// The functions for devices. For an app, StoreKit provides them.
extension SimulatedAppStore {
    /// The number of updates in one answer, which also has all others of the same instant as the last one. The next
    /// answer has the rest.
    static let updateLimit = 200

    /// Signs in a device. Throws `unknownAccount`, and the fault that the settings inject.
    package func signIn(account name: AccountName) async throws -> StoreWire.Device {
        try await applyInjectedFaults(to: .signIn)
        return try await addDevice(to: name)
    }

    /// Signs in a device for a tester, without the fault that the settings inject. Throws `unknownAccount`.
    package func addDevice(to name: AccountName) async throws -> StoreWire.Device {
        try await database.write { [virtualClock, catalogues] sql in
            let db = SimulatorDatabase(sql)
            let account = try db.existingAccount(name)
            // A UUID of version 5 over the seed, so that equal stores have equal device ids.
            let number = try db.nextDevice()
            let id = UUID(namespace: .simulatedStore, name: "device \(try db.seed()) \(number)")
            let device = DeviceID(unchecked: id.uuidString.lowercased())
            try db.add(
                device: device, number: number, account: account.id,
                at: try db.startOfUpdates(for: account, virtualClock))
            return try db.describe(device, account, catalogues)
        }
    }

    /// Returns a device. Throws `unknownDevice`.
    package func device(_ id: DeviceID) throws -> StoreWire.Device {
        try database.read { sql in
            let db = SimulatorDatabase(sql)
            return try db.describe(id, try db.existingDevice(id).account, catalogues)
        }
    }

    /// Returns products as a storefront sells them now, in the order of the catalogue.
    ///
    /// - Parameters:
    ///   - ids: The ids of the products; none means all products.
    ///   - storefront: The country as an ISO 3166-1 alpha-3 code; `nil` means the catalogue's.
    /// - Returns: The products, and the ids that are unknown.
    /// - Throws: `SimulatorError` (`unknownStorefront`), and `SQLError` if the database cannot be read.
    public func products(_ ids: [ProductID], storefront: String? = nil) throws -> ProductAnswer {
        if let storefront { try Storefronts.check(storefront) }
        return try answer(ids, in: catalogues[storefront])
    }

    /// Returns the products that were withdrawn from sale, in the order of the catalogue. Throws `unknownStorefront`.
    package func withdrawnProducts(storefront: String? = nil) throws -> [StoreProduct] {
        if let storefront { try Storefronts.check(storefront) }
        let products = catalogues[storefront].products
        let sold = Set(try current(products, in: catalogues[storefront].storefront).map(\.id))
        return products.filter { !sold.contains($0.id) }
    }

    /// Returns products as the storefront of a device sells them now.
    ///
    /// - Parameters:
    ///   - ids: The ids of the products; none means all products.
    ///   - device: The device.
    /// - Returns: The products, and the ids that are unknown.
    /// - Throws: `SimulatorError` (`unknownDevice`), or the `StoreFailure` that the settings inject.
    public func products(_ ids: [ProductID], for device: DeviceID) async throws -> ProductAnswer {
        try await applyInjectedFaults(to: .loadProducts)
        let country = try database.read { sql in
            let db = SimulatorDatabase(sql)
            return try db.country(of: try db.existingDevice(device).account)
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

    /// Returns a device at its own request. Throws `unknownDevice`, and the fault that the settings inject.
    package func state(of id: DeviceID) async throws -> StoreWire.Device {
        try await applyInjectedFaults(to: .device)
        return try device(id)
    }

    /// Returns the updates after a cursor. If there is none, waits at most `wait` seconds for an update, a promoted
    /// purchase or a change of the open messages. Without a cursor, returns unfinished transactions and updates that
    /// the device has not received.
    ///
    /// Each answer has the open messages and promoted purchases. A request with a cursor acknowledges everything up to
    /// it.
    ///
    /// The answer comes at once if `storefront` is not the device's. It also comes at once, with unfinished
    /// transactions, for a cursor of another account or of a future time: then the device was moved, or the database
    /// was replaced. Throws `invalidValue` for an invalid cursor.
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
            let (device, start, country, feed, answered, promoted) = try read({ try $0.existingDevice(id).account }) {
                db, account, now in
                let device = try db.existingDevice(id)
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
            let isForeignCursor = cursor != nil && start == nil
            // An answered message counts as a change. Every other change of messages comes with an update.
            let hasChanges =
                cursor.map { cursor in (answered.values + promoted.map(\.at)).contains { $0 > cursor.at } }
                ?? !(messages.isEmpty && promoted.isEmpty)
            if !feed.items.isEmpty || isForeignCursor || hasChanges || storefront.map({ $0 != current.id }) == true
                || base.now() >= deadline
                || signal.isClosed || Task.isCancelled
            {
                return StoreWire.Updates(
                    updates: try feed.items.map { try update($0, for: device, at: feed.requestedEnd) },
                    cursor: Cursor(at: feed.end, account: device.account.id).text, storefront: current,
                    messages: messages.isEmpty ? nil : messages,
                    promotedPurchases: promoted.isEmpty ? nil : promoted.map(\.purchase))
            }
            let due = feed.nextChange.flatMap { virtualClock.anchor.base(at: $0) }
            await signal.wait(
                for: device.account.id, since: mark, until: min(deadline, due ?? deadline), on: base)
        }
    }

    /// The instant up to which a device has received updates.
    private struct Cursor {
        var at: Date
        /// The account; `nil` means the present account of the device.
        var account: Int64?

        init(at: Date, account: Int64) {
            self.at = at
            self.account = account
        }

        init(parsing text: String) throws {
            let parts = text.split(separator: ".", omittingEmptySubsequences: false).map { Int64($0) }
            guard let at = parts[0], at >= 0, parts.count == 1 || parts.count == 2 && parts[1] != nil else {
                throw SimulatorError(.invalidValue, "The cursor is invalid; repeat the request without it.")
            }
            self.at = Date(microseconds: at)
            account = parts.count == 2 ? parts[1] : nil
        }

        var text: String { "\(at.microseconds)" + (account.map { ".\($0)" } ?? "") }

        /// Whether the device of `account` can have received this cursor by `now`. The database can have been replaced
        /// since.
        func isOf(_ account: SimulatorDatabase.Account, by now: Date) -> Bool {
            at <= now && (self.account == nil || self.account == account.id)
        }
    }

    /// Stores the acknowledged instant, unless the device received only unfinished purchases since the last one. A
    /// device that loses its cursor continues there.
    private func noteArrival(at id: DeviceID, upTo cursor: Cursor) async throws {
        let hasChanges = try read({ try $0.existingDevice(id).account }) { db, _, now in
            let device = try db.existingDevice(id)
            guard cursor.isOf(device.account, by: now), cursor.at > device.deliveredUntil else { return false }
            let feed = try Feed(
                db, for: device, after: device.deliveredUntil, until: cursor.at, limit: Self.updateLimit)
            // An incomplete feed of unfinished purchases counts too, so that the next feed continues after it.
            return !feed.hasOnlyUnfinishedPurchases || feed.end < feed.requestedEnd
        }
        guard hasChanges else { return }
        try await database.write { sql in
            let db = SimulatorDatabase(sql)
            guard let device = try db.device(id), cursor.isOf(device.account, by: cursor.at) else { return }
            try db.set(deliveredUntil: cursor.at, of: id)
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

    /// Marks a transaction of the device's account as finished. Repeating it changes nothing.
    ///
    /// - Parameters:
    ///   - transaction: The id of the transaction.
    ///   - id: The device.
    /// - Throws: `SimulatorError` (`unknownDevice`, `unknownTransaction`), or the `StoreFailure` that the settings
    ///   inject.
    public func finish(_ transaction: TransactionID, from id: DeviceID) async throws {
        try await applyInjectedFaults(to: .finish)
        let (account, now) = try read({ try $0.existingDevice(id).account }) { ($1, $2) }
        try await database.write { sql in
            guard let number = Int64(transaction.rawValue),
                try SimulatorDatabase(sql).finish(number, of: account.id, at: now)
            else {
                throw SimulatorError(
                    .unknownTransaction, "The account \(account.name) has no transaction \(transaction).")
            }
        }
    }

    /// Returns the transactions that give the device's account access now, signed now.
    ///
    /// - Parameter id: The device.
    /// - Returns: The transactions.
    /// - Throws: `SimulatorError` (`unknownDevice`), or the `StoreFailure` that the settings inject.
    public func restore(for id: DeviceID) async throws -> [StoreTransaction] {
        try await applyInjectedFaults(to: .appStoreSync)
        return try ownedTransactions(of: id)
    }

    /// Returns the transactions that give the device's account access now, signed now. Unlike `restore`, it never fails
    /// with an injected fault.
    ///
    /// - Parameter id: The device.
    /// - Returns: The transactions.
    /// - Throws: `SimulatorError` (`unknownDevice`).
    public func ownedTransactions(of id: DeviceID) throws -> [StoreTransaction] {
        let (device, entitlements, now) = try read({ try $0.existingDevice(id).account }) { db, account, now in
            (try db.existingDevice(id), try db.entitlements(of: account.id, at: now), now)
        }
        return try entitlements.map { record, state in
            try signer.storeTransaction(record, state, for: device, at: now, isFresh: true)
        }
    }

    /// Returns the app transaction of the device's account, signed now for the device.
    ///
    /// - Parameter id: The device.
    /// - Returns: A JWS of `AppTransaction`.
    /// - Throws: `SimulatorError` (`unknownDevice`).
    public func appTransaction(of id: DeviceID) throws -> String {
        let (device, now) = try read({ try $0.existingDevice(id).account }) { db, _, now in
            (try db.existingDevice(id), now)
        }
        return try signer.appTransaction(of: device, version: configuration.applicationVersion, at: now)
    }

    /// Returns whether the device's account would get an introductory offer of a subscription group now: it has not used
    /// one in the group, and has no active subscription there. `false` for a group that the catalogue does not have.
    ///
    /// Throws `unknownDevice`.
    func isEligibleForIntroductoryOffer(inGroup group: String, for id: DeviceID) throws -> Bool {
        guard configuration.catalogue.group(group) != nil else {
            _ = try database.read { try SimulatorDatabase($0).existingDevice(id) }
            return false
        }
        return try read({ try $0.existingDevice(id).account }) { db, account, now in
            guard let record = try db.subscription(in: group, of: account.id) else { return true }
            let state = SubscriptionState(of: record, under: try db.conditions(), at: now)
            return !record.hasUsedIntroductoryOffer && !state.isActive
        }
    }

    /// The version of the app that the customer got first. Apple's sandbox has the same for every app.
    static let originalApplicationVersion = "1.0"
}

extension SimulatorDatabase {
    func existingAccount(_ name: AccountName) throws -> Account {
        guard let account = try account(name) else {
            throw SimulatorError(.unknownAccount, "There is no account \(name); create it first.")
        }
        return account
    }

    func existingDevice(_ id: DeviceID) throws -> Device {
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

    /// The instant after which a new device of the account receives updates: the account's last event, or just before
    /// now if that is later. The device must receive the events of the present instant.
    func startOfUpdates(for account: Account, _ clock: AnchoredClock) throws -> Date {
        max(account.lastEvent, Timestamps.before(try now(clock)))
    }
}
