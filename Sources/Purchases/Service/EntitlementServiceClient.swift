import Foundation
import HTTPCore
import Primitives

/// A client of the entitlement server, over any `HTTPTransport`.
///
///     let client = EntitlementServiceClient(
///         configuration: .init(baseURL: "https://purchases.example.com", key: "pk_…"), transport: CurlTransport())
///     let customer = try await client.customer("customer-1042")
///
/// The client throws `PurchaseError` with one of these codes: `unreachable` (network), `invalidKey` (401), `notAllowed`
/// (403), `validationError` (400, 413, 422), `rateLimited` (429), `unsupported` (501), `serverError` (5xx),
/// `protocolError`, `decodingError` and `untrustedAnswer`. Its `underlying` error is the server's `HTTPProblem`, if
/// there is one. Retryable requests are repeated within `backoff`.
public final class EntitlementServiceClient: ReceiptValidator {
    /// The settings of the client.
    public struct Configuration: Sendable {
        /// The address of the server, for example `https://purchases.example.com`. A path in it precedes the paths of
        /// the requests.
        public var baseURL: String
        /// Other addresses of the same server, for example in other regions. If one cannot be reached or fails (5xx),
        /// the next one is tried at once. After a refusal (4xx), no other address is tried. `backoff` counts rounds
        /// through all addresses.
        public var otherURLs: [String] = []
        /// A public API key of the app.
        public var key: APIKey
        /// The environment of the purchases; `nil` lets the server choose.
        public var environment: StoreEnvironment?
        /// The timeout of one request.
        public var timeout: Duration = .seconds(15)
        /// The number of attempts, and the pauses between them.
        public var backoff = Backoff()
        /// The greatest accepted length of a response, in bytes.
        public var maximumAnswerBytes = 8 << 20
        /// The number of customers whose last answer is cached with its ETag.
        public var cachedCustomers = 16
        /// The function that waits between attempts.
        public var sleep: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
        /// Returns a random number from 0 to 1, which varies the pauses between attempts.
        public var random: @Sendable () -> Double = { .random(in: 0...1) }
        /// The verifier of the server's signatures. Each request then contains a nonce. A response is used only if one
        /// of the verifier's keys signed it for this nonce; otherwise the error is `untrustedAnswer`. `nil` accepts
        /// unsigned responses.
        public var answerVerifier: (any AnswerVerifier)?
        /// Whether a missing `answerVerifier` is an error (`untrustedAnswer`).
        public var requiresSignedAnswers = false
        /// The greatest accepted difference between the date of a signature and the device's clock, in both directions.
        public var signatureTolerance: Duration = .seconds(86_400)
        /// The clock for signatures. It shows real time, even if the app follows a simulator's virtual time.
        public var signatureClock: any WallClock = SystemClock()
        /// Returns the customer's own token, which your own server issues for the user who is logged in. The
        /// entitlement server requires it to spend credits, and also to read if the app's settings on that server say
        /// so. Called before every request.
        public var customerToken: (@Sendable (CustomerID) async throws -> String?)?
        /// Returns a unique id for each request, for the server's idempotency keys and as a nonce.
        public var makeUUID: @Sendable () -> UUID = { UUID() }

        /// Creates a configuration with default values.
        ///
        /// - Parameters:
        ///   - baseURL: The address of the server.
        ///   - key: A public API key of the app.
        ///   - environment: The environment of the purchases; `nil` lets the server choose.
        public init(baseURL: String, key: APIKey, environment: StoreEnvironment? = nil) {
            self.baseURL = baseURL
            self.key = key
            self.environment = environment
        }
    }

    private let configuration: Configuration
    private let connection: ServiceConnection
    private let answers: Locked<CustomerAnswers>
    private let revisions: Locked<KnownRevisions>

    /// Creates a client.
    ///
    /// - Parameters:
    ///   - configuration: The settings.
    ///   - transport: The transport for the requests.
    public init(configuration: Configuration, transport: any HTTPTransport) {
        self.configuration = configuration
        connection = ServiceConnection(
            settings: .init(
                baseURL: configuration.baseURL, otherURLs: configuration.otherURLs, key: .bearer(configuration.key),
                timeout: configuration.timeout,
                backoff: configuration.backoff, maximumAnswerBytes: configuration.maximumAnswerBytes,
                sleep: configuration.sleep, random: configuration.random,
                answerRequirements: .init(
                    verifier: configuration.answerVerifier, isRequired: configuration.requiresSignedAnswers,
                    tolerance: configuration.signatureTolerance, clock: configuration.signatureClock,
                    makeNonce: { [makeUUID = configuration.makeUUID] in makeUUID().uuidString })),
            transport: transport)
        answers = Locked(CustomerAnswers(capacity: configuration.cachedCustomers))
        revisions = Locked(KnownRevisions(capacity: configuration.cachedCustomers))
    }

    /// Presents transactions with their renewal infos, in as many requests as the limits of the server require.
    ///
    /// If a later request fails, the call throws. You can safely present everything again.
    ///
    /// - Parameters:
    ///   - transactions: The transactions to present.
    ///   - customer: The customer who presents them.
    /// - Returns: The answer. `rejected` lists invalid transactions by their index in `transactions`; renewal infos are
    ///   numbered after the last transaction.
    /// - Throws: `PurchaseError`.
    public func validate(
        _ transactions: [StoreTransaction], for customer: CustomerID
    ) async throws -> TransactionValidation {
        var validation: TransactionValidation?
        for batch in TransactionBatch.batches(of: transactions) {
            let (answer, serverTime) = try await present(batch, of: customer)
            let rejected = answer.rejected.map { batch.placed($0, amongTransactions: transactions.count) }
            validation = TransactionValidation(
                customer: answer.customer,
                acknowledged: (validation?.acknowledged ?? []).union(answer.acknowledgedTransactionIDs),
                rejected: (validation?.rejected ?? []) + rejected, serverTime: serverTime)
        }
        if let validation { return validation }
        let answer = try await answer(about: customer)
        return TransactionValidation(customer: answer.customer, acknowledged: [], serverTime: answer.serverTime)
    }

    /// Returns the entitlements of a customer. If nothing changed since the last answer, the response has no body.
    ///
    /// A server with a standby may answer from it. The response then has at least the changes of this client's earlier
    /// requests about the customer.
    ///
    /// - Parameter customer: The id of the customer.
    /// - Returns: The customer with their entitlements.
    /// - Throws: `PurchaseError`.
    public func customer(_ customer: CustomerID) async throws -> Customer {
        try await answer(about: customer).customer
    }

    /// Returns the entitlements of a customer, with the time of the answer.
    ///
    /// - Parameter customer: The id of the customer.
    /// - Returns: The customer and the time.
    /// - Throws: `PurchaseError`.
    public func answer(about customer: CustomerID) async throws -> CustomerAnswer {
        let known = answers.withLock { $0[customer] }
        var headers = try await headers(about: customer)
        if let known { headers.add("If-None-Match", known.etag) }
        let (revision, writes) = revisions.withLock { $0.beginRead(of: customer) }
        if let revision { headers.add("Souk-Min-Revision", revision) }
        let answer = try await connection.send(
            HTTPRequest(method: .get, url: Self.path(customer), headers: headers))
        revisions.withLock { $0.endRead(of: customer, answer.headers, writes: writes) }
        if answer.status == 304 {
            guard let known else {
                throw PurchaseError(.protocolError, "The server responded 304 to a request without If-None-Match.")
            }
            return CustomerAnswer(customer: known.customer, serverTime: answer.serverTime)
        }
        let fresh = try answer.decoded(Customer.self)
        let etag = answer.headers["ETag"]
        answers.withLock { $0[customer] = etag.map { (customer: fresh, etag: $0) } }
        return CustomerAnswer(customer: fresh, serverTime: answer.serverTime)
    }

    private func present(
        _ batch: TransactionBatch, of customer: CustomerID
    ) async throws -> (PostTransactionsAnswer, serverTime: Date?) {
        do {
            let answer = try await post(batch.request, to: "/transactions", of: customer)
            return (try answer.decoded(PostTransactionsAnswer.self), answer.serverTime)
        } catch let error as PurchaseError {
            guard let rejection = batch.rejection(from: error) else { throw error }
            let answer = try await answer(about: customer)
            let all = PostTransactionsAnswer(
                customer: answer.customer, acknowledgedTransactionIDs: [], rejected: [rejection])
            return (all, answer.serverTime)
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
        var answer: ServiceConnection.Answer?
        defer { revisions.withLock { $0.endWrite(of: customer, answer?.headers) } }
        let response = try await connection.send(
            HTTPRequest(method: .post, url: path, headers: headers, body: .bytes(body)))
        answer = response
        return response
    }

    func get<Answer: Decodable>(_ path: String, of customer: CustomerID, _ type: Answer.Type) async throws -> Answer {
        try await connection.send(
            HTTPRequest(method: .get, url: Self.path(customer) + path, headers: try await headers(about: customer))
        ).decoded(type)
    }

    /// Returns a key that is the same for every attempt of one request. The next request with the same content gets
    /// another key. With the same key, the server would replay its first answer for a day, even if that answer is
    /// outdated.
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
                .unreachable, "The app did not provide the customer's token; try again later.", underlying: error)
        }
    }

    private static func path(_ customer: CustomerID) -> String {
        "/v1/customers/\(PercentEncoding.encode(customer.rawValue))"
    }
}

/// The last answers about customers with their ETags. Removes the oldest entry when there are too many.
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
