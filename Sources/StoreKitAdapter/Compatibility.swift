/// The seed's names for what stands in this module.
public typealias ResponseError = ProductRequestError
public typealias ResultType = PurchaseOutcome
public typealias InAppProductQueryRequest = ProductRequest
public typealias InAppProductPurchaseRequest = PaymentQueue
