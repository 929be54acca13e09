/// An earlier name of ``ProductRequestError``.
public typealias ResponseError = ProductRequestError
/// An earlier name of ``PurchaseOutcome``.
public typealias ResultType = PurchaseOutcome
/// An earlier name of ``ProductRequest``.
public typealias InAppProductQueryRequest = ProductRequest
/// An earlier name of ``PaymentQueue``.
public typealias InAppProductPurchaseRequest = PaymentQueue
