import HTTPCore
import StoreModel

/// The requests to a purchase backend. All are POST with a JSON body; the connection adds `x-api-key`.
enum PaymentsHTTPRequest: Hashable, Sendable {
    case getFeatures(GetFeaturesRequestPayload)
    case getSubscriptions(GetSubscriptionsRequestPayload)
    case getPricePoints(GetPricePointsRequestPayload)

    private var path: String {
        switch self {
        case .getFeatures: "/feature-provisioner/get-features"
        case .getSubscriptions: "/subscriptions-tracker/get-subscriptions"
        case .getPricePoints: "/showcase/get-price-points"
        }
    }

    /// The kind of request, for diagnostics.
    var question: RemoteAnswer.Question {
        switch self {
        case .getFeatures: .features
        case .getSubscriptions: .subscriptions
        case .getPricePoints: .pricePoints
        }
    }

    private func body() throws -> [UInt8] {
        switch self {
        case .getFeatures(let payload): try WireJSON.encode(payload)
        case .getSubscriptions(let payload): try WireJSON.encode(payload)
        case .getPricePoints(let payload): try WireJSON.encode(payload)
        }
    }

    /// Returns the HTTP request, with a path below the backend's base URL.
    func httpRequest(environment: StoreEnvironment?) throws -> HTTPRequest {
        var headers: HTTPHeaders = ["Content-Type": "application/json"]
        if let environment { headers.add("Souk-Environment", environment.rawValue) }
        return HTTPRequest(method: .post, url: path, headers: headers, body: .bytes(try body()))
    }
}
