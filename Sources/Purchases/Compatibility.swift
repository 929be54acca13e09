/// `PurchaseClient` under the name seed 000 gives it.
public typealias PaltaPurchases = PurchaseClient
/// `PurchaseClientProtocol` under the name seed 000 gives it.
public typealias PaltaPurchasesProtocol = PurchaseClientProtocol
/// `PurchaseError` under the name of seed 000's system.
public typealias PaymentsError = PurchaseError
/// `RemotePurchasePlugin` under the name of seed 000's system.
public typealias PBPurchasePlugin = RemotePurchasePlugin
