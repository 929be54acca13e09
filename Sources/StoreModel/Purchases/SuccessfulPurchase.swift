import Foundation

/// A purchase that went through.
public struct SuccessfulPurchase: Sendable {
    /// The store's transaction, where the seller has one.
    public var transaction: StoreTransaction?
    public var paidFeatures: PaidFeatures
    /// Paid and verified on this device, but not yet acknowledged by the server: access is provisional, and the purchase
    /// is presented again by itself.
    public var isPendingAcknowledgement: Bool

    public init(
        transaction: StoreTransaction? = nil, paidFeatures: PaidFeatures, isPendingAcknowledgement: Bool = false
    ) {
        self.transaction = transaction
        self.paidFeatures = paidFeatures
        self.isPendingAcknowledgement = isPendingAcknowledgement
    }
}

/// What restoring brought back.
public struct RestoreResult: Sendable {
    /// The products, each once.
    public var restored: [String]
    public var paidFeatures: PaidFeatures
    /// Everybody answered and had nothing.
    public var nothingToRestore: Bool
    /// One per plugin, in registration order, when several were asked.
    public var reports: [PluginReport]

    public init(
        restored: [String], paidFeatures: PaidFeatures, nothingToRestore: Bool, reports: [PluginReport] = []
    ) {
        self.restored = restored
        self.paidFeatures = paidFeatures
        self.nothingToRestore = nothingToRestore
        self.reports = reports
    }
}
