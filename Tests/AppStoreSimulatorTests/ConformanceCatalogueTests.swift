import Foundation
import StoreModel
import Testing

@testable import AppStoreSimulator

/// Catalogues that were not written for this project, in the folder that `SOUK_CONFORMANCE` names.
struct ConformanceCatalogueTests {
    static let folder = ProcessInfo.processInfo.environment["SOUK_CONFORMANCE"]

    static func catalogues() throws -> [Catalogue] {
        let folder = try #require(folder) + "/storekit"
        let names = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".storekit") }
        try #require(!names.isEmpty, "There is no catalogue in \(folder).")
        return try names.sorted().map { name in
            let bytes = try Data(contentsOf: URL(fileURLWithPath: "\(folder)/\(name)"))
            return try Catalogue(parsing: Array(bytes), file: name)
        }
    }

    @Test(.enabled(if: folder != nil, "SOUK_CONFORMANCE names no folder"))
    func `every catalogue is read, priced and named`() throws {
        for catalogue in try Self.catalogues() {
            #expect(!catalogue.items.isEmpty)
            for product in catalogue.storeProducts {
                #expect(!product.displayPrice.isEmpty && !product.displayName.isEmpty)
                #expect((product.kind == .autoRenewableSubscription) == (product.subscription != nil))
            }
            #expect(catalogue.productList.arrayValue?.count == catalogue.items.count)
        }
    }

    @Test(.enabled(if: folder != nil, "SOUK_CONFORMANCE names no folder"))
    func `the known catalogues have the products, prices and offers of their files`() throws {
        let items = try Self.catalogues().flatMap(\.items)
        func item(_ id: ProductID) throws -> CatalogueItem { try #require(items.first { $0.id == id }) }

        let trial = try item("com.mercato.tests.subscription.weekly.trial")
        #expect(trial.subscription?.introductoryOffer == Offer(paymentMode: .freeTrial, period: .days(3)))
        #expect(trial.subscription?.level == 3 && trial.subscription?.groupID == "TRIAL_GROUP")
        #expect(try item("com.mercato.tests.nonrenewing.year").kind == .nonRenewingSubscription)
        let full = try item("com.flare.monthly_0.99.1_week_intro")
        #expect(full.subscription?.introductoryOffer?.paymentMode == .payUpFront)
        #expect(full.subscription?.promotionalOffers.count == 3 && full.offerCodes.count == 1)
        #expect(
            try item("com.revenuecat.simpleapp.monthly").localization(for: "es_MX")?.displayName
                == "Subscripción Mensual")
    }
}
