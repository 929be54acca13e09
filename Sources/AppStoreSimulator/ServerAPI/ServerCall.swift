import AppStorePayloads
import Foundation
import HTTPCore
import Primitives
import StoreModel

/// A request to the App Store Server API: its path parameters, query and body.
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

    /// Returns the number of a transaction or an app transaction. Throws `error` for any other value.
    func number(
        _ parameter: String, else error: AppStoreServerAPI.ErrorCode = .invalidTransactionId
    ) throws(AppStoreServerAPI.ErrorCode) -> Int64 {
        guard let number = Int64(path[parameter]), number > 0, String(number) == path[parameter] else { throw error }
        return number
    }

    /// Returns a UUID. Throws `error` for any other value.
    func uuid(
        _ parameter: String, else error: AppStoreServerAPI.ErrorCode = .generalBadRequest
    ) throws(AppStoreServerAPI.ErrorCode) -> UUID {
        guard let id = UUID(text: path[parameter]) else { throw error }
        return id
    }

    /// Returns the value of a query item; `nil` if there is none. Throws `error` for several values.
    func single(
        _ item: String, else error: AppStoreServerAPI.ErrorCode
    ) throws(AppStoreServerAPI.ErrorCode) -> String? {
        let values = query.values(item)
        guard values.count <= 1 else { throw error }
        return values.first
    }

    /// Reads the body, a JSON object. Members of the wrong type count as absent; each endpoint has its own errors for
    /// them.
    ///
    /// Throws `ServerRefusal` with status 415 unless the request has the `Content-Type` that Apple's own clients send:
    /// `application/json`. Also throws `JSONError`, `HTTPError` (`bodyTooLarge`) and `ErrorCode.generalBadRequest`.
    func body<Fields>(as type: AppStorePayload<Fields>.Type) async throws -> AppStorePayload<Fields> {
        guard request.refusalOfMediaType == nil else { throw ServerRefusal(status: 415) }
        guard case .object(let members) = try await request.body.json(upTo: Self.bodyLimit) else {
            throw AppStoreServerAPI.ErrorCode.generalBadRequest
        }
        return AppStorePayload(unchecked: members)
    }

    /// Reads the body, the file of an image.
    ///
    /// Throws `ServerRefusal` with status 415 unless the request has the `Content-Type` that Apple's own clients send:
    /// `image/png`. Also throws `HTTPError` (`bodyTooLarge`).
    func image() async throws -> [UInt8] {
        guard request.headers["Content-Type"]?.lowercased() == "image/png" else { throw ServerRefusal(status: 415) }
        return try await request.body.collect(upTo: UploadedImage.longestFile)
    }
}
