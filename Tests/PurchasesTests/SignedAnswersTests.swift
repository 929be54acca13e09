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

    func signature(of message: [UInt8]) -> [UInt8] { SHA256.hash(Array(secret.utf8) + message) }

    func verify(_ signature: [UInt8], of message: [UInt8], keyID: String) throws {
        guard keyID == "key", signature == self.signature(of: message) else { throw Refused() }
    }

    /// The answer to `request` with the signature of this server, whose clients ask below `base`.
    func sign(
        _ response: HTTPResponse, to request: HTTPRequest, base: String = "http://server/souk",
        spoiling spoil: (inout HTTPResponse) -> Void = { _ in }
    ) -> HTTPResponse {
        var response = response
        let message = SignedAnswer.message(
            nonce: request.query?["nonce"] ?? "", target: String(request.url.dropFirst(base.count)), date: "now",
            etag: response.headers["ETag"], body: response.body.buffered ?? [])
        let signature = SignedAnswer.Signature(keyID: "key", bytes: signature(of: message))
        response.headers.add(SignedAnswer.signatureField, signature.field)
        response.headers.add(SignedAnswer.dateField, "now")
        spoil(&response)
        return response
    }
}

@Suite(.timeLimit(.minutes(1))) struct SignedAnswersTests {
    private let signer = HashSigner()

    private func client(_ transport: ScriptedTransport) -> EntitlementServiceClient {
        var configuration = EntitlementServiceClient.Configuration(baseURL: "http://server/souk/", key: "pk_secret")
        configuration.answerVerifier = signer
        configuration.backoff = Backoff(attempts: 2)
        configuration.sleep = { _ in }
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

    @Test func `an answer that is signed for the question is used`() async throws {
        let answer = try customer()
        let transport = ScriptedTransport([.perform { [signer] in signer.sign(answer, to: $0) }])
        #expect(try await client(transport).customer("ada").customer == "ada")
        let query = try #require(transport.requests.first?.query)
        #expect(UUID(uuidString: try #require(query["nonce"])) != nil)
    }

    @Test func `no two questions have one nonce`() async throws {
        let answer = try customer()
        let transport = ScriptedTransport(
            Array(repeating: .perform { [signer] in signer.sign(answer, to: $0) }, count: 3))
        let client = client(transport)
        for _ in 0..<3 { _ = try await client.customer("ada") }
        #expect(Set(transport.requests.compactMap { $0.query?["nonce"] }).count == 3)
    }

    @Test func `that nothing changed must be signed as well`() async throws {
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

    @Test func `a signed refusal says what it says`() async throws {
        let refusal = problem(403)
        let transport = ScriptedTransport([.perform { [signer] in signer.sign(refusal, to: $0) }])
        let error = await #expect(throws: PurchaseError.self) { _ = try await client(transport).customer("ada") }
        #expect(error?.code == .notAllowed && error?.reason.contains("What it says.") == true)
    }

    @Test func `an unsigned answer is not used, nor asked for again`() async throws {
        for response in [try customer(), problem(401), problem(404)] {
            let transport = ScriptedTransport([.answer(response)])
            let error = await #expect(throws: PurchaseError.self) { _ = try await client(transport).customer("ada") }
            #expect(error?.code == .untrustedAnswer && error?.isRetryable == false)
            #expect(error?.reason.contains("What it says.") == false)
        }
    }

    @Test func `a proxy that cannot reach the server is an error of the way, whatever it says`() async throws {
        let transport = ScriptedTransport([.answer(problem(502)), .answer(problem(502))])
        let error = await #expect(throws: PurchaseError.self) { _ = try await client(transport).customer("ada") }
        #expect(error?.code == .serverError && error?.isRetryable == true && error?.underlying == nil)
    }

    @Test(
        arguments: [
            { $0.body = .text("{}") }, { $0.headers["ETag"] = "\"2\"" }, { $0.headers["Souk-Signature-Date"] = "then" },
            { $0.headers["Souk-Signature-Date"] = nil }, { $0.headers["Souk-Signature"] = "keyid=\"key\"" },
            {
                $0.headers["Souk-Signature"] = $0.headers["Souk-Signature"]?.replacingOccurrences(
                    of: "\"key\"", with: "\"k\"")
            },
        ] as [@Sendable (inout HTTPResponse) -> Void])
    func `what was changed on the way is noticed`(spoil: @escaping @Sendable (inout HTTPResponse) -> Void) async throws
    {
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

    @Test func `without a verifier nothing is asked to be signed`() async throws {
        let transport = ScriptedTransport([.answer(try customer())])
        let configuration = EntitlementServiceClient.Configuration(baseURL: "http://server", key: "pk_secret")
        _ = try await EntitlementServiceClient(configuration: configuration, transport: transport).customer("ada")
        #expect(transport.requests.first?.url == "http://server/v1/customers/ada")
    }
}
