import Purchases

/// `Store` under the name seed 001 gives it.
public typealias BZRStore = Store
/// `StoreConfiguration` under the name seed 001 gives it.
public typealias BZRStoreConfiguration = StoreConfiguration
/// `ProductsInfoProvider` under the name seed 001 gives it.
public typealias BZRProductsInfoProvider = ProductsInfoProvider
/// `ProductsManager` under the name seed 001 gives it.
public typealias BZRProductsManager = ProductsManager
/// The type of error of earlier releases.
@available(*, deprecated, renamed: "PurchaseError")
public typealias StoreError = PurchaseError

extension PurchaseError {
    /// The reason, under its name of earlier releases.
    @available(*, deprecated, renamed: "reason")
    public var sentence: String { reason }
}
