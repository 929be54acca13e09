extension Deliveries {
    /// A verdict, with the error for the callers.
    enum Ending {
        case acknowledged
        case rejected(PaymentError)
        case held(PaymentError)
        /// The transaction is delivered again later.
        case pending(PaymentError)
    }
}

extension Deliveries.Ending {
    init(_ verdict: DeliveryVerdict) {
        switch verdict {
        case .acknowledged: self = .acknowledged
        case .rejected(let error):
            self = .rejected(
                PaymentError(
                    .rejected, "The purchase was rejected and stays unfinished.", underlying: error))
        case .held(let error):
            self = .held(
                PaymentError(
                    .acknowledgementPending, "The purchase is paid. It is delivered when its customer logs in.",
                    underlying: error))
        case .unavailable(let error):
            self = .pending(
                PaymentError(
                    .acknowledgementPending,
                    "The purchase is paid. It is acknowledged when the server is reachable.", underlying: error))
        }
    }

    /// Whether, until the next launch, the transaction is delivered again only on request or when the customer changes.
    var isRefusal: Bool {
        switch self {
        case .rejected, .held: true
        case .acknowledged, .pending: false
        }
    }

    var failure: PaymentError? {
        switch self {
        case .acknowledged: nil
        case .rejected(let error), .held(let error), .pending(let error): error
        }
    }
}
