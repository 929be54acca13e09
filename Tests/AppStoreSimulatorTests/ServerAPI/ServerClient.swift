import AppStorePayloads
import Foundation
import HTTPCore
import Primitives
import SignedData
import StoreKitAdapter
import StoreModel
import Testing

@testable import AppStoreSimulator

typealias ErrorCode = AppStoreServerAPI.ErrorCode

/// An app's server that sends requests to a store's handler, with tokens of its key.
struct ServerClient {
    let transport: InProcessTransport
    let serverKey: AppStoreConnectKey
    let base: any WallClock
    private let key: SigningKey
    private let api: ServerAPIKey

    init(_ test: TestStore) throws {
        api = test.store.summary.serverAPI
        key = try SigningKey(Array(Data(contentsOf: URL(fileURLWithPath: api.privateKey))))
        transport = InProcessTransport(test.store.handler)
        serverKey = AppStoreConnectKey(
            key, id: api.keyID, issuerID: api.issuerID, bundleID: test.store.summary.bundleID)
        base = test.base
    }

    /// Returns a valid token, except for changed claims.
    func token(_ changes: [String: JSONValue?]) throws -> String {
        let now = base.now().timeIntervalSince1970
        var claims: JSONValue = [
            "iss": .string(api.issuerID), "iat": .number(now), "exp": .number(now + 300), "aud": "appstoreconnect-v1",
            "bid": "com.example.souk",
        ]
        for (name, value) in changes { claims[name] = value }
        let header: JSONValue = ["alg": "ES256", "kid": .string(api.keyID), "typ": "JWT"]
        let input = [header, claims].map { Base64.encodeURL($0.encoded()) }.joined(separator: ".")
        return input + "." + Base64.encodeURL(try key.signature(of: Array(input.utf8)))
    }

    /// Returns a valid token, except for another key or other ids.
    func token(
        key: SigningKey? = nil, keyID: String? = nil, issuer: String? = nil, bundle: BundleID = "com.example.souk"
    ) throws -> String {
        try AppStoreConnectKey(
            key ?? self.key, id: keyID ?? api.keyID, issuerID: issuer ?? api.issuerID, bundleID: bundle
        ).token(at: base.now())
    }

    func send(
        _ method: HTTPRequest.Method, _ path: String, _ body: String = "", token: String?, type: String? = nil
    ) async throws -> HTTPResponse {
        var headers: HTTPHeaders = [:]
        if let token { headers["Authorization"] = "Bearer \(token)" }
        if let type { headers["Content-Type"] = type }
        return try await transport.send(
            HTTPRequest(method: method, url: "http://store.test" + path, headers: headers, body: .text(body)))
    }

    func send(_ method: HTTPRequest.Method, _ path: String, _ body: String = "") async throws -> HTTPResponse {
        try await send(method, path, body, token: try serverKey.token(at: base.now()), type: "application/json")
    }

    /// Returns a response, and expects that it has Apple's schema.
    func get<Fields>(
        _ path: String, as type: AppStorePayload<Fields>.Type
    ) async throws -> AppStorePayload<Fields> {
        let response = try await send(.get, path)
        let json = try await response.body.json()
        #expect(response.status == 200, "\(path): \(response.status) \(json)")
        #expect(response.headers["Content-Type"] == "application/json")
        #expect(type.schema.unknownMembers(of: json).isEmpty)
        return try AppStorePayload(json: json)
    }

    /// Returns the error code of a refused request, which must be in Apple's form; `nil` if it is not refused.
    func code(_ method: HTTPRequest.Method, _ path: String, _ body: String = "") async throws -> ErrorCode? {
        let response = try await send(method, path, body)
        guard !response.isSuccess else { return nil }
        #expect(response.headers["Content-Type"] == "application/json")
        let refusal = try AppStoreServerAPI.ErrorResponse(json: try await response.body.json())
        let code = ErrorCode(rawValue: try #require(refusal.errorCode))
        #expect(code.status == response.status && refusal.errorMessage?.isEmpty == false)
        return code
    }
}

extension TestStore {
    /// Opens a store for `body`, with a server that sends requests to it.
    static func withServer(
        catalogue: String? = nil, rate: TimeRate = .frozen, _ body: (TestStore, ServerClient) async throws -> Void
    ) async throws {
        let change: (inout SimulatedAppStore.Configuration) throws -> Void = {
            if let catalogue { $0.catalogue = try Catalogue(parsing: Array(catalogue.utf8), file: "server.storekit") }
        }
        try await with(rate: rate, change: { try? change(&$0) }) { try await body($0, try ServerClient($0)) }
    }

    /// Returns the app transaction id of an account.
    func appTransactionID(_ account: AccountName = "anna") throws -> String {
        try store.read({ try $0.existingAccount(account) }) { _, account, _ in account.appTransactionID }
    }

    func decoded(_ signed: [String]?) throws -> [JWSTransactionDecodedPayload] {
        let verifier = try verifier()
        return try (signed ?? []).map { try verifier.transaction($0).payload }
    }

    /// A catalogue in which `pack` and `family` can be shared with a family.
    static let familyCatalogue = """
        {"version": {"major": 4, "minor": 0}, "settings": {"_storefront": "USA", "_locale": "en_US"},
         "products": [
           {"productID": "coins", "type": "Consumable", "displayPrice": "0.99"},
           {"productID": "pack", "type": "NonConsumable", "displayPrice": "9.99", "familyShareable": true}],
         "subscriptionGroups": [
           {"id": "plus", "name": "Plus", "subscriptions": [
             {"productID": "family", "displayPrice": "9.99", "recurringSubscriptionPeriod": "P1M", "groupNumber": 1,
              "familyShareable": true}]},
           {"id": "more", "name": "More", "subscriptions": [
             {"productID": "single", "displayPrice": "4.99", "recurringSubscriptionPeriod": "P1M",
              "groupNumber": 1}]}]}
        """

    /// Creates a family of `anna`, the organizer, and `ben`.
    func makeFamily() async throws {
        for name in ["anna", "ben"] as [AccountName] { try await store.createAccount(name) }
        try await store.createFamily("us", organizer: "anna")
        try await store.join("us", "ben")
    }
}

/// Strings that are not transaction numbers.
let impossibleNumbers = [
    "x", "-1", "0", "1.0", "+7", "007", "1e3", "%20", "9223372036854775808", "12345678901234567890123", "%D9%A3",
]
