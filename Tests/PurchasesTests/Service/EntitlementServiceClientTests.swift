import BaseTestSupport
import Foundation
import HTTPCore
import Primitives
import StoreTestSupport
import Testing

@testable import Purchases

@Suite(.timeLimit(.minutes(1))) struct EntitlementServiceClientTests {
    private let asOf = Date(timeIntervalSince1970: 1_795_185_600)
    private let naps = Locked<[Duration]>([])

    private func client(
        _ transport: ScriptedTransport, backoff: Backoff = Backoff(), base: String = "http://server/souk/",
        cached: Int = 16
    ) -> EntitlementServiceClient {
        var configuration = EntitlementServiceClient.Configuration(
            baseURL: base, key: "pk_secret", environment: .sandbox)
        configuration.backoff = backoff
        configuration.cachedCustomers = cached
        configuration.sleep = { [naps] nap in naps.withLock { $0.append(nap) } }
        configuration.random = { 1 }
        let count = Locked(0)
        configuration.makeUUID = {
            let number = count.withLock { count in
                count += 1
                return count
            }
            return UUID(uuidString: "00000000-0000-0000-0000-\(String(format: "%012d", number))") ?? UUID()
        }
        return EntitlementServiceClient(configuration: configuration, transport: transport)
    }

    private func customer(_ id: CustomerID = "ada", features: [String] = []) -> Customer {
        Customer(
            customer: id, environment: .sandbox, asOf: asOf,
            features: features.map {
                CustomerFeature(name: $0, isActive: true, from: asOf, source: .appStore, because: "test")
            })
    }

    private func answer(_ value: some Encodable, headers: HTTPHeaders = [:]) throws -> ScriptedTransport.Step {
        .answer(HTTPResponse(status: 200, headers: headers, body: .bytes(try WireJSON.encode(value))))
    }

    private func problem(
        _ status: Int, _ code: String, retryable: Bool = false, detail: String = "No.", headers: HTTPHeaders = [:]
    ) throws -> ScriptedTransport.Step {
        let problem = HTTPProblem(
            status: status, code: code, title: "Refused", detail: detail, isRetryable: retryable)
        var headers = headers
        headers.add("Content-Type", "application/problem+json")
        return .answer(HTTPResponse(status: status, headers: headers, body: .json(problem.json)))
    }

    private func transaction(_ number: Int, size: Int = 10, renewal: String? = nil) -> StoreTransaction {
        StoreTransaction(
            id: TransactionID(unchecked: "\(number)"), originalID: "1", productID: "pro", kind: .nonConsumable,
            purchaseDate: asOf, signedTransaction: "jws-\(number)-" + String(repeating: "x", count: size),
            signedRenewalInfo: renewal)
    }

    // MARK: - Reading a customer

    @Test func `a request for a customer has the path, the key and the environment`() async throws {
        let transport = ScriptedTransport([try answer(customer("a b/ä", features: ["pro"]))])
        let found = try await client(transport).customer("a b/ä")
        #expect(found.features.map(\.name) == ["pro"])
        let request = try #require(transport.requests.first)
        #expect(request.method == .get)
        #expect(request.url == "http://server/souk/v1/customers/a%20b%2F%C3%A4")
        #expect(request.headers["Authorization"] == "Bearer pk_secret")
        #expect(request.headers["Souk-Environment"] == "sandbox")
        #expect(request.headers["If-None-Match"] == nil)
        #expect(request.timeout == .seconds(15))
    }

    @Test func `an unchanged customer is not sent again`() async throws {
        let transport = ScriptedTransport([
            try answer(customer(features: ["pro"]), headers: ["ETag": "\"1\""]), .answer(status: 304),
            try answer(customer(features: ["export"]), headers: ["ETag": "\"2\""]), .answer(status: 304),
        ])
        let client = client(transport)
        var names: [[String]] = []
        for _ in 0..<4 { names.append(try await client.customer("ada").features.map(\.name)) }
        #expect(names == [["pro"], ["pro"], ["export"], ["export"]])
        #expect(transport.requests.map { $0.headers["If-None-Match"] } == [nil, "\"1\"", "\"1\"", "\"2\""])
    }

    @Test func `one customer's answer is never returned for another`() async throws {
        let transport = ScriptedTransport([
            try answer(customer("ada"), headers: ["ETag": "\"1\""]),
            try answer(customer("bob"), headers: ["ETag": "\"2\""]), .answer(status: 304),
        ])
        let client = client(transport)
        _ = try await client.customer("ada")
        #expect(try await client.customer("bob").customer == "bob")
        #expect(try await client.customer("ada").customer == "ada")
        #expect(transport.requests.map { $0.headers["If-None-Match"] } == [nil, nil, "\"1\""])
    }

    @Test func `the number of kept answers is limited`() async throws {
        let transport = ScriptedTransport([
            try answer(customer("ada"), headers: ["ETag": "\"1\""]),
            try answer(customer("bob"), headers: ["ETag": "\"2\""]), try answer(customer("ada")),
        ])
        let client = client(transport, cached: 1)
        for id in ["ada", "bob", "ada"] as [CustomerID] { _ = try await client.customer(id) }
        #expect(transport.requests.map { $0.headers["If-None-Match"] } == [nil, nil, nil])
    }

    /// The revisions in the answers and those that the client requires.
    @Test func `a read requires the newest revision that the client knows`() async throws {
        let posted = PostTransactionsAnswer(customer: customer(), acknowledgedTransactionIDs: [], rejected: [])
        let transport = ScriptedTransport([
            try answer(customer(), headers: ["ETag": "\"1\"", "Souk-Revision": "7"]),
            .answer(status: 304, headers: ["Souk-Revision": "9"]),
            .answer(status: 304, headers: ["Souk-Revision": "8"]), .answer(status: 304),
            try answer(posted, headers: ["Souk-Revision": "12"]), .answer(status: 304),
            try answer(posted), .answer(status: 304, headers: ["Souk-Revision": "13"]),
            try problem(422, "invalid_field"), .answer(status: 304, headers: ["Souk-Revision": "-1"]),
            .answer(status: 304, headers: ["Souk-Revision": "99999999999999999999"]), .answer(status: 304),
        ])
        let client = client(transport)
        for _ in 0..<4 { _ = try await client.customer("ada") }
        for _ in 0..<2 {
            _ = try await client.validate([transaction(1)], for: "ada")
            _ = try await client.customer("ada")
        }
        await #expect(throws: PurchaseError.self) { try await client.redeem([], credit: "coins", of: "ada") }
        for _ in 0..<3 { _ = try await client.customer("ada") }
        #expect(
            transport.requests.filter { $0.method == .get }.map { $0.headers["Souk-Min-Revision"] }
                == [nil, "7", "9", "9", "12", nil, nil, nil, nil])
        #expect(transport.requests.allSatisfy { $0.method == .get || $0.headers["Souk-Min-Revision"] == nil })
    }

    @Test func `revisions of other customers are discarded by a write, and by a new customer when the memory is full`()
        async throws
    {
        let posted = PostTransactionsAnswer(customer: customer(), acknowledgedTransactionIDs: [], rejected: [])
        let transport = ScriptedTransport([
            try answer(customer("ada"), headers: ["Souk-Revision": "1"]),
            try answer(customer("bob"), headers: ["Souk-Revision": "2"]), try answer(customer("bob")),
            try answer(posted, headers: ["Souk-Revision": "3"]), try answer(customer("bob")),
            try answer(customer("ada")), try answer(customer("bob"), headers: ["Souk-Revision": "4"]),
            try answer(customer("cy"), headers: ["Souk-Revision": "5"]), try answer(customer("bob")),
            try answer(customer("cy")),
        ])
        let client = client(transport, cached: 2)
        for id in ["ada", "bob", "bob"] as [CustomerID] { _ = try await client.customer(id) }
        _ = try await client.validate([transaction(1)], for: "ada")
        for id in ["bob", "ada", "bob", "cy", "bob", "cy"] as [CustomerID] { _ = try await client.customer(id) }
        #expect(
            transport.requests.filter { $0.method == .get }.map { $0.headers["Souk-Min-Revision"] }
                == [nil, nil, "2", nil, "3", nil, nil, nil, "5"])
    }

    @Test func `a read during which a write ends sets no revision`() {
        var known = KnownRevisions(capacity: 4)
        let early = known.beginRead(of: "ada")
        let shorter = known.beginRead(of: "ada")
        known.endRead(of: "ada", ["Souk-Revision": "3"], writes: shorter.writes)
        #expect(known.beginRead(of: "ada").header == "3")
        known.endWrite(of: "ada", nil)
        #expect(known.beginRead(of: "ada").header == nil)
        known.endRead(of: "ada", ["Souk-Revision": "3"], writes: early.writes)
        #expect(known.beginRead(of: "ada").header == nil)
        known.endWrite(of: "ada", ["Souk-Revision": "6"])
        known.endWrite(of: "ada", ["Souk-Revision": "5"])
        #expect(known.beginRead(of: "ada").header == "6")
        known.endWrite(of: "bob", ["Souk-Revision": "1"])
        #expect(known.beginRead(of: "ada").header == nil && known.beginRead(of: "bob").header == "1")
    }

    @Test func `an answer has the server's time, also a 304, if its date is valid and it comes from no cache`()
        async throws
    {
        let (noon, later) = ("Fri, 20 Nov 2026 12:00:00 GMT", "Sat, 21 Nov 2026 12:00:00 GMT")
        let posted = PostTransactionsAnswer(customer: customer(), acknowledgedTransactionIDs: [], rejected: [])
        let transport = ScriptedTransport([
            try answer(customer(), headers: ["ETag": "\"1\"", "Date": noon]),
            .answer(status: 304, headers: ["Date": later]),
            .answer(status: 304, headers: ["Date": later, "Age": "60"]),
            .answer(status: 304, headers: ["Date": "yesterday"]), try answer(posted, headers: ["Date": later]),
        ])
        let client = client(transport)
        let (first, second) = (Date(timeIntervalSince1970: 1_795_176_000), Date(timeIntervalSince1970: 1_795_262_400))
        #expect(try await client.answer(about: "ada") == CustomerAnswer(customer: customer(), serverTime: first))
        #expect(try await client.answer(about: "ada") == CustomerAnswer(customer: customer(), serverTime: second))
        for _ in 0..<2 { #expect(try await client.answer(about: "ada") == CustomerAnswer(customer: customer())) }
        #expect(try await client.validate([transaction(1)], for: "ada").serverTime == second)
    }

    @Test func `an unexpected 304 is refused`() async throws {
        let transport = ScriptedTransport([.answer(status: 304)])
        await #expect(throws: PurchaseError(.protocolError)) { try await client(transport).customer("ada") }
    }

    // MARK: - Presenting transactions

    @Test func `transactions are presented with their renewal infos`() async throws {
        let transport = ScriptedTransport([
            try answer(
                PostTransactionsAnswer(
                    customer: customer(features: ["pro"]), acknowledgedTransactionIDs: ["1"],
                    rejected: [
                        RejectedTransaction(index: 1, code: "wrongBundle", detail: "Not ours.", retryable: false)
                    ]))
        ])
        let validation = try await client(transport).validate(
            [transaction(1, renewal: "renewal-1"), transaction(2)], for: "ada")
        #expect(validation.acknowledged == ["1"])
        #expect(validation.rejected.map(\.index) == [1])
        #expect(validation.customer.features.map(\.name) == ["pro"])
        let request = try #require(transport.requests.first)
        #expect(request.method == .post)
        #expect(request.url == "http://server/souk/v1/customers/ada/transactions")
        #expect(request.headers["Content-Type"] == "application/json")
        let sent = try WireJSON.decode(PostTransactionsRequest.self, from: request.body.buffered ?? [])
        #expect(sent.signedTransactions == [transaction(1), transaction(2)].map(\.signedTransaction))
        #expect(sent.signedRenewalInfos == ["renewal-1"])
    }

    @Test func `without transactions the customer is read`() async throws {
        let transport = ScriptedTransport([try answer(customer(features: ["pro"]))])
        let validation = try await client(transport).validate([], for: "ada")
        #expect(validation.acknowledged.isEmpty && validation.customer.features.map(\.name) == ["pro"])
        #expect(transport.requests.map(\.method) == [.get])
    }

    @Test func `more than a hundred transactions are sent in several requests`() async throws {
        let transport = ScriptedTransport([
            try answer(
                PostTransactionsAnswer(
                    customer: customer(),
                    acknowledgedTransactionIDs: (0..<100).map { TransactionID(unchecked: "\($0)") })),
            try answer(
                PostTransactionsAnswer(
                    customer: customer(features: ["pro"]), acknowledgedTransactionIDs: ["100"],
                    rejected: [1, 2].map {
                        RejectedTransaction(index: $0, code: "malformed", detail: "No.", retryable: false)
                    })),
        ])
        let validation = try await client(transport).validate(
            (0..<102).map { transaction($0, renewal: [7, 101].contains($0) ? "renewal-\($0)" : nil) }, for: "ada")
        #expect(validation.acknowledged.count == 101)
        #expect(validation.rejected.map(\.index) == [101, 103], "the second transaction, and the second renewal info")
        #expect(validation.customer.features.map(\.name) == ["pro"])
        let counts = try transport.requests.map {
            try WireJSON.decode(PostTransactionsRequest.self, from: $0.body.buffered ?? []).signedTransactions?.count
        }
        #expect(counts == [100, 2])
    }

    @Test func `long transactions are sent in requests that the server accepts`() async throws {
        let empty = try answer(PostTransactionsAnswer(customer: customer(), acknowledgedTransactionIDs: []))
        let transport = ScriptedTransport([empty, empty, empty])
        _ = try await client(transport).validate(
            [transaction(1, size: 300 << 10), transaction(2, size: 300 << 10), transaction(3, size: 600 << 10)],
            for: "ada")
        #expect(transport.requests.count == 3)
    }

    @Test func `a repetition has the same idempotency key, a new call another`() async throws {
        let answer = try answer(PostTransactionsAnswer(customer: customer(), acknowledgedTransactionIDs: ["1"]))
        let transport = ScriptedTransport([
            .fail(HTTPError(.connectionLost, "Gone.")), answer, answer,
        ])
        let client = client(transport)
        for _ in 0..<2 { _ = try await client.validate([transaction(1)], for: "ada") }
        let keys = transport.requests.map { $0.headers["Idempotency-Key"] ?? "" }
        #expect(keys[0] == keys[1] && keys[1] != keys[2])
        #expect(keys.allSatisfy { $0.count == 64 })
        #expect(
            transport.requests.map { $0.body.buffered }
                == Array(repeating: transport.requests[0].body.buffered, count: 3))
        #expect(transport.requests.allSatisfy { $0.headers.values("Authorization").count == 1 })
    }

    @Test func `a single invalid transaction is rejected, not thrown`() async throws {
        let transport = ScriptedTransport([
            try problem(422, "signatureInvalid", detail: "The signature does not hold."),
            try answer(customer(features: ["export"])),
        ])
        let validation = try await client(transport).validate([transaction(1)], for: "ada")
        #expect(
            validation.rejected == [
                RejectedTransaction(
                    index: 0, code: "signatureInvalid", detail: "The signature does not hold.", retryable: false)
            ])
        #expect(validation.acknowledged.isEmpty)
        #expect(validation.customer.features.map(\.name) == ["export"])
    }

    @Test func `a request that is refused as a whole is thrown`() async throws {
        let one = ScriptedTransport([try problem(422, "idempotency_mismatch")])
        await #expect(throws: PurchaseError(.validationError)) {
            try await client(one).validate([transaction(1)], for: "ada")
        }
        let two = ScriptedTransport([try problem(422, "malformed")])
        await #expect(throws: PurchaseError(.validationError)) {
            try await client(two).validate([transaction(1), transaction(2)], for: "ada")
        }
    }

    // MARK: - Refusals

    @Test(arguments: [
        (400, PurchaseError.Code.validationError, false), (401, .invalidKey, false), (403, .notAllowed, false),
        (404, .protocolError, false), (409, .protocolError, false), (413, .validationError, false),
        (422, .validationError, false), (429, .rateLimited, true), (500, .serverError, true),
        (501, .unsupported, false), (502, .serverError, true), (503, .serverError, true), (301, .protocolError, false),
    ])
    func `each status has its error`(status: Int, code: PurchaseError.Code, isRetryable: Bool) async throws {
        let transport = ScriptedTransport([.answer(status: status)])
        let error = await #expect(throws: PurchaseError.self) {
            try await client(transport, backoff: .none).customer("ada")
        }
        #expect(error?.code == code)
        #expect(error?.isRetryable == isRetryable)
    }

    @Test func `the server's reasons are in the error, and its retryable member counts`() async throws {
        let transport = ScriptedTransport([try problem(409, "busy", retryable: true, detail: "Two at once.")])
        let error = await #expect(throws: PurchaseError.self) {
            try await client(transport, backoff: .none).customer("ada")
        }
        #expect(error?.code == .protocolError && error?.isRetryable == true)
        #expect(error?.reason.contains("Two at once.") ?? false)
        #expect((error?.underlying as? HTTPProblem)?.code == "busy")
    }

    @Test(arguments: [
        (HTTPError.Code.timeout, PurchaseError.Code.unreachable), (.hostNotFound, .unreachable),
        (.connectionFailed, .unreachable), (.connectionLost, .unreachable), (.tlsFailed, .unreachable),
        (.cancelled, .unreachable), (.bodyFailed, .unreachable), (.bodyTooLarge, .protocolError),
        (.protocolError, .protocolError), (.invalidURL, .protocolError), (.invalidHeader, .protocolError),
    ])
    func `each failure of a transport has its error`(failure: HTTPError.Code, code: PurchaseError.Code) async {
        let transport = ScriptedTransport([.fail(HTTPError(failure, "So it is."))])
        await #expect(throws: PurchaseError(code)) { try await client(transport, backoff: .none).customer("ada") }
    }

    @Test func `an unknown failure of a transport means that the server is unreachable`() async {
        let transport = ScriptedTransport([.fail(Refusal())])
        await #expect(throws: PurchaseError(.unreachable)) {
            try await client(transport, backoff: .none).customer("ada")
        }
    }

    @Test(arguments: ["", "{", "[]", #"{"customer":"ada"}"#])
    func `an answer with another structure is refused`(body: String) async {
        let transport = ScriptedTransport([.answer(HTTPResponse(status: 200, body: .text(body)))])
        await #expect(throws: PurchaseError(.decodingError)) { try await client(transport).customer("ada") }
    }

    @Test func `no error repeats the key, even if the server does`() async throws {
        let transport = ScriptedTransport([
            try problem(401, "unauthorized", detail: "There is no key pk_secret here.")
        ])
        let error = await #expect(throws: PurchaseError.self) { try await client(transport).customer("ada") }
        var text = ""
        dump(error, to: &text)
        #expect(!text.contains("pk_secret"))
        #expect(error?.reason.contains("There is no key [redacted] here.") ?? false)
    }

    @Test func `the description of a key does not contain it`() {
        let key: APIKey = "pk_secret"
        var text = "\(key) \(String(reflecting: key)) "
        dump(EntitlementServiceClient.Configuration(baseURL: "", key: key), to: &text)
        #expect(!text.contains("pk_secret"))
    }

    // MARK: - Repetition

    @Test func `a retryable request is repeated with growing pauses`() async throws {
        let transport = ScriptedTransport([
            .answer(status: 503), .fail(HTTPError(.timeout, "Late.")), .answer(status: 500),
            try answer(customer(features: ["pro"])),
        ])
        let client = client(transport, backoff: Backoff(attempts: 4, initial: .seconds(1), maximum: .seconds(3)))
        #expect(try await client.customer("ada").features.map(\.name) == ["pro"])
        #expect(naps.withLock { $0 } == [.seconds(1), .seconds(2), .seconds(3)])
    }

    @Test func `the number of attempts is limited`() async {
        let transport = ScriptedTransport([.answer(status: 503), .answer(status: 503), .answer(status: 502)])
        await #expect(throws: PurchaseError(.serverError)) { try await client(transport).customer("ada") }
        #expect(naps.withLock { $0.count } == 2)
    }

    @Test func `a refused request is not repeated`() async {
        let transport = ScriptedTransport([.answer(status: 401)])
        await #expect(throws: PurchaseError(.invalidKey)) { try await client(transport).customer("ada") }
        #expect(naps.withLock { $0.isEmpty })
    }

    @Test func `the server's pause is used`() async throws {
        let transport = ScriptedTransport([
            .answer(status: 429, headers: ["Retry-After": "7"]), try answer(customer()),
        ])
        _ = try await client(transport).customer("ada")
        #expect(naps.withLock { $0 } == [.seconds(7)])
    }

    @Test func `a pause that is too long is left to the caller`() async {
        let transport = ScriptedTransport([.answer(status: 503, headers: ["Retry-After": "120"])])
        let error = await #expect(throws: PurchaseError.self) { try await client(transport).customer("ada") }
        #expect(error?.code == .serverError && error?.retryAfter == .seconds(120))
        #expect(naps.withLock { $0.isEmpty })
    }

    @Test func `a cancelled caller gets a cancellation error`() async throws {
        let arrived = Gate()
        arrived.open()
        let transport = ScriptedTransport([
            .perform { _ in
                await arrived.pass()
                do {
                    try await untilCancelled()
                } catch {
                    throw HTTPError(.cancelled, "Cancelled.")
                }
            }
        ])
        let client = client(transport)
        let caller = Task { try await client.customer("ada") }
        await arrived.arrivals()
        caller.cancel()
        await #expect(throws: CancellationError.self) { try await caller.value }
    }

    // MARK: - Credit

    @Test func `credit is requested and spent with the customer's own token`() async throws {
        let transport = ScriptedTransport([
            try answer(CreditBalance(type: "coins", earned: 100, spent: 30, prices: ["filter": 5])),
            try answer(RedeemAnswer(type: "coins", balance: 65, items: [.init(id: "a", type: "filter", cost: 5)])),
        ])
        var configuration = EntitlementServiceClient.Configuration(baseURL: "http://server", key: "pk_secret")
        configuration.customerToken = { "token of \($0)" }
        let client = EntitlementServiceClient(configuration: configuration, transport: transport)
        #expect(try await client.credit("coins", of: "ada").balance == 70)
        let answer = try await client.redeem([.init(id: "a", type: "filter")], credit: "coins", of: "ada")
        #expect(answer.balance == 65)
        let requests = transport.requests
        #expect(
            requests.map(\.url) == [
                "http://server/v1/customers/ada/credits/coins", "http://server/v1/customers/ada/credits/coins/redeem",
            ])
        #expect(requests.map { $0.headers["Souk-Customer-Token"] } == ["token of ada", "token of ada"])
        #expect(requests.last?.headers["Idempotency-Key"] != nil)
    }

    // MARK: - Offers

    private static let signed = SignedOffer(
        productID: "pro", offerID: "back", appAccountToken: CustomerID(unchecked: "ada").appAccountToken,
        signature: .init(keyID: "K", nonce: UUID(), timestamp: 1_795_185_600_000, signature: [1, 2]),
        compactJWS: "a.b.c")

    @Test func `an offer is signed with the customer's own token, and eligibility is requested`() async throws {
        let eligibility = OfferEligibilityAnswer(
            customer: "ada", environment: .sandbox, asOf: asOf,
            products: [
                .init(
                    productID: "pro", groupID: "g", introductoryOffer: .init(isEligible: false, reason: .alreadyUsed),
                    promotionalOffers: [.init(offerID: "back", isEligible: true)])
            ])
        let transport = ScriptedTransport([try answer(Self.signed), try answer(eligibility), try answer(eligibility)])
        var configuration = EntitlementServiceClient.Configuration(baseURL: "http://server", key: "pk_secret")
        configuration.customerToken = { "token of \($0)" }
        let client = EntitlementServiceClient(configuration: configuration, transport: transport)
        let nonce = UUID()
        #expect(try await client.sign(offer: "back", of: "pro", nonce: nonce, for: "ada") == Self.signed)
        #expect(try await client.offerEligibility(of: "ada") == eligibility)
        #expect(try await client.offerEligibility(of: "ada", for: "a b&c") == eligibility)
        let requests = transport.requests
        #expect(
            requests.map(\.url) == [
                "http://server/v1/customers/ada/offer-signatures", "http://server/v1/customers/ada/offer-eligibility",
                "http://server/v1/customers/ada/offer-eligibility?productID=a%20b%26c",
            ])
        #expect(requests.allSatisfy { $0.headers["Souk-Customer-Token"] == "token of ada" })
        let body = try await requests[0].body.json(upTo: 1 << 10)
        #expect(body["productID"] == "pro" && body["offerID"] == "back")
        #expect(body["nonce"]?.stringValue.flatMap(UUID.init(uuidString:)) == nonce)
        #expect(requests[0].headers["Idempotency-Key"] != nil)
    }

    @Test func `a signature for another offer is refused, and so is one that is not base64`() async throws {
        var broken = try WireJSON.document(Self.signed)
        broken["signature"] = "*"
        let transport = ScriptedTransport([
            try answer(Self.signed), try answer(Self.signed), try answer(broken),
            try problem(409, "not_eligible", detail: "alreadyUsed: The customer has used this offer before."),
        ])
        let client = client(transport, backoff: .none)
        var codes: [PurchaseError.Code] = []
        for (offer, product) in [("BACK", "pro"), ("back", "basic"), ("back", "pro"), ("back", "pro")] {
            let error = await #expect(throws: PurchaseError.self) {
                try await client.sign(offer: offer, of: ProductID(unchecked: product), for: "ada")
            }
            if let error { codes.append(error.code) }
            if codes.count == 4 { #expect((error?.underlying as? HTTPProblem)?.code == "not_eligible") }
        }
        #expect(codes == [.protocolError, .protocolError, .decodingError, .protocolError])
    }

    @Test func `without a token there is no request, and the error is retryable`() async throws {
        struct Away: Error {}
        var configuration = EntitlementServiceClient.Configuration(baseURL: "http://server", key: "pk_secret")
        configuration.customerToken = { _ in throw Away() }
        let client = EntitlementServiceClient(configuration: configuration, transport: ScriptedTransport())
        await #expect {
            try await client.customer("ada")
        } throws: { error in
            (error as? PurchaseError)?.isRetryable == true
        }
    }
}
