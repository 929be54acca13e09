import AppStorePayloads
import CurlTransport
import Foundation
import HTTPCore
import Primitives
import SignedData
import StoreModel
import Testing

/// Signs arbitrary transactions, and starts servers that trust the signatures and share one ledger.
struct SignedShop {
    static let app = "com.example.darkroom"

    let folder: TemporaryFolder
    private let root: String
    private let chain: SigningChain

    init() throws {
        folder = try TemporaryFolder()
        chain = try SigningChain.generate()
        root = try folder.write("root.der", chain.root.der)
    }

    var database: String { "sqlite:" + folder.file("ledger.sqlite") }
    var secretKeyFile: String { folder.file("ledger.sqlite.\(Self.app).secret-key") }

    var publicKey: String {
        get throws { try folder.text("ledger.sqlite.\(Self.app).public-key").trimmingCharacters(in: .newlines) }
    }

    func serve(_ options: String...) async throws -> SoukService {
        try await SoukService(
            ["serve", "--database", database, "--bundle-id", Self.app, "--environment", "sandbox", "--root", root]
                + options)
    }

    /// Returns a signed transaction of a non-consumable.
    func purchase(_ id: String) throws -> String {
        let date = Date(timeIntervalSince1970: 1_800_000_000)
        return try JWSSigner(chain).sign(
            JWSTransactionDecodedPayload {
                $0.transactionId = id
                $0.originalTransactionId = id
                $0.bundleId = Self.app
                $0.productId = "tools"
                $0.purchaseDate = date
                $0.originalPurchaseDate = date
                $0.quantity = 1
                $0.type = .nonConsumable
                $0.signedDate = date
                $0.environment = .sandbox
            })
    }

    /// Returns a signed transaction of a subscription, with a period from `start` until `end`.
    func subscription(
        _ id: String, from start: Date, until end: Date, environment: AppStoreEnvironment
    ) throws -> String {
        try JWSSigner(chain).sign(
            JWSTransactionDecodedPayload {
                $0.transactionId = id
                $0.originalTransactionId = id
                $0.bundleId = Self.app
                $0.productId = "plus"
                $0.subscriptionGroupIdentifier = "plus"
                $0.purchaseDate = start
                $0.originalPurchaseDate = start
                $0.expiresDate = end
                $0.quantity = 1
                $0.type = .autoRenewableSubscription
                $0.signedDate = start
                $0.environment = environment
            })
    }

    /// Returns a signed realtime request to the app with this Apple ID.
    func realtimeRequest(toApp number: Int) throws -> String {
        try JWSSigner(chain).sign(
            DecodedRealtimeRequestBody {
                $0.originalTransactionId = "1"
                $0.appAppleId = number
                $0.productId = "plus"
                $0.userLocale = "en-US"
                $0.requestIdentifier = UUID()
                $0.environment = .sandbox
                $0.signedDate = Date()
            })
    }

    /// Returns the request with which a customer presents a signed transaction to a server.
    func presentation(
        of signed: String, by customer: String, to server: SoukService, headers: HTTPHeaders = [:]
    ) throws -> HTTPRequest {
        var headers = headers
        headers.add("Authorization", "Bearer \(try publicKey)")
        headers.add("Content-Type", "application/json")
        return HTTPRequest(
            method: .post, url: server.url + "/v1/customers/\(customer)/transactions", headers: headers,
            body: .json(["signedTransaction": .string(signed)]))
    }

    /// Returns the ids of a customer's purchases at a server.
    func purchases(of customer: String, at server: SoukService) async throws -> Set<String> {
        let response = try await CurlTransport.platformDefault().send(
            HTTPRequest(
                method: .get, url: server.url + "/v1/customers/\(customer)",
                headers: ["Authorization": "Bearer \(try publicKey)"]))
        let answer = try WireJSON.decode(Customer.self, from: try await response.body.collect(upTo: 16 << 20))
        return Set(answer.purchases.map(\.originalTransactionID.rawValue))
    }

    /// Returns the result of `souk ledger replay`.
    func replay() async throws -> SoukExecutable.Outcome {
        try await SoukExecutable.run(["ledger", "replay", "--database", database, "--json"])
    }
}
