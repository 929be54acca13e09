import Foundation
import Purchases

/// A purchase plugin: every customer owns the yearbook.
final class YearbookPlugin: PurchasePlugin {
    let name = "yearbook"

    func getPaidFeatures() async throws -> PaidFeatures { PaidFeatures(features: [PaidFeature(name: "yearbook")]) }
}

/// Sets up a purchase client with the yearbook plugin only.
@main
enum CustomPlugin {
    static func main() async throws {
        let client = PurchaseClient()
        try await client.setup(with: [YearbookPlugin()], appUserId: .string("ada"))
        let owned = try await client.getPaidFeatures()
        print("yearbook: \(owned.hasActiveFeature(with: "yearbook"))")
        do {
            _ = try await client.purchase(Product(productIdentifier: "com.example.darkroom.filmpack"))
            exit(1)
        } catch let error as PurchaseError where error.code == .noSuitablePlugin {
            print("no plugin sells it: \(error)")
        }
        exit(owned.hasActiveFeature(with: "yearbook") ? 0 : 1)
    }
}
