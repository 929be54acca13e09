import Foundation
import GooglePlay
import HTTPCore
import Primitives
import SQLStorage
import SignedData
import StoreModel

/// The HTTP side of the simulated Google Play: the Google Play Developer API on Google's paths, the token endpoint of the
/// service account, and the keys of push requests.
struct PlayRoutes: HTTPHandler {
    static let tokenPath = "/token"
    static let certificatesPath = "/oauth2/v3/certs"
    private static let apiPrefix = "/androidpublisher/v3/"

    private let store: SimulatedAppStore
    private let play: SimulatedGooglePlay
    private let router: Router

    /// Returns whether a path belongs to Google Play.
    static func serves(_ path: String) -> Bool {
        path.hasPrefix("/androidpublisher/") || [tokenPath, certificatesPath].contains(path)
    }

    init(_ store: SimulatedAppStore, _ play: SimulatedGooglePlay) {
        var router = Router(PlayEndpoints.all) { endpoint in
            { request, path in
                .suspended {
                    do {
                        return try await endpoint.handler(PlayCall(request, path, store, play))
                    } catch {
                        return Self.refusal(error).response
                    }
                }
            }
        }
        router.refuse = { _, request in
            GoogleAPIError(
                .unimplemented, reason: "notImplemented",
                "The simulated Google Play has no \(request.method.rawValue) method at this path."
            ).response
        }
        self.store = store
        self.play = play
        self.router = router
    }

    func respond(to request: HTTPRequest) -> HTTPReply {
        switch request.path {
        case Self.tokenPath: .suspended { await token(request) }
        case Self.certificatesPath: .ready(HTTPResponse(json: play.pushKeys.json))
        default: api(request)
        }
    }

    private func api(_ request: HTTPRequest) -> HTTPReply {
        do {
            try play.authenticate(request)
        } catch {
            return .ready(error.response)
        }
        let rules = play.rules
        guard rules.delay > 0 else { return answer(to: request, rules) }
        return .suspended { [store] in
            await store.pause(for: rules.delay)
            return await answer(to: request, rules).response()
        }
    }

    private func answer(to request: HTTPRequest, _ rules: PlayRules) -> HTTPReply {
        if let failure = rules.failure { return .ready(failure.response) }
        guard play.countRequest(at: store.clock.now()) else {
            return .ready(PlayRules.quotaExceeded.response)
        }
        return router.respond(to: request)
    }

    private func token(_ request: HTTPRequest) async -> HTTPResponse {
        do {
            let type = request.headers["Content-Type"]?.lowercased().split(separator: ";").first
            guard request.method == .post, type == "application/x-www-form-urlencoded",
                let body = String(utf8: try await request.body.collect(upTo: 64 << 10)),
                let form = HTTPQuery(parsing: body)
            else { throw OAuthRefusal("invalid_request", "The request should be a POST with a form in UTF-8.") }
            guard form["grant_type"] == ServiceAccountKey.grantType else {
                throw OAuthRefusal("unsupported_grant_type", "The grant_type should be that of a JWT assertion.")
            }
            guard let assertion = form["assertion"] else {
                throw OAuthRefusal("invalid_request", "The assertion is missing.")
            }
            return HTTPResponse(
                headers: ["Cache-Control": "no-store"],
                json: [
                    "access_token": .string(try play.accessToken(for: assertion)),
                    "expires_in": .number(Int(SimulatedGooglePlay.tokenLifetime) - 1), "token_type": "Bearer",
                ])
        } catch let refusal as OAuthRefusal {
            return refusal.response
        } catch {
            return OAuthRefusal("invalid_request", "The body of the request cannot be read.").response
        }
    }

    /// The error response of a request that failed with `error`.
    static func refusal(_ error: any Error) -> GoogleAPIError {
        switch error {
        case let error as GoogleAPIError: error
        case let refusal as PlayRefusal:
            GoogleAPIError(.invalidArgument, reason: refusal.reason, refusal.message)
        case let error as HTTPError where error.code == .bodyTooLarge:
            GoogleAPIError(.payloadTooLarge, reason: "requestTooLarge", error.reason)
        case is JSONError: GoogleAPIError(.invalidArgument, reason: "parseError", "The body is not a JSON object.")
        case is DecodingError:
            GoogleAPIError(.invalidArgument, reason: "invalid", "A member of the body has a value of another type.")
        case let error as SQLError where error.code == .invalidValue: .invalid("token")
        case is SQLError, is CancellationError:
            GoogleAPIError(.unavailable, reason: "backendError", "The store is not available; try again.")
        default: GoogleAPIError(.internalError, reason: "backendError", "The store failed.")
        }
    }
}

extension GoogleAPIError {
    static func invalid(_ parameter: String, _ message: String = "Invalid Value") -> GoogleAPIError {
        GoogleAPIError(.invalidArgument, reason: "invalid", message, location: parameter)
    }
}

/// A request to the Google Play Developer API.
struct PlayCall: Sendable {
    let store: SimulatedAppStore
    let play: SimulatedGooglePlay
    let query: HTTPQuery
    /// The verb after the colon of the last segment, such as `acknowledge`.
    let verb: String?
    private let path: PathParameters
    private let request: HTTPRequest
    /// The value of the last parameter without its verb.
    private let last: String

    private static let bodyLimit = 64 << 10

    /// Throws `GoogleAPIError` for a malformed query, and for another package than the catalogue's.
    init(
        _ request: HTTPRequest, _ path: PathParameters, _ store: SimulatedAppStore, _ play: SimulatedGooglePlay
    ) throws {
        guard let query = request.query else { throw GoogleAPIError.invalid("query", "The query is malformed.") }
        self.store = store
        self.play = play
        self.query = query
        self.path = path
        self.request = request
        let text = path.all.map(\.value).last ?? ""
        let colon = request.method == .post ? text.lastIndex(of: ":") : nil
        last = colon.map { String(text[..<$0]) } ?? text
        verb = colon.map { String(text[text.index(after: $0)...]) }
        guard path["packageName"].hasSameBytes(as: play.catalogue.packageName.rawValue) else {
            throw GoogleAPIError(
                .notFound, reason: "applicationNotFound", "No application was found for the given package name.",
                location: "packageName")
        }
    }

    func text(_ parameter: String) -> String { path[parameter] }

    /// The token or the order of the path.
    var name: String {
        get throws {
            guard (1...255).contains(last.utf8.count), last.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
                throw GoogleAPIError.invalid("token")
            }
            return last
        }
    }

    /// Reads the body; a request without a body has a resource without members.
    func body<Resource: PlayResource>(as type: Resource.Type) async throws -> Resource {
        let bytes = try await request.body.collect(upTo: Self.bodyLimit)
        guard !bytes.isEmpty else { return Resource() }
        guard request.refusalOfMediaType == nil else {
            throw GoogleAPIError(
                .invalidArgument, reason: "parseError", "The body should have the type application/json.")
        }
        let json = try JSONValue(parsing: bytes)
        guard case .object = json else {
            throw GoogleAPIError(.invalidArgument, reason: "parseError", "The body is not a JSON object.")
        }
        return try WireJSON.decode(type, from: json)
    }

    /// Returns a number in the query; `nil` if it is absent.
    func number(_ name: String, in range: ClosedRange<Int64>) throws -> Int64? {
        let values = query.values(name)
        guard let text = values.first else { return nil }
        guard values.count == 1, let number = Int64(text), range.contains(number) else {
            throw GoogleAPIError.invalid(
                name, "The value of \(name) should be \(range.lowerBound) to \(range.upperBound).")
        }
        return number
    }

    func flag(_ name: String) throws -> Bool {
        switch query[name] {
        case nil, "false": false
        case "true": true
        default: throw GoogleAPIError.invalid(name, "The value of \(name) should be true or false.")
        }
    }
}
