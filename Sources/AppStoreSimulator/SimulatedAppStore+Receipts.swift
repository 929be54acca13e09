import Foundation
import SignedData
import StoreModel

extension SimulatedAppStore {
    /// Returns the app receipt of a device: all purchases of the account except finished consumables.
    ///
    /// Only the signature differs between two receipts while the purchases do not change and no time passes.
    ///
    /// - Parameter id: The device.
    /// - Returns: The receipt as PKCS #7 in DER.
    /// - Throws: `SimulatorError` (`unknownDevice`; `tooManyTransactions` for more than ``transactionLimit``).
    public func receipt(of id: DeviceID) async throws -> [UInt8] {
        let (device, content) = try read({ try $0.existingDevice(id).account }) { db, account, now in
            (try db.existingDevice(id), try ReceiptContent(db, account, at: now))
        }
        var receipt = content.receipt(of: configuration)
        receipt.opaqueValue = device.binding?.opaqueValue ?? []
        return try receiptSigner.sign(receipt, for: device.binding.map { DeviceIdentifier($0.device) })
    }
}

/// The transactions for the receipts of an account at an instant.
struct ReceiptContent {
    let account: SimulatorDatabase.Account
    let now: Date
    /// All transactions, in the order of their purchase.
    let history: [(transaction: TransactionRecord, state: SubscriptionState?)]
    /// The transactions in a receipt that is made now: all but the finished consumables.
    let current: [(transaction: TransactionRecord, state: SubscriptionState?)]

    init(_ db: SimulatorDatabase, _ account: SimulatorDatabase.Account, at now: Date) throws {
        self.account = account
        self.now = now
        history = try db.transactions(of: account.id, at: now)
        let open = Set(try db.unfinishedPurchases(of: account.id, at: now).map(\.id))
        current = history.filter { $0.transaction.kind != .consumable || open.contains($0.transaction.id) }
    }

    /// Creates a receipt that is not yet bound to a device.
    func receipt(of configuration: SimulatedAppStore.Configuration) -> AppReceipt {
        AppReceipt(
            receiptType: "ProductionSandbox", bundleID: configuration.bundleID,
            appVersion: configuration.applicationVersion,
            originalAppVersion: SimulatedAppStore.originalApplicationVersion, creationDate: now.wholeSeconds,
            inAppPurchases: current.map { AppReceipt.InAppPurchase($0.transaction) },
            otherAttributes: [
                // The ids of the app, its download and its version are 0 in the sandbox.
                .init(type: 1, integer: 0), .init(type: 15, integer: 0), .init(type: 16, integer: 0),
                .init(type: 8, date: now.wholeSeconds), .init(type: 18, date: account.createdAt.wholeSeconds),
                .init(type: AppReceipt.accountAttribute, text: account.appTransactionID),
            ])
    }
}

extension AppReceipt {
    /// The type of an attribute that only the store reads.
    ///
    /// In Apple's receipts, the attribute has undocumented octets. In the simulator's receipts, it has the app
    /// transaction id of the account, so that a receipt identifies its account before anything was bought, and after the
    /// device was moved.
    static let accountAttribute = 7

    /// The app transaction id of the receipt's account.
    var appTransactionID: String? { otherAttributes.first { $0.type == Self.accountAttribute }?.textValue }
}

extension AppReceipt.InAppPurchase {
    /// Creates the receipt's form of a transaction. Fields that do not apply are empty, as in the App Store's receipts.
    init(_ record: TransactionRecord) {
        let offer = record.offer
        self.init(
            quantity: record.quantity, productID: record.productID, transactionID: record.transactionID,
            purchaseDate: record.purchaseDate.wholeSeconds, originalTransactionID: record.originalTransactionID,
            originalPurchaseDate: record.originalPurchaseDate.wholeSeconds, productType: record.kind,
            expiresDate: record.expiresDate?.wholeSeconds,
            webOrderLineItemID: record.webOrderLineItemID.map { "\($0)" } ?? "0",
            // An upgrade refunds the rest of the period.
            cancellationDate: (record.revocation?.at ?? record.upgradedAt)?.wholeSeconds,
            isTrialPeriod: offer?.kind == .introductory && offer?.paymentMode == .freeTrial,
            isInIntroOfferPeriod: offer?.kind == .introductory && offer?.paymentMode != .freeTrial,
            promotionalOfferID: offer?.kind == .promotional ? offer?.id : nil)
        if expiresDate == nil { otherAttributes.append(.init(type: 1708, value: Self.noDate)) }
        if cancellationDate == nil { otherAttributes.append(.init(type: 1712, value: Self.noDate)) }
    }

    /// An empty IA5String.
    private static let noDate: ArraySlice<UInt8> = [0x16, 0x00]
}

extension Date {
    /// The date in whole seconds, as in receipts.
    fileprivate var wholeSeconds: Date { Date(timeIntervalSince1970: timeIntervalSince1970.rounded(.down)) }
}
