import Purchases

/// An earlier name of ``Store``.
public typealias BZRStore = Store
/// An earlier name of ``StoreConfiguration``.
public typealias BZRStoreConfiguration = StoreConfiguration
/// An earlier name of ``ProductsInfoProvider``.
public typealias BZRProductsInfoProvider = ProductsInfoProvider
/// An earlier name of ``ProductsManager``.
public typealias BZRProductsManager = ProductsManager
/// The error type of earlier releases.
@available(*, deprecated, renamed: "PurchaseError")
public typealias StoreError = PurchaseError

extension PurchaseError {
    /// The earlier name of `reason`.
    @available(*, deprecated, renamed: "reason")
    public var sentence: String { reason }
}
