import HTTPCore
import Primitives
import StoreModel

extension RemoteStoreConnection.Configuration {
    /// Takes over a promoted purchase from the store; returns `nil` if another device was faster.
    func take(_ promoted: PromotedPurchase, at device: String) async throws -> PromotedPurchase? {
        let path = "\(device)/promoted-purchases/\(PercentEncoding.encode(promoted.productID.rawValue))"
        do {
            return try await send(.post, path, nil, as: PromotedPurchase.self, timeout: timeout)
        } catch let failure as StoreFailure where failure.code == .unknownPromotedPurchase {
            return nil
        }
    }

    /// Sends a request, and returns its decoded response. Throws `StoreFailure` and `CancellationError`.
    func send<Answer: Decodable>(
        _ method: HTTPRequest.Method, _ path: String, _ body: (any Encodable & Sendable)?, as type: Answer.Type,
        timeout: Duration
    ) async throws -> Answer {
        var request = HTTPRequest(method: method, url: "\(url)/store/v1\(path)", timeout: timeout)
        if let body {
            request.headers["Content-Type"] = "application/json"
            request.body = .bytes(try WireJSON.encode(body))
        }
        let status: Int
        let bytes: [UInt8]
        do {
            let response = try await transport.send(request)
            status = response.status
            bytes = try await response.body.collect(upTo: 16 << 20)
        } catch let error as HTTPError where error.code == .cancelled {
            throw CancellationError()
        } catch let error as CancellationError {
            throw error
        } catch {
            throw StoreFailure(code: .unreachable, reason: "The store cannot be reached at \(url): \(error)")
        }
        guard (200..<300).contains(status) else {
            let problem = HTTPProblem(parsing: bytes)
            throw StoreFailure(
                code: problem.map { .init(rawValue: $0.code) } ?? .unknown,
                reason: problem?.detail ?? "The store answered with status \(status).")
        }
        do {
            return try WireJSON.decode(type, from: bytes)
        } catch {
            throw StoreFailure(code: .unknown, reason: "The store's response has an unexpected form: \(error)")
        }
    }
}

extension StoreFailure.Code {
    fileprivate static var unknownPromotedPurchase: Self { Self(rawValue: "unknownPromotedPurchase") }
}
