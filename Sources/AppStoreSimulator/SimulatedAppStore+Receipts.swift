import Foundation
import SignedData
import StoreModel

extension SimulatedAppStore {
    /// The device's app receipt as it is now, PKCS #7 in DER: everything the account has bought but for consumables that
    /// were delivered. The same but for the signature as long as nothing is bought and no time passes.
    ///
    /// Throws `unknownDevice`.
    public func receipt(of id: DeviceID) async throws -> [UInt8] {
        let (device, transactions, now) = try look({ try $0.known(id).account }) { books, account, now in
            let all = try books.transactions(of: account.id, at: now).map(\.0)
            let open = Set(try books.unfinishedPurchases(of: account.id, at: now).map(\.id))
            return (try books.known(id), all.filter { $0.kind != .consumable || open.contains($0.id) }, now)
        }
        let receipt = AppReceipt(
            receiptType: "ProductionSandbox", bundleID: configuration.bundleID,
            appVersion: configuration.applicationVersion, originalAppVersion: Self.originalApplicationVersion,
            creationDate: now.wholeSeconds, opaqueValue: device.stamp?.opaqueValue ?? [],
            inAppPurchases: transactions.map(AppReceipt.InAppPurchase.init))
        return try receiptSigner.sign(receipt, for: device.stamp.map { DeviceIdentifier($0.device) })
    }
}

extension AppReceipt.InAppPurchase {
    /// A transaction as a receipt has it. What does not apply is written empty, as the App Store does.
    init(_ record: TransactionRecord) {
        let offer = record.offer
        self.init(
            quantity: record.quantity, productID: record.productID, transactionID: record.transactionID,
            purchaseDate: record.purchaseDate.wholeSeconds, originalTransactionID: record.originalTransactionID,
            originalPurchaseDate: record.originalPurchaseDate.wholeSeconds, productType: Self.types[record.kind],
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

    private static let types: [StoreProduct.Kind: AppReceipt.ProductType] = [
        .nonConsumable: .nonConsumable, .consumable: .consumable,
        .nonRenewingSubscription: .nonRenewingSubscription, .autoRenewableSubscription: .autoRenewableSubscription,
    ]
}

extension Date {
    /// Receipts have no fractions of seconds.
    fileprivate var wholeSeconds: Date { Date(timeIntervalSince1970: timeIntervalSince1970.rounded(.down)) }
}
