import CurlTransport
import Foundation
import HTTPListener
import Purchases

@main
enum PromoCodes {
    /// The codes of the backend.
    static let store = PromoCodeStore([
        "SUMMER": .init(title: "A summer of filters", feature: "filters", days: 30, uses: 100),
        "FRIEND": .init(title: "Everything, for a friend", feature: "pro", days: nil, uses: 1),
    ])

    static func main() async throws {
        let listener = HTTPListener(handler: PromoCodeBackend(store, key: "pk_promo"))
        let address = try listener.start()
        if CommandLine.arguments.dropFirst() == ["serve"] {
            // Only the backend, until standard input ends.
            FileHandle.standardOutput.write(Data("{\"listening\": \"\(address.url)\"}\n".utf8))
            while readLine() != nil {}
            return await listener.stop()
        }
        let promo = PromoCodePlugin(baseURL: address.url, key: "pk_promo", transport: CurlTransport())
        let client = PurchaseClient()
        try await client.setup(with: [KioskPlugin(), promo], appUserId: .string("customer-1042"))

        for identifier in ["promo.SUMMER", "promo.WINTER"] {
            let products = try await client.getProductsAndPricePoints(with: [identifier])
            print("\(identifier): \(products.first?.localizedTitle ?? "no such code")")
        }
        let purchase = try await client.purchase(Product(productIdentifier: "promo.SUMMER"))
        print("After SUMMER: \(names(purchase.paidFeatures))")

        do {
            _ = try await client.purchase(Product(productIdentifier: "promo.WINTER"))
        } catch {
            print("WINTER: \(error)")
        }

        await listener.stop()
        let offline = try await client.collectPaidFeatures()
        print("Without the backend: \(names(offline.value))")
        for report in offline.reports {
            print("  \(report.pluginName): \(report.didAnswer ? "answered" : "no answer, so the last one is used")")
        }
        await client.close()
    }

    private static func names(_ features: PaidFeatures) -> String {
        features.features.map(\.name).sorted().joined(separator: ", ")
    }
}
