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
    public func signIn(account: AccountName) async throws -> StoreWire.Device {
        let id = try await database.write { sql in
            let books = Books(sql)
            let account = try books.known(account)
            let seed = try books.seed()
            // Of version 5 over the seed, so that a store of the same seed names its devices alike.
            let id = UUID(namespace: .simulatedStore, name: "device \(seed) \(try books.nextDevice())")
            let device = DeviceID(unchecked: id.uuidString.lowercased())
            try books.add(device: device, account: account.id)
            return device
        }
        return describe(id, account)
    }

    /// Throws `unknownDevice`.
    public func device(_ id: DeviceID) throws -> StoreWire.Device {
        let device = try database.read { try Books($0).known(id) }
        return describe(id, device.account.name)
    }

    private func describe(_ id: DeviceID, _ account: AccountName) -> StoreWire.Device {
        StoreWire.Device(
            deviceID: id.rawValue, account: account.rawValue, storefront: configuration.catalogue.storefront)
    }

    /// The products among `ids`, in the catalogue's order; all of them when `ids` is empty.
    public func products(_ ids: [ProductID]) -> ProductAnswer {
        guard !ids.isEmpty else { return ProductAnswer(products: products) }
        let wanted = Set(ids)
        let found = products.filter { wanted.contains($0.id) }
        return ProductAnswer(
            products: found, invalidProductIDs: wanted.subtracting(found.map(\.id)).sorted())
    }

    /// Takes a payment; the outcome is among the device's updates. The same payment again buys nothing; from another
    /// device of the account, perhaps the same app after a crash, its outcome is told there.
    public func add(_ payment: Payment, from device: DeviceID) async throws {
        try await enter { [catalogue = configuration.catalogue] entry in
            let device = try entry.books.known(device)
            if let answer = try entry.books.answer(to: payment.id, of: device.account.id) {
                guard answer.update.device != device.id else { return }
                var update = answer.update
                update.device = device.id
                return try entry.record([.update(update)])
            }
            _ = try entry.sell(
                Order(
                    accountID: device.account.id, productID: payment.productID, quantity: payment.quantity,
                    appAccountToken: payment.appAccountToken, offerID: payment.offerID, payment: payment.id,
                    device: device.id), in: catalogue)
        }
    }

    /// What happened after `cursor`, at once if there is something, else as soon as there is, at most after `wait`
    /// seconds. Without a cursor: what is unfinished, and what this device was not told yet.
    ///
    /// Asking with a cursor says that everything up to it has arrived. Who names another storefront than the device's is
    /// answered at once. Throws `malformed` for a cursor that no answer held.
    public func updates(
        for id: DeviceID, after text: String?, wait: Double = 0, storefront: String? = nil
    ) async throws -> StoreWire.Updates {
        let cursor = try text.map(Self.cursor)
        let base = configuration.baseClock
        let deadline = base.now().addingTimeInterval(min(max(wait, 0), configuration.longestWait))
        try await noteArrival(at: id, upTo: cursor)
        while true {
            let mark = signal.mark()
            try await settle()
            let (device, news, newest) = try database.read { sql in
                let books = Books(sql)
                let device = try books.known(id)
                let news = try books.news(for: device, after: cursor ?? 0, limit: Self.updateLimit)
                return (device, news, try books.newestCursor())
            }
            let current = describe(id, device.account.name).storefront
            if !news.isEmpty || storefront.map({ $0 != current.id }) == true || base.now() >= deadline
                || signal.isClosed || Task.isCancelled
            {
                let end = news.count < Self.updateLimit ? newest : news.last?.cursor ?? newest
                return StoreWire.Updates(
                    updates: try news.map { try update($0, for: device) }, cursor: "\(end)", storefront: current)
            }
            await signal.wait(for: device.account.id, since: mark, until: deadline, on: base)
        }
    }

    private static func cursor(_ text: String) throws -> Int64 {
        guard let cursor = Int64(text), cursor >= 0 else {
            throw SimulatorError(.malformed, "The cursor is not one of this store's; ask again without it.")
        }
        return cursor
    }

    private func noteArrival(at id: DeviceID, upTo cursor: Int64?) async throws {
        guard let cursor else { return }
        let isNews = try database.read { sql in
            let books = Books(sql)
            let device = try books.known(id)
            return try cursor > device.seen && books.hasPassing(for: device, upTo: cursor)
        }
        guard isNews else { return }
        try await database.write { sql in
            let books = Books(sql)
            try books.set(seen: min(cursor, try books.newestCursor()), of: id)
        }
    }

    private func update(_ news: Books.News, for device: Books.Device) throws -> StoreWire.Update {
        StoreWire.Update(
            paymentID: news.update.device == device.id ? news.update.payment : nil, productID: news.update.productID,
            state: news.update.state.rawValue,
            transaction: try news.transaction.map {
                try signer.storeTransaction(
                    $0, news.subscription, appTransactionID: device.account.appTransactionID, at: virtualClock.now(),
                    isFresh: false)
            },
            alreadyOwned: news.update.isAlreadyOwned ? true : nil, failure: news.update.failure)
    }

    /// Marks a transaction of the device's account as delivered; again is the same. Throws `unknownTransaction`.
    public func finish(_ transaction: TransactionID, from device: DeviceID) async throws {
        try await database.write { sql in
            let books = Books(sql)
            let account = try books.known(device).account
            guard let id = Int64(transaction.rawValue), try books.finish(id, of: account.id) else {
                throw SimulatorError(
                    .unknownTransaction, "The account \(account.name) has no transaction \(transaction).")
            }
        }
    }

    /// The transactions that give the device's account access now, signed now.
    public func restore(for device: DeviceID) async throws -> [StoreTransaction] {
        try await settle()
        let now = virtualClock.now()
        let (account, records) = try database.read { sql in
            let books = Books(sql)
            let account = try books.known(device).account
            let records = try books.entitlements(of: account.id, at: now).map {
                ($0, try books.subscription($0.originalID))
            }
            return (account, records)
        }
        return try records.map { record, subscription in
            try signer.storeTransaction(
                record, subscription, appTransactionID: account.appTransactionID, at: now, isFresh: true)
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
