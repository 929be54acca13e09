import Foundation
import GooglePlay
import HTTPCore
import Primitives
import SignedData
import StoreModel

/// The connection to Google Play over an `HTTPTransport`: gets access tokens, retries calls, and converts each failure
/// to a `GooglePlayFailure`.
struct GooglePlayConnection: Sendable {
    /// One call of the API.
    struct Call: Sendable {
        /// The id of Google's method, for traces.
        let id: String
        var method = HTTPRequest.Method.get
        /// The path after the package name, before percent-encoding.
        var path: [String]
        /// The verb after the colon of the last segment.
        var verb: String?
        var query: [(String, String)] = []
        /// The body of a POST. A GET has none.
        var body: JSONValue = [:]
        /// The purchase token in the path. Errors do not contain it.
        var token: PurchaseToken?
        /// A credential in the body. Errors do not contain it.
        var secret: String?
    }

    /// An access token, and the time in which it is used.
    private struct AccessToken: Sendable {
        let text: String
        let validity: Range<Date>
    }

    /// The time before the expiry in which an access token is not used: requests take time, and clocks differ.
    private static let margin: TimeInterval = 60
    /// The longest time for which an access token is used, whatever its expiry says.
    private static let longestUse: TimeInterval = 86_400

    private let configuration: GooglePlayClient.Configuration
    private let transport: any HTTPTransport
    private let accessToken = SharedValue<AccessToken>()

    init(configuration: GooglePlayClient.Configuration, transport: any HTTPTransport) {
        var configuration = configuration
        while configuration.baseURL.hasSuffix("/") { configuration.baseURL.removeLast() }
        self.configuration = configuration
        self.transport = transport
    }

    /// Sends a call, with retries, and returns the JSON of the answer; `null` if it has no body.
    ///
    /// Throws `GooglePlayFailure`, or `CancellationError`.
    @discardableResult
    func send(_ call: Call) async throws -> JSONValue {
        let url = try url(of: call)
        var attempt = 1
        var mayGetToken = true
        while true {
            do {
                let token = try await currentAccessToken()
                // A bare `nil` would be JSON's null here.
                let (answer, body) = try await exchange(
                    HTTPRequest(method: call.method, url: url, headers: ["Authorization": "Bearer \(token.text)"]),
                    json: call.method == .post ? .some(call.body) : .none, as: call.id)
                if answer.isSuccess {
                    guard !body.isEmpty else { return .null }
                    guard let json = try? JSONValue(parsing: body, depth: 16) else {
                        throw GooglePlayFailure(malformed: "answer")
                    }
                    return json
                }
                if answer.status == 401 {
                    // The token may have been revoked, or expired by Google's clock.
                    accessToken.remove { $0.text == token.text }
                    if mayGetToken {
                        mayGetToken = false
                        continue
                    }
                }
                throw GooglePlayFailure(
                    refusal: answer, body: body, isRead: call.method == .get && call.token != nil,
                    without: [token.text] + [call.token?.rawValue, call.secret].compactMap(\.self),
                    at: configuration.clock.now())
            } catch let failure as GooglePlayFailure where failure.isBrief {
                let pause = configuration.backoff.pause(
                    after: attempt, asked: failure.retryAfter.map { .seconds($0) }, spread: configuration.random())
                guard let pause else { throw failure }
                try await configuration.clock.sleep(
                    until: configuration.clock.now().addingTimeInterval(pause / .seconds(1)))
                attempt += 1
            }
        }
    }

    private func exchange(
        _ request: HTTPRequest, json: JSONValue?, as name: String
    ) async throws -> (answer: HTTPResponse, body: [UInt8]) {
        var request = request
        request.headers["Accept"] = "application/json"
        if let json {
            request.headers["Content-Type"] = "application/json"
            request.body = .json(json)
        }
        request.timeout = configuration.timeout
        let span = CurrentTrace.send(with: &request)
        var status: Int?
        defer { span?.end(name, request.method, status) }
        do {
            let answer = try await transport.send(request)
            let body = try await answer.body.collect(upTo: configuration.maximumAnswerBytes)
            status = answer.status
            return (answer, body)
        } catch {
            try Task.checkCancellation()
            throw GooglePlayFailure(transport: error)
        }
    }

    private func url(of call: Call) throws(GooglePlayFailure) -> String {
        guard !call.path.contains(where: { ["", ".", ".."].contains($0) }) else {
            throw GooglePlayFailure(.refused, "An identifier must not be empty, \".\" or \"..\".")
        }
        let segments = ["androidpublisher", "v3", "applications", configuration.packageName.rawValue] + call.path
        var url = configuration.baseURL + "/" + segments.map(PercentEncoding.encode).joined(separator: "/")
        if let verb = call.verb { url += ":" + verb }
        return call.query.isEmpty ? url : "\(url)?\(HTTPQuery(call.query).encoded)"
    }

    // MARK: - Access tokens

    private func currentAccessToken() async throws -> AccessToken {
        let now = configuration.clock.now()
        return try await accessToken.value(where: { $0.validity.contains(now) }, request: requestAccessToken)
    }

    /// Exchanges an assertion of the service account for an access token (RFC 7523).
    private func requestAccessToken() async throws -> AccessToken {
        let key = configuration.key
        let now = configuration.clock.now()
        let assertion: String
        do {
            assertion = try key.assertion(scope: AndroidPublisher.scope, at: now)
        } catch {
            throw GooglePlayFailure(.refused, "The assertion of the service account cannot be signed: \(error.reason)")
        }
        let form = HTTPQuery([("grant_type", ServiceAccountKey.grantType), ("assertion", assertion)])
        let (answer, body) = try await exchange(
            HTTPRequest(
                method: .post, url: key.tokenURI, headers: ["Content-Type": "application/x-www-form-urlencoded"],
                body: .text(form.encoded)), json: nil, as: "token")
        let json = try? JSONValue(parsing: body, depth: 8)
        guard answer.isSuccess else {
            let failure = GooglePlayFailure(
                refusal: answer, body: [], isRead: false, without: [], at: configuration.clock.now())
            guard failure.kind != .unavailable else { throw failure }
            let words = [json?["error"]?.stringValue, json?["error_description"]?.stringValue].compactMap { $0 }
            throw GooglePlayFailure(
                .refused,
                "Google does not accept the service account (status \(answer.status)): "
                    + AppStoreServerAPIError.shown(words.joined(separator: ": "), without: [assertion])
                    + " Compare the key file, the token_uri in it, and this machine's clock.")
        }
        guard let text = json?["access_token"]?.stringValue, (1...4096).contains(text.utf8.count),
            text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), let lifetime = json?["expires_in"]?.doubleValue,
            lifetime > 0
        else { throw GooglePlayFailure(malformed: "access token") }
        let use = min(max(lifetime - Self.margin, lifetime / 2), Self.longestUse)
        return AccessToken(text: text, validity: now..<now.addingTimeInterval(use))
    }
}

extension OpenSpan {
    /// Ends the span of a call of Google Play. A call without a complete answer has no status.
    fileprivate func end(_ name: String, _ method: HTTPRequest.Method, _ status: Int?) {
        var attributes: [(String, Span.Value)] = [
            ("http.request.method", .text(method.rawValue)), ("peer.service", .text("Google Play")),
        ]
        if let status { attributes.append(("http.response.status_code", .number(status))) }
        end("\(method) \(name)", attributes, hasFailed: status.map { $0 >= 400 } ?? true)
    }
}
