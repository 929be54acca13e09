import Foundation
import HTTPCore
import Primitives
import Purchases

/// A purchase plugin for promotional codes: a code is a free product, and buying the product redeems the code.
final class PromoCodePlugin: PurchasePlugin {
    let name = "promo"
    private let service: PromoCodeService
    private let clock: any WallClock
    private let customer = Locked<CustomerID?>(nil)

    init(baseURL: String, key: String, transport: any HTTPTransport, clock: any WallClock = SystemClock()) {
        service = PromoCodeService(baseURL: baseURL, key: key, transport: transport)
        self.clock = clock
    }

    func logIn(appUserId: UserId) async throws {
        guard let id = appUserId.customerID else {
            throw PurchaseError(.validationError, "A user id must have 1 to 255 bytes and no control characters.")
        }
        customer.withLock { $0 = id }
    }

    func logOut() async { customer.withLock { $0 = nil } }

    func getFeatures() async throws -> Features {
        Features(features: try await redemptions().map { Feature($0) })
    }

    func getPaidFeatures() async throws -> PaidFeatures {
        PaidFeatures(features: try await redemptions().map { PaidFeature($0) })
    }

    func getProductsAndPricePoints(with identifiers: [String]) async throws -> Set<Product> {
        var products: Set<Product> = []
        for code in identifiers.compactMap(PromoCode.init(productIdentifier:)) {
            if let description = try await service.describe(code.code) { products.insert(Product(description)) }
        }
        return products
    }

    func purchase(
        _ product: Product, with promoOffer: PromoOffer?
    ) async -> PurchasePluginResult<SuccessfulPurchase, any Error> {
        guard let code = PromoCode(productIdentifier: product.productIdentifier) else { return .notSupported }
        return await PurchasePluginResult {
            let redemption = try await service.redeem(code.code, for: try loggedIn())
            return SuccessfulPurchase(paidFeatures: PaidFeatures(features: [PaidFeature(redemption)]))
        }
    }

    func restorePurchases() async throws -> RestoreResult {
        let features = try await getPaidFeatures()
        let active = features.activeFeatures(at: clock.now())
        return RestoreResult(
            restored: active.compactMap(\.productIdentifier), paidFeatures: features,
            nothingToRestore: active.isEmpty)
    }

    private func redemptions() async throws -> [Redemption] { try await service.redemptions(of: try loggedIn()) }

    private func loggedIn() throws -> CustomerID {
        guard let customer = customer.withLock({ $0 }) else { throw PurchaseError(.noUserId) }
        return customer
    }
}
