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
    public func signIn(account name: AccountName) async throws -> StoreWire.Device {
        try await meet(.signIn)
        let (id, account) = try await database.write { [virtualClock] sql in
            let books = Books(sql)
            let account = try books.known(name)
            // Of version 5 over the seed, so that a store of the same seed names its devices alike.
            let id = UUID(
                namespace: .simulatedStore, name: "device \(try books.seed()) \(try books.nextDevice())")
            let device = DeviceID(unchecked: id.uuidString.lowercased())
            // What happens from now on, at this very instant too, is news.
            let before = Moments.before(try books.now(virtualClock))
            try books.add(device: device, account: account.id, at: max(account.lastEvent, before))
            return (device, account)
        }
        return describe(id, account)
    }

    /// Throws `unknownDevice`.
    public func device(_ id: DeviceID) throws -> StoreWire.Device {
        describe(id, try database.read { try Books($0).known(id) }.account)
    }

    func describe(_ id: DeviceID, _ account: Books.Account) -> StoreWire.Device {
        StoreWire.Device(
            deviceID: id.rawValue, account: account.name.rawValue, storefront: configuration.catalogue.storefront,
            canMakePayments: account.canMakePayments)
    }

    /// The products among `ids` as they are sold now, in the catalogue's order; all of them when `ids` is empty.
    public func products(_ ids: [ProductID]) throws -> ProductAnswer {
        let products = try current(products, in: configuration.catalogue.storefront)
        guard !ids.isEmpty else { return ProductAnswer(products: products) }
        let wanted = Set(ids)
        let found = products.filter { wanted.contains($0.id) }
        return ProductAnswer(
            products: found, invalidProductIDs: wanted.subtracting(found.map(\.id)).sorted())
    }

    /// The same as a device asks for them. Throws `unknownDevice`, and what the settings inject.
    public func products(_ ids: [ProductID], for id: DeviceID) async throws -> ProductAnswer {
        try await meet(.loadProducts)
        _ = try device(id)
        return try products(ids)
    }

    /// As `device`, for the device itself. Throws `unknownDevice`, and what the settings inject.
    public func state(of id: DeviceID) async throws -> StoreWire.Device {
        try await meet(.device)
        return try device(id)
    }

    /// What happened after `cursor`, at once if there is something, else as soon as there is, at most after `wait`
    /// seconds. Without a cursor: what is unfinished, and what this device was not told yet.
    ///
    /// What the store has to say to the customer comes with every answer. Asking with a cursor says that everything up to
    /// it has arrived. Who names another storefront than the device's is answered at once. Throws `invalidValue` for a cursor that no answer held.
    public func updates(
        for id: DeviceID, after text: String?, wait: Double = 0, storefront: String? = nil
    ) async throws -> StoreWire.Updates {
        try await meet(.updates)
        let cursor = try text.map(Self.cursor)
        let base = configuration.baseClock
        let deadline = base.now().addingTimeInterval(min(max(wait, 0), configuration.longestWait))
        if let cursor { try await noteArrival(at: id, upTo: cursor) }
        while true {
            let mark = signal.mark()
            let (device, feed, answered) = try look({ try $0.known(id).account }) { books, account, now in
                let device = try books.known(id)
                return (
                    device, try Feed(books, for: device, after: cursor, until: now, limit: Self.updateLimit),
                    try books.answeredMessages(of: account.id)
                )
            }
            let current = describe(id, device.account).storefront
            let messages = OpenMessage.all(of: feed.courses, configuration.catalogue).map(\.message)
                .filter { answered[$0.id] == nil }
            // A message that was put aside is news as well; every other change of them comes with an update.
            let isNews = cursor.map { cursor in answered.values.contains { $0 > cursor } } ?? !messages.isEmpty
            if !feed.items.isEmpty || isNews || storefront.map({ $0 != current.id }) == true || base.now() >= deadline
                || signal.isClosed || Task.isCancelled
            {
                return StoreWire.Updates(
                    updates: try feed.items.map { try update($0, for: device, at: feed.end) },
                    cursor: "\(feed.end.milliseconds)", storefront: current,
                    messages: messages.isEmpty ? nil : messages)
            }
            let due = feed.nextChange.flatMap { virtualClock.anchor.base(at: $0) }
            await signal.wait(
                for: device.account.id, since: mark, until: min(deadline, due ?? deadline), on: base)
        }
    }

    private static func cursor(_ text: String) throws -> Date {
        guard let cursor = Int64(text), cursor >= 0 else {
            throw SimulatorError(.invalidValue, "The cursor is not one of this store's; ask again without it.")
        }
        return Date(milliseconds: cursor)
    }

    /// Asking after a cursor says that what is told only once has arrived: a device that forgets its cursor goes on there.
    private func noteArrival(at id: DeviceID, upTo cursor: Date) async throws {
        let isNews = try look({ try $0.known(id).account }) { books, _, now in
            let device = try books.known(id)
            return try cursor > device.seen && cursor <= now
                && !Feed(books, for: device, after: device.seen, until: cursor).isEmptyOfNews
        }
        guard isNews else { return }
        try await database.write { try Books($0).set(seen: cursor, of: id) }
    }

    private func update(_ item: Feed.Item, for device: Books.Device, at now: Date) throws -> StoreWire.Update {
        StoreWire.Update(
            paymentID: item.payment, productID: item.productID, state: item.state.rawValue,
            transaction: try item.transaction.map {
                try signer.storeTransaction(
                    $0, item.course, appTransactionID: device.account.appTransactionID, at: now, isFresh: false)
            },
            alreadyOwned: item.isAlreadyOwned ? true : nil, failure: item.failure)
    }

    /// Marks a transaction of the device's account as delivered; again is the same. Throws `unknownTransaction`.
    public func finish(_ transaction: TransactionID, from id: DeviceID) async throws {
        try await meet(.finish)
        let (account, now) = try look({ try $0.known(id).account }) { ($1, $2) }
        try await database.write { sql in
            guard let number = Int64(transaction.rawValue),
                try Books(sql).finish(number, of: account.id, at: now)
            else {
                throw SimulatorError(
                    .unknownTransaction, "The account \(account.name) has no transaction \(transaction).")
            }
        }
    }

    /// The transactions that give the device's account access now, signed now.
    public func restore(for id: DeviceID) async throws -> [StoreTransaction] {
        try await meet(.appStoreSync)
        let (account, entitlements, now) = try look({ try $0.known(id).account }) { books, account, now in
            (account, try books.entitlements(of: account.id, at: now), now)
        }
        return try entitlements.map { record, course in
            try signer.storeTransaction(
                record, course, appTransactionID: account.appTransactionID, at: now, isFresh: true)
        }
    }
}

extension Books {
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
}
