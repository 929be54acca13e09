import InAppStore
import Purchases

func sellPlus() async throws {
    let store = try Store(configuration: StoreConfiguration(productListPath: "products.json"))
    let client = PurchaseClient()
    try await client.setup(with: [InAppStorePurchasePlugin(store: store)], appUserId: .string("customer-1042"))

    let products = try await client.getProductsAndPricePoints(with: ["com.example.darkroom.plus.monthly"])
    guard let plus = products.first else { return }
    print("\(plus.localizedTitle): \(plus.price) \(plus.currencyCode)")

    let purchase = try await client.purchase(plus)
    if purchase.paidFeatures.hasActiveFeature(with: "plus") { print("every filter is yours") }
}
