import AppStorePayloads
import Foundation
import StoreModel

extension PurchaseHistory {
    /// What verified documents say was bought. Records that several of them have in common are counted once.
    public init(receipts: [VerifiedReceipt] = [], transactions: [Verified<JWSTransactionDecodedPayload>] = []) {
        self.init(
            receipts.flatMap(\.receipt.purchaseRecords) + transactions.compactMap { PurchaseRecord($0.payload) })
    }
}
