/// `PurchaseClient` under the name seed 000 gives it.
public typealias PaltaPurchases = PurchaseClient
/// `PurchaseClientProtocol` under the name seed 000 gives it.
public typealias PaltaPurchasesProtocol = PurchaseClientProtocol
/// `PurchaseError` under the name of seed 000's system.
public typealias PaymentsError = PurchaseError
/// `RemotePurchasePlugin` under the name of seed 000's system.
public typealias PBPurchasePlugin = RemotePurchasePlugin

/// Names of seed 000's system for what `setAttributes(_:)` and `getProductsAndPricePoints(with:)` do.
extension PurchaseClientProtocol {
    public func setAppsflyerID(_ id: String?) async throws { try await setAttributes([.appsflyerID: id]) }

    public func setAppsflyerAttributes(_ attributes: [String: String]) async throws {
        try await setAttributes(
            attributes.reduce(into: [:]) { $0[PurchaseAttribute(rawValue: $1.key)] = .some($1.value) })
    }

    public func getProducts(with identifiers: [String]) async throws -> Set<Product> {
        try await getProductsAndPricePoints(with: identifiers)
    }
}
