import AppStorePayloads
import Foundation
import HTTPCore
import Primitives
import StoreModel

/// A request of the App Store Server API, taken apart.
struct ServerCall: Sendable {
    let store: SimulatedAppStore
    let query: HTTPQuery
    private let path: PathParameters
    private let request: HTTPRequest

    static let bodyLimit = 64 << 10

    /// Throws `ErrorCode.generalBadRequest` for a query that cannot be read.
    init(_ request: HTTPRequest, _ path: PathParameters, store: SimulatedAppStore) throws {
        guard let query = request.query else { throw AppStoreServerAPI.ErrorCode.generalBadRequest }
        self.store = store
        self.query = query
        self.path = path
        self.request = request
    }

    func text(_ parameter: String) -> String { path[parameter] }

    /// A number of a transaction, or of the purchase of the app. Throws `error` for what no store gives out.
    func number(
        _ parameter: String, else error: AppStoreServerAPI.ErrorCode = .invalidTransactionId
    ) throws(AppStoreServerAPI.ErrorCode) -> Int64 {
        guard let number = Int64(path[parameter]), number > 0, String(number) == path[parameter] else { throw error }
        return number
    }

    /// The one value of an item of the query; `nil` where there is none. Throws `error` for several.
    func single(
        _ item: String, else error: AppStoreServerAPI.ErrorCode
    ) throws(AppStoreServerAPI.ErrorCode) -> String? {
        let values = query.values(item)
        guard values.count <= 1 else { throw error }
        return values.first
    }

    /// The body, a JSON object. Members of another kind than they should have read as absent: each endpoint has errors of
    /// its own for them.
    ///
    /// Throws `ServerRefusal` with status 415 for a body without `Content-Type: application/json`, which Apple's own
    /// clients send, `JSONError`, `HTTPError` (`bodyTooLarge`), `ErrorCode.generalBadRequest`.
    func question<Fields>(as type: AppStorePayload<Fields>.Type) async throws -> AppStorePayload<Fields> {
        guard request.refusalOfMediaType == nil else { throw ServerRefusal(status: 415) }
        guard case .object(let members) = try await request.body.json(upTo: Self.bodyLimit) else {
            throw AppStoreServerAPI.ErrorCode.generalBadRequest
        }
        return AppStorePayload(unchecked: members)
    }
}
