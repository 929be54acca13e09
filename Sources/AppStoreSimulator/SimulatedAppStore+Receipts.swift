import Foundation
import SignedData
import StoreModel

extension SimulatedAppStore {
    /// The device's app receipt as it is now, PKCS #7 in DER: everything the account has bought but for consumables that
    /// were delivered. The same but for the signature as long as nothing is bought and no time passes.
    ///
    /// Throws `unknownDevice`, and `tooManyTransactions` where the account has more than `transactionLimit`.
    public func receipt(of id: DeviceID) async throws -> [UInt8] {
        let (device, content) = try read({ try $0.known(id).account }) { db, account, now in
            (try db.known(id), try ReceiptContent(db, account, at: now))
        }
        var receipt = content.receipt(of: configuration)
        receipt.opaqueValue = device.stamp?.opaqueValue ?? []
        return try receiptSigner.sign(receipt, for: device.stamp.map { DeviceIdentifier($0.device) })
    }
}

/// What receipts say of an account at an instant.
struct ReceiptContent {
    let account: SimulatorDatabase.Account
    let now: Date
    /// Everything that was ever bought, in the order in which it was.
    let history: [(transaction: TransactionRecord, state: SubscriptionState?)]
    /// What a receipt made now holds of it: all but the consumables that were delivered.
    let current: [(transaction: TransactionRecord, state: SubscriptionState?)]

    init(_ db: SimulatorDatabase, _ account: SimulatorDatabase.Account, at now: Date) throws {
        self.account = account
        self.now = now
        history = try db.transactions(of: account.id, at: now)
        let open = Set(try db.unfinishedPurchases(of: account.id, at: now).map(\.id))
        current = history.filter { $0.transaction.kind != .consumable || open.contains($0.transaction.id) }
    }

    /// A receipt made now, bound to no device yet.
    func receipt(of configuration: SimulatedAppStore.Configuration) -> AppReceipt {
        AppReceipt(
            receiptType: "ProductionSandbox", bundleID: configuration.bundleID,
            appVersion: configuration.applicationVersion,
            originalAppVersion: SimulatedAppStore.originalApplicationVersion, creationDate: now.wholeSeconds,
            inAppPurchases: current.map { AppReceipt.InAppPurchase($0.transaction) },
            otherAttributes: [
                // The numbers of the app, its download and its version are 0 in the sandbox.
                .init(type: 1, integer: 0), .init(type: 15, integer: 0), .init(type: 16, integer: 0),
                .init(type: 8, date: now.wholeSeconds), .init(type: 18, date: account.createdAt.wholeSeconds),
                .init(type: AppReceipt.accountAttribute, text: account.appTransactionID),
            ])
    }
}

extension AppReceipt {
    /// What only the store reads in its receipts. Apple's have octets there that nobody else understands, this store's the
    /// account's app transaction id: a receipt says whose it is before anything was bought, and whoever has the device now.
    static let accountAttribute = 7

    /// The app transaction id of the account that the store made it for.
    var appTransactionID: String? { otherAttributes.first { $0.type == Self.accountAttribute }?.textValue }
}

extension AppReceipt.InAppPurchase {
    /// A transaction as a receipt has it. What does not apply is written empty, as the App Store does.
    init(_ record: TransactionRecord) {
        let offer = record.offer
        self.init(
            quantity: record.quantity, productID: record.productID, transactionID: record.transactionID,
            purchaseDate: record.purchaseDate.wholeSeconds, originalTransactionID: record.originalTransactionID,
            originalPurchaseDate: record.originalPurchaseDate.wholeSeconds, productType: record.kind,
            expiresDate: record.expiresDate?.wholeSeconds,
            webOrderLineItemID: record.webOrderLineItemID.map { "\($0)" } ?? "0",
            // Who upgrades has the rest of the period given back.
            cancellationDate: (record.revocation?.at ?? record.upgradedAt)?.wholeSeconds,
            isTrialPeriod: offer?.kind == .introductory && offer?.paymentMode == .freeTrial,
            isInIntroOfferPeriod: offer?.kind == .introductory && offer?.paymentMode != .freeTrial,
            promotionalOfferID: offer?.kind == .promotional ? offer?.id : nil)
        if expiresDate == nil { otherAttributes.append(.init(type: 1708, value: Self.noDate)) }
        if cancellationDate == nil { otherAttributes.append(.init(type: 1712, value: Self.noDate)) }
    }

    /// An IA5String of nothing.
    private static let noDate: ArraySlice<UInt8> = [0x16, 0x00]
}

extension Date {
    /// Receipts have no fractions of seconds.
    fileprivate var wholeSeconds: Date { Date(timeIntervalSince1970: timeIntervalSince1970.rounded(.down)) }
}
