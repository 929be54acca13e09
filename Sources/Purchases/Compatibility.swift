/// An earlier name of `PurchaseClient`.
public typealias PaltaPurchases = PurchaseClient
/// An earlier name of `PurchaseClientProtocol`.
public typealias PaltaPurchasesProtocol = PurchaseClientProtocol
/// An earlier name of `PurchaseError`.
public typealias PaymentsError = PurchaseError
/// An earlier name of `RemotePurchasePlugin`.
public typealias PBPurchasePlugin = RemotePurchasePlugin

extension PurchaseClientProtocol {
    /// Sets the attribute `appsflyerID`.
    ///
    /// - Parameter id: The device's id at AppsFlyer, or `nil` to remove it.
    /// - Throws: `PurchaseError` with the code `notSetUp`.
    public func setAppsflyerID(_ id: String?) async throws { try await setAttributes([.appsflyerID: id]) }

    /// Sets attributes of AppsFlyer.
    ///
    /// - Parameter attributes: The values by name.
    /// - Throws: `PurchaseError` with the code `notSetUp`.
    public func setAppsflyerAttributes(_ attributes: [String: String]) async throws {
        try await setAttributes(
            attributes.reduce(into: [:]) { $0[PurchaseAttribute(rawValue: $1.key)] = .some($1.value) })
    }

    /// Returns products, like `getProductsAndPricePoints(with:)`.
    ///
    /// - Parameter identifiers: The identifiers of the products.
    /// - Returns: The products that the plugins sell.
    /// - Throws: The first error of a plugin, or `PurchaseError` with the code `notSetUp`.
    public func getProducts(with identifiers: [String]) async throws -> Set<Product> {
        try await getProductsAndPricePoints(with: identifiers)
    }
}

/// The former name of `PromotedPurchaseRequest`.
@available(*, deprecated, renamed: "PromotedPurchaseRequest")
public typealias BegunPurchase = PromotedPurchaseRequest
