import BaseTestSupport
import Foundation
import HTTPCore
import Primitives
import Purchases
import StoreTestSupport
import Testing

/// A server whose signature of a message is the SHA-256 of a secret and the message.
private struct HashSigner: AnswerVerifier {
    struct Refused: Error {}

    var secret = "server"
    var date = "2026-11-22T09:00:00Z"

    func signature(of message: [UInt8]) -> [UInt8] { SHA256.hash(Array(secret.utf8) + message) }

    func verify(_ signature: [UInt8], of message: [UInt8], keyID: String) throws {
        guard keyID == "key", signature == self.signature(of: message) else { throw Refused() }
    }

    /// Returns the answer to `request` with this server's signature. Clients send their requests below `base`.
    func sign(
        _ response: HTTPResponse, to request: HTTPRequest, base: String = "http://server/souk",
        spoiling spoil: (inout HTTPResponse) -> Void = { _ in }
    ) -> HTTPResponse {
        var response = response
        let message = SignedAnswer.message(
            nonce: request.query?["nonce"] ?? "", target: String(request.url.dropFirst(base.count)), date: date,
            etag: response.headers["ETag"], body: response.body.buffered ?? [])
        let signature = SignedAnswer.Signature(keyID: "key", bytes: signature(of: message))
        response.headers.add(SignedAnswer.signatureField, signature.field)
        response.headers.add(SignedAnswer.dateField, date)
        spoil(&response)
        return response
    }
}

@Suite(.timeLimit(.minutes(1))) struct SignedAnswersTests {
    private let signer = HashSigner()

    private func client(
        _ transport: ScriptedTransport, _ configure: (inout EntitlementServiceClient.Configuration) -> Void = { _ in }
    ) -> EntitlementServiceClient {
        var configuration = EntitlementServiceClient.Configuration(baseURL: "http://server/souk/", key: "pk_secret")
        configuration.answerVerifier = signer
        configuration.signatureClock = ManualClock(Date(timeIntervalSince1970: 1_795_338_000))
        configuration.backoff = Backoff(attempts: 2)
        configuration.sleep = { _ in }
        configure(&configuration)
        return EntitlementServiceClient(configuration: configuration, transport: transport)
    }

    private func customer(etag: String? = nil) throws -> HTTPResponse {
        let customer = Customer(customer: "ada", environment: .sandbox, asOf: Date(timeIntervalSince1970: 0))
        return HTTPResponse(
            status: 200, headers: etag.map { ["ETag": $0] } ?? [:], body: .bytes(try WireJSON.encode(customer)))
    }

    private func problem(_ status: Int) -> HTTPResponse {
        HTTPProblem(status: status, code: "c", title: "t", detail: "What it says.").response
    }

    @Test(
        arguments: [
            ("2026-11-22T09:00:00.5Z", 1_795_338_000.5), ("2026-11-22T09:01:00Z", nil), ("2026-11-22T08:58:59Z", nil),
        ] as [(String, TimeInterval?)])
    func `the time of a signed answer is that of its signature, if the Date header agrees`(
        signed: String, seconds: TimeInterval?
    ) async throws {
        let answer = try customer()
        let signer = HashSigner(date: signed)
        let transport = ScriptedTransport([
            .perform { signer.sign(answer, to: $0) { $0.headers["Date"] = "Sun, 22 Nov 2026 09:00:00 GMT" } }
        ])
        let date = try await client(transport).answer(about: "ada").serverTime
        #expect(date == seconds.map { Date(timeIntervalSince1970: $0) })
    }

    @Test func `an answer that is signed for the question is used`() async throws {
        let answer = try customer()
        let transport = ScriptedTransport([.perform { [signer] in signer.sign(answer, to: $0) }])
        #expect(try await client(transport).customer("ada").customer == "ada")
        let query = try #require(transport.requests.first?.query)
        #expect(UUID(uuidString: try #require(query["nonce"])) != nil)
    }

    @Test func `each request has its own nonce`() async throws {
        let answer = try customer()
        let transport = ScriptedTransport(
            Array(repeating: .perform { [signer] in signer.sign(answer, to: $0) }, count: 3))
        let client = client(transport)
        for _ in 0..<3 { _ = try await client.customer("ada") }
        #expect(Set(transport.requests.compactMap { $0.query?["nonce"] }).count == 3)
    }

    @Test func `a 304 must be signed as well`() async throws {
        let (first, unchanged) = (try customer(etag: "\"1\""), HTTPResponse(status: 304, headers: ["ETag": "\"1\""]))
        let transport = ScriptedTransport([
            .perform { [signer] in signer.sign(first, to: $0) },
            .perform { [signer] in signer.sign(unchanged, to: $0) },
            .answer(unchanged),
        ])
        let client = client(transport)
        for _ in 0..<2 { _ = try await client.customer("ada") }
        await #expect(throws: PurchaseError(.untrustedAnswer)) { _ = try await client.customer("ada") }
    }

    @Test func `a signed refusal is used`() async throws {
        let refusal = problem(403)
        let transport = ScriptedTransport([.perform { [signer] in signer.sign(refusal, to: $0) }])
        let error = await #expect(throws: PurchaseError.self) { _ = try await client(transport).customer("ada") }
        #expect(error?.code == .notAllowed && error?.reason.contains("What it says.") == true)
    }

    @Test func `an unsigned answer is not used, and its request is not repeated`() async throws {
        for response in [try customer(), problem(401), problem(404)] {
            let transport = ScriptedTransport([.answer(response)])
            let error = await #expect(throws: PurchaseError.self) { _ = try await client(transport).customer("ada") }
            #expect(error?.code == .untrustedAnswer && error?.isRetryable == false)
            #expect(error?.reason.contains("What it says.") == false)
        }
    }

    @Test func `the unsigned 502 of a proxy is a retryable error`() async throws {
        let transport = ScriptedTransport([.answer(problem(502)), .answer(problem(502))])
        let error = await #expect(throws: PurchaseError.self) { _ = try await client(transport).customer("ada") }
        #expect(error?.code == .serverError && error?.isRetryable == true && error?.underlying == nil)
    }

    @Test(
        arguments: [
            { $0.body = .text("{}") }, { $0.headers["ETag"] = "\"2\"" },
            { $0.headers["Souk-Signature-Date"] = "2026-11-22T09:00:01Z" },
            { $0.headers["Souk-Signature-Date"] = nil }, { $0.headers["Souk-Signature"] = "keyid=\"key\"" },
            {
                $0.headers["Souk-Signature"] = $0.headers["Souk-Signature"]?.replacingOccurrences(
                    of: "\"key\"", with: "\"k\"")
            },
        ] as [@Sendable (inout HTTPResponse) -> Void])
    func `a changed answer is detected`(spoil: @escaping @Sendable (inout HTTPResponse) -> Void) async throws {
        let answer = try customer(etag: "\"1\"")
        let transport = ScriptedTransport([
            .perform { [signer] in signer.sign(answer, to: $0, spoiling: spoil) }
        ])
        await #expect(throws: PurchaseError(.untrustedAnswer)) { _ = try await client(transport).customer("ada") }
    }

    @Test func `the answer to another question, or of another server, is not used`() async throws {
        let answer = try customer()
        let transport = ScriptedTransport([
            .perform { [signer] request in
                var other = request
                other.url = other.url.replacingOccurrences(of: "/ada?", with: "/ben?")
                return signer.sign(answer, to: other)
            },
            .perform { HashSigner(secret: "another").sign(answer, to: $0) },
        ])
        let client = client(transport)
        for _ in 0..<2 {
            await #expect(throws: PurchaseError(.untrustedAnswer)) { _ = try await client.customer("ada") }
        }
    }

    @Test(
        arguments: [
            ("2026-11-21T09:00:00Z", true), ("2026-11-21T08:59:59Z", false), ("2026-11-23T09:00:00Z", true),
            ("2026-11-23T09:00:01Z", false), ("2016-11-22T09:00:00Z", false), ("yesterday", false),
        ])
    func `an answer signed more than a day before or after the client's time is not used`(date: String, isUsed: Bool)
        async throws
    {
        let answer = try customer()
        let transport = ScriptedTransport([.perform { HashSigner(date: date).sign(answer, to: $0) }])
        let client = client(transport)
        guard !isUsed else { return #expect(try await client.customer("ada").customer == "ada") }
        await #expect(throws: PurchaseError(.untrustedAnswer)) { try await client.customer("ada") }
    }

    @Test(arguments: [(300, 301, false), (300, 300, true)] as [(Int, TimeInterval, Bool)])
    func `the app sets how far its clock may differ from the signature's date`(
        tolerance: Int, difference: TimeInterval, isUsed: Bool
    ) async throws {
        let answer = try customer()
        let transport = ScriptedTransport([.perform { [signer] in signer.sign(answer, to: $0) }])
        let client = client(transport) {
            $0.signatureTolerance = .seconds(tolerance)
            $0.signatureClock = ManualClock(Date(timeIntervalSince1970: 1_795_338_000 + difference))
        }
        let found = try? await client.customer("ada")
        #expect((found != nil) == isUsed)
    }

    @Test func `an answer whose status was changed is not used`() async throws {
        let (success, unchanged) = (try customer(etag: "\"1\""), HTTPResponse(status: 304, headers: ["ETag": "\"1\""]))
        let changes: [(HTTPResponse, Int)] = [
            (success, 304), (success, 403), (success, 503), (problem(403), 200), (problem(403), 404),
            (problem(403), 503), (problem(422), 200), (unchanged, 200), (unchanged, 403),
        ]
        for (answer, status) in changes {
            let transport = ScriptedTransport([
                .perform { [signer] request in signer.sign(answer, to: request) { $0.status = status } }
            ])
            let error = await #expect(throws: PurchaseError.self) { try await client(transport).customer("ada") }
            #expect(error?.code == .untrustedAnswer && error?.isRetryable == false, "\(answer.status) as \(status)")
        }
    }

    @Test func `without a verifier no signature is requested`() async throws {
        let transport = ScriptedTransport([.answer(try customer())])
        let configuration = EntitlementServiceClient.Configuration(baseURL: "http://server", key: "pk_secret")
        _ = try await EntitlementServiceClient(configuration: configuration, transport: transport).customer("ada")
        #expect(transport.requests.first?.url == "http://server/v1/customers/ada")
    }

    @Test func `if signed answers are required, nothing is requested without a verifier`() async throws {
        let client = client(ScriptedTransport()) {
            $0.answerVerifier = nil
            $0.requiresSignedAnswers = true
        }
        let error = await #expect(throws: PurchaseError.self) { try await client.customer("ada") }
        #expect(error?.code == .untrustedAnswer && error?.reason.contains("answerVerifier") == true)
    }
}
