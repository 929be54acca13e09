import Foundation

/// The result of a successful purchase.
public struct SuccessfulPurchase: Sendable {
    /// The store's transaction, if the seller has transactions.
    public var transaction: StoreTransaction?
    /// The features that the customer has paid for after the purchase.
    public var paidFeatures: PaidFeatures
    /// Whether the server has not acknowledged the purchase yet. The device has verified it, and access is provisional.
    /// The SDK presents the purchase again automatically.
    public var isPendingAcknowledgement: Bool

    /// Creates a result.
    ///
    /// - Parameters:
    ///   - transaction: The store's transaction, if the seller has transactions.
    ///   - paidFeatures: The features that the customer has paid for after the purchase.
    ///   - isPendingAcknowledgement: Whether the server has not acknowledged the purchase yet.
    public init(
        transaction: StoreTransaction? = nil, paidFeatures: PaidFeatures, isPendingAcknowledgement: Bool = false
    ) {
        self.transaction = transaction
        self.paidFeatures = paidFeatures
        self.isPendingAcknowledgement = isPendingAcknowledgement
    }
}

/// The result of a restore.
public struct RestoreResult: Sendable {
    /// The identifiers of the restored products, without duplicates.
    public var restored: [String]
    /// The features that the customer has paid for after the restore.
    public var paidFeatures: PaidFeatures
    /// Whether all plugins answered and none had a purchase.
    public var nothingToRestore: Bool
    /// The results of the plugins in the order of their registration, from a purchase client. A plugin leaves the array
    /// empty.
    public var reports: [PluginReport]

    /// Creates a result.
    ///
    /// - Parameters:
    ///   - restored: The identifiers of the restored products, without duplicates.
    ///   - paidFeatures: The features that the customer has paid for after the restore.
    ///   - nothingToRestore: Whether all plugins answered and none had a purchase.
    ///   - reports: The results of the plugins in the order of their registration.
    public init(
        restored: [String], paidFeatures: PaidFeatures, nothingToRestore: Bool, reports: [PluginReport] = []
    ) {
        self.restored = restored
        self.paidFeatures = paidFeatures
        self.nothingToRestore = nothingToRestore
        self.reports = reports
    }
}
