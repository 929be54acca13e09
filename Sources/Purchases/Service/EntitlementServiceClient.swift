import Foundation
import HTTPCore
import Primitives

/// The entitlement server, asked over any `HTTPTransport` (WIRE.md).
///
///     let client = EntitlementServiceClient(
///         configuration: .init(baseURL: "https://purchases.example.com", key: "pk_…"), transport: CurlTransport())
///     let customer = try await client.customer("customer-1042")
///
/// Throws `PurchaseError`: `unreachable` (network), `invalidKey` (401), `notAllowed` (403), `validationError` (400, 413,
/// 422), `rateLimited` (429), `unsupported` (501), `serverError` (5xx), `protocolError`, `decodingError`,
/// `untrustedAnswer`; its `underlying` is the server's `HTTPProblem` when it sent one. What may succeed later is asked
/// again within `backoff`.
public final class EntitlementServiceClient: ReceiptValidator {
    public struct Configuration: Sendable {
        /// For example `https://purchases.example.com`; a path is kept.
        public var baseURL: String
        /// Other addresses of the same server, for example in other regions: asked at once, one after the other, when one
        /// cannot be reached or fails (5xx). What the server refuses is not asked elsewhere. `backoff` counts rounds through
        /// all addresses.
        public var otherURLs: [String] = []
        /// A public key of the app.
        public var key: APIKey
        /// Which answers are read; `nil` leaves it to the server.
        public var environment: StoreEnvironment?
        /// The deadline of one request.
        public var timeout: Duration = .seconds(15)
        public var backoff = Backoff()
        public var maximumAnswerBytes = 8 << 20
        /// Of how many customers the last answer is kept, to be asked for by its ETag.
        public var cachedCustomers = 16
        public var sleep: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
        /// Spreads repetitions; from 0 to 1.
        public var random: @Sendable () -> Double = { .random(in: 0...1) }
        /// Judges the server's signatures: each question then carries a nonce, and an answer that is not signed for it by one
        /// of the verifier's keys is not used (`untrustedAnswer`). `nil` takes answers unsigned.
        public var answerVerifier: (any AnswerVerifier)?
        /// Whether nothing may be asked without an `answerVerifier`: a missing one is then an error (`untrustedAnswer`), not
        /// trust in whoever answers.
        public var requiresSignedAnswers = false
        /// How far the date of a signature may lie from this device's, either way; beyond it the answer is not used.
        public var signatureTolerance: Duration = .seconds(86_400)
        /// Real time, also where the app follows a simulator's.
        public var signatureClock: any WallClock = SystemClock()
        /// The customer's own token, which the server asks for where credit is spent, and for reads where the app wants it so;
        /// issued by your server for whoever is logged in. Called before every question.
        public var customerToken: (@Sendable (CustomerID) async throws -> String?)?
        /// Makes each question its own, for the server's idempotency keys and as its nonce.
        public var makeUUID: @Sendable () -> UUID = { UUID() }

        public init(baseURL: String, key: APIKey, environment: StoreEnvironment? = nil) {
            self.baseURL = baseURL
            self.key = key
            self.environment = environment
        }
    }

    private let configuration: Configuration
    private let connection: ServiceConnection
    private let answers: Locked<CustomerAnswers>

    public init(configuration: Configuration, transport: any HTTPTransport) {
        self.configuration = configuration
        connection = ServiceConnection(
            settings: .init(
                baseURL: configuration.baseURL, otherURLs: configuration.otherURLs, key: .bearer(configuration.key),
                timeout: configuration.timeout,
                backoff: configuration.backoff, maximumAnswerBytes: configuration.maximumAnswerBytes,
                sleep: configuration.sleep, random: configuration.random,
                proof: .init(
                    verifier: configuration.answerVerifier, isRequired: configuration.requiresSignedAnswers,
                    tolerance: configuration.signatureTolerance, clock: configuration.signatureClock,
                    makeNonce: { [makeUUID = configuration.makeUUID] in makeUUID().uuidString })),
            transport: transport)
        answers = Locked(CustomerAnswers(capacity: configuration.cachedCustomers))
    }

    /// Presents transactions with their renewal infos, in as many requests as the server's limits ask for.
    ///
    /// What is not true is `rejected` in the answer, by its index in `transactions`; renewal infos are counted on after
    /// the last transaction. When a later request fails the whole call throws; presenting everything again changes
    /// nothing and completes it.
    public func validate(
        _ transactions: [StoreTransaction], for customer: CustomerID
    ) async throws -> TransactionValidation {
        var validation: TransactionValidation?
        for batch in TransactionBatch.batches(of: transactions) {
            let (answer, saidAt) = try await present(batch, of: customer)
            let rejected = answer.rejected.map { batch.placed($0, amongTransactions: transactions.count) }
            validation = TransactionValidation(
                customer: answer.customer,
                acknowledged: (validation?.acknowledged ?? []).union(answer.acknowledgedTransactionIDs),
                rejected: (validation?.rejected ?? []) + rejected, saidAt: saidAt)
        }
        if let validation { return validation }
        let answer = try await answer(about: customer)
        return TransactionValidation(customer: answer.customer, acknowledged: [], saidAt: answer.saidAt)
    }

    /// What `customer` may use now. Costs no body when nothing changed since the last answer.
    public func customer(_ customer: CustomerID) async throws -> Customer {
        try await answer(about: customer).customer
    }

    public func answer(about customer: CustomerID) async throws -> CustomerAnswer {
        let known = answers.withLock { $0[customer] }
        var headers = try await headers(about: customer)
        if let known { headers.add("If-None-Match", known.etag) }
        let answer = try await connection.send(
            HTTPRequest(method: .get, url: Self.path(customer), headers: headers))
        if answer.status == 304 {
            guard let known else {
                throw PurchaseError(.protocolError, "The server says nothing changed, but was not told since when.")
            }
            return CustomerAnswer(customer: known.customer, saidAt: answer.saidAt)
        }
        let fresh = try answer.decoded(Customer.self)
        let etag = answer.headers["ETag"]
        answers.withLock { $0[customer] = etag.map { (customer: fresh, etag: $0) } }
        return CustomerAnswer(customer: fresh, saidAt: answer.saidAt)
    }

    private func present(
        _ batch: TransactionBatch, of customer: CustomerID
    ) async throws -> (PostTransactionsAnswer, saidAt: Date?) {
        do {
            let answer = try await post(batch.request, to: "/transactions", of: customer)
            return (try answer.decoded(PostTransactionsAnswer.self), answer.saidAt)
        } catch let error as PurchaseError {
            guard let rejection = batch.rejection(from: error) else { throw error }
            let answer = try await answer(about: customer)
            let all = PostTransactionsAnswer(
                customer: answer.customer, acknowledgedTransactionIDs: [], rejected: [rejection])
            return (all, answer.saidAt)
        }
    }

    func post(
        _ request: some Encodable, to path: String, of customer: CustomerID
    ) async throws -> ServiceConnection.Answer {
        let path = Self.path(customer) + path
        let body = try WireJSON.encode(request)
        var headers = try await headers(about: customer)
        headers.add("Content-Type", "application/json")
        headers.add("Idempotency-Key", idempotencyKey(path: path, body: body))
        return try await connection.send(
            HTTPRequest(method: .post, url: path, headers: headers, body: .bytes(body)))
    }

    func get<Answer: Decodable>(_ path: String, of customer: CustomerID, _ type: Answer.Type) async throws -> Answer {
        try await connection.send(
            HTTPRequest(method: .get, url: Self.path(customer) + path, headers: try await headers(about: customer))
        ).decoded(type)
    }

    /// The same for every attempt of one question, another for the next question of the same content: the server
    /// replays its first answer for a day, and a day later it may no longer be true.
    private func idempotencyKey(path: String, body: [UInt8]) -> String {
        var digest = SHA256()
        digest.update(Array("\(path)\n\(configuration.makeUUID().uuidString)\n".utf8))
        digest.update(body)
        return Hex.encode(digest.finalize())
    }

    private func headers(about customer: CustomerID) async throws -> HTTPHeaders {
        var headers: HTTPHeaders = ["Accept": "application/json"]
        if let token = try await token(of: customer) { headers.add("Souk-Customer-Token", token) }
        if let environment = configuration.environment { headers.add("Souk-Environment", environment.rawValue) }
        return headers
    }

    private func token(of customer: CustomerID) async throws -> String? {
        do {
            return try await configuration.customerToken?(customer)
        } catch {
            try Task.checkCancellation()
            throw PurchaseError(
                .unreachable, "The customer's token could not be had; try again later.", underlying: error)
        }
    }

    private static func path(_ customer: CustomerID) -> String {
        "/v1/customers/\(PercentEncoding.encode(customer.rawValue))"
    }
}

/// The last answers about customers with their ETags; of too many, the one entered first is forgotten.
private struct CustomerAnswers {
    typealias Entry = (customer: Customer, etag: String)
    private let capacity: Int
    private var entries: [CustomerID: Entry] = [:]
    private var order: [CustomerID] = []

    init(capacity: Int) { self.capacity = capacity }

    subscript(customer: CustomerID) -> Entry? {
        get { entries[customer] }
        set {
            order.removeAll { $0 == customer }
            entries[customer] = newValue
            guard newValue != nil else { return }
            order.append(customer)
            while order.count > capacity { entries[order.removeFirst()] = nil }
        }
    }
}
