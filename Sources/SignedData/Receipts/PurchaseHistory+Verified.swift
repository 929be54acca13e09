import AppStorePayloads
import Foundation
import StoreModel

extension PurchaseHistory {
    /// Creates a history from verified documents. Records that occur in several documents count once.
    ///
    /// - Parameters:
    ///   - receipts: The verified receipts.
    ///   - transactions: The payloads of verified transactions.
    public init(receipts: [VerifiedReceipt] = [], transactions: [Verified<JWSTransactionDecodedPayload>] = []) {
        self.init(
            receipts.flatMap(\.receipt.purchaseRecords) + transactions.compactMap { PurchaseRecord($0.payload) })
    }
}
