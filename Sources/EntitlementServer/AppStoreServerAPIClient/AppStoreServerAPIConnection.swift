import AppStorePayloads
import Foundation
import HTTPCore
import Primitives
import SignedData
import StoreModel

/// The connection to the App Store over an `HTTPTransport`: authenticates calls, retries them, and converts each
/// failure to an `AppStoreServerAPIError`.
struct AppStoreServerAPIConnection: Sendable {
    /// One call of the API.
    struct Call: Sendable {
        var method: HTTPRequest.Method
        /// The first component of the path.
        var root = "inApps"
        /// The other components of the path, before percent-encoding.
        var path: [String]
        var query: [(String, String)] = []
        var body: JSONValue?
        /// A file in PNG format, for a call without `body`.
        var image: [UInt8]?
        /// Whether the call is idempotent.
        var mayRepeat = true
    }

    private let configuration: AppStoreServerAPIClient.Configuration
    private let transport: any HTTPTransport
    private let tokens: TokenCache

    init(configuration: AppStoreServerAPIClient.Configuration, transport: any HTTPTransport) {
        var configuration = configuration
        while configuration.baseURL.hasSuffix("/") { configuration.baseURL.removeLast() }
        self.configuration = configuration
        self.transport = transport
        tokens = TokenCache(key: configuration.key, clock: configuration.clock)
    }

    /// Sends a call and decodes the response. Throws `AppStoreServerAPIError`, or `CancellationError`.
    func request<Fields>(_ call: Call) async throws -> AppStorePayload<Fields> {
        let (status, body) = try await send(call)
        do {
            return try AppStorePayload(json: try JSONValue(parsing: body, depth: 16))
        } catch {
            throw AppStoreServerAPIError(malformed: error, status: status)
        }
    }

    /// Sends a call, with retries, and returns the successful response.
    @discardableResult
    func send(_ call: Call) async throws -> (status: Int, body: [UInt8]) {
        let url = try url(of: call)
        var attempt = 1
        while true {
            do {
                return try await sendOnce(call, to: url)
            } catch let error as AppStoreServerAPIError {
                guard error.isRetryable, call.mayRepeat || error.hadNoEffect else { throw error }
                let now = configuration.clock.now()
                let pause = configuration.backoff.pause(
                    after: attempt, asked: error.retryAfter.map { .seconds(max(0, $0.timeIntervalSince(now))) },
                    spread: configuration.random())
                guard let pause else { throw error }
                try await configuration.clock.sleep(until: now.addingTimeInterval(pause / .seconds(1)))
                attempt += 1
            }
        }
    }

    private func sendOnce(_ call: Call, to url: String) async throws -> (status: Int, body: [UInt8]) {
        let token = try tokens.token()
        let headers: HTTPHeaders = ["Authorization": "Bearer \(token)", "Accept": "application/json"]
        var request = HTTPRequest(method: call.method, url: url, headers: headers)
        if let body = call.body {
            request = HTTPRequest(method: call.method, url: url, headers: headers, json: body)
        } else if let image = call.image {
            request.headers["Content-Type"] = "image/png"
            request.body = .bytes(image)
        }
        request.timeout = configuration.timeout
        let span = CurrentTrace.send(with: &request)
        let answer: HTTPResponse
        let body: [UInt8]
        var status: Int?
        defer { span?.end(call, status) }
        do {
            answer = try await transport.send(request)
            body = try await answer.body.collect(upTo: configuration.maximumAnswerBytes)
            status = answer.status
        } catch {
            try Task.checkCancellation()
            throw AppStoreServerAPIError(transport: error)
        }
        guard answer.isSuccess else {
            if answer.status == 401 { tokens.remove(token) }
            throw AppStoreServerAPIError(refusal: answer, body: body, token: token, at: configuration.clock.now())
        }
        return (answer.status, body)
    }

    private func url(of call: Call) throws(AppStoreServerAPIError) -> String {
        guard !call.path.contains(where: { ["", ".", ".."].contains($0) }) else {
            throw AppStoreServerAPIError(.notAsked, "An identifier must not be empty, \".\" or \"..\".")
        }
        let path =
            configuration.baseURL + "/\(call.root)/" + call.path.map(PercentEncoding.encode).joined(separator: "/")
        return call.query.isEmpty ? path : "\(path)?\(HTTPQuery(call.query).encoded)"
    }
}

extension OpenSpan {
    /// Ends the span of a call of the App Store. A call without a complete response has no status.
    fileprivate func end(_ call: AppStoreServerAPIConnection.Call, _ status: Int?) {
        // The later components of a path are ids.
        let route = ([call.root] + call.path.prefix(2)).joined(separator: "/")
        var attributes: [(String, Span.Value)] = [
            ("http.request.method", .text(call.method.rawValue)), ("peer.service", .text("App Store")),
        ]
        if let status { attributes.append(("http.response.status_code", .number(status))) }
        end("\(call.method) \(route)", attributes, hasFailed: status.map { $0 >= 400 } ?? true)
    }
}

/// The cached bearer token, which is used until shortly before its expiry.
private final class TokenCache: Sendable {
    private static let lifetime: TimeInterval = 1200
    /// The time before the expiry in which a token is not used: requests take time, and clocks differ.
    private static let margin: TimeInterval = 60

    private let key: AppStoreConnectKey
    private let clock: any WallClock
    private let cached = Locked<(token: String, validity: Range<Date>)?>(nil)

    init(key: AppStoreConnectKey, clock: any WallClock) {
        self.key = key
        self.clock = clock
    }

    /// Returns the token, or signs a new one. Signs outside of the lock: concurrent callers may both sign, which is
    /// harmless.
    func token() throws(AppStoreServerAPIError) -> String {
        let now = clock.now()
        if let cached = cached.withLock({ $0 }), cached.validity.contains(now) { return cached.token }
        do {
            let token = try key.token(at: now, lifetime: Self.lifetime)
            cached.withLock { $0 = (token, now..<now.addingTimeInterval(Self.lifetime - Self.margin)) }
            return token
        } catch {
            throw AppStoreServerAPIError(
                .notAsked, "The bearer token cannot be signed: \(error.reason)", underlying: error)
        }
    }

    /// Removes a token that the App Store refused. The clock may have been wrong when it was signed.
    func remove(_ token: String) {
        cached.withLock { if $0?.token == token { $0 = nil } }
    }
}
