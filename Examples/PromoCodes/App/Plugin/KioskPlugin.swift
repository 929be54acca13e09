import Purchases

/// The smallest plugin there is: somebody who sold one thing, once. All it does not say has a default.
final class KioskPlugin: PurchasePlugin {
    let name = "kiosk"

    func getPaidFeatures() async throws -> PaidFeatures {
        PaidFeatures(features: [PaidFeature(name: "postcards", originalTransactionID: "receipt-7")])
    }
}
