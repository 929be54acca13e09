/// `Store` under the name seed 001 gives it.
public typealias BZRStore = Store
/// `StoreConfiguration` under the name seed 001 gives it.
public typealias BZRStoreConfiguration = StoreConfiguration
/// `ProductsInfoProvider` under the name seed 001 gives it.
public typealias BZRProductsInfoProvider = ProductsInfoProvider
/// `ProductsManager` under the name seed 001 gives it.
public typealias BZRProductsManager = ProductsManager
