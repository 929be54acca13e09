import Purchases

/// A minimal plugin with one purchase. It uses the defaults of all other requirements.
final class KioskPlugin: PurchasePlugin {
    let name = "kiosk"

    func getPaidFeatures() async throws -> PaidFeatures {
        PaidFeatures(features: [PaidFeature(name: "postcards", originalTransactionID: "receipt-7")])
    }
}
