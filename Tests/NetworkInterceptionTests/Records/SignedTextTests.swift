import BaseTestSupport
import Foundation
import HTTPCore
import NetworkInterception
import Primitives
import Testing

/// Payloads that a simulator signed are shown decoded, although redaction removes every JWS.
@Suite struct SignedTextTests {
    static let simulator = "Souk Test Root CA"

    /// Bytes that resemble a certificate in the part with the names: the issuer, then the subject.
    private static func certificate(_ subject: String, issuer: String = simulator) -> [UInt8] {
        func name(_ text: String) -> [UInt8] {
            [0x06, 0x03, 0x55, 0x04, 0x03, 0x0C, UInt8(text.utf8.count)] + text.utf8
        }
        return [0x30, 0x82, 0x01, 0x00] + name(issuer) + [0x17, 0x00] + name(subject)
            + Array(repeating: 0x2A, count: 300)
    }

    static func jws(_ claims: JSONValue, root: String = simulator) -> String {
        let chain = [certificate("Leaf"), certificate("Middle"), certificate(root, issuer: root)]
        let header: JSONValue = ["alg": "ES256", "x5c": .array(chain.map { .string(Base64.encode($0)) })]
        return [header.encoded(), claims.encoded(), Array(repeating: 7, count: 64)].map { Base64.encodeURL($0) }
            .joined(separator: ".")
    }

    /// Returns the `signed` member of the details of an exchange, and all details as text.
    private func shown(
        request: String = "", answer: String = "", _ change: (inout Interceptor.Configuration) -> Void = { _ in }
    ) async throws -> (signed: [JSONValue], everything: String) {
        let interceptor = Interceptor.running([], change)
        _ = try await interceptor.transport(
            wrapping: AnyTransport { _ in HTTPResponse(status: 200, body: .text(answer)) }
        ).send(HTTPRequest(method: .post, url: "http://a/", body: .text(request)))
        return try await shown(by: interceptor)
    }

    private func shown(by interceptor: Interceptor) async throws -> (signed: [JSONValue], everything: String) {
        let page = InspectorPage(interceptor)
        defer { page.close() }
        let id = try #require(await interceptor.storage.records(1, after: nil).first).id
        let details = try await InProcessTransport(page).send(
            HTTPRequest(method: .get, url: "http://localhost/api/records/\(id)")
        ).body.json()
        return (details["signed"]?.arrayValue ?? [], details.text())
    }

    @Test func `header and claims are shown with the root and a note about the signature`() async throws {
        let jws = Self.jws(["transactionId": "2000000001", "productId": "pro.yearly", "price": 29_990])
        let (signed, everything) = try await shown(answer: #"{"signedTransaction": "\#(jws)", "state": "purchased"}"#)
        let text = try #require(signed.first)
        #expect(signed.count == 1)
        #expect(text["title"] == "Transaction 2000000001, in the response")
        let claims = try JSONValue(parsing: try #require(text["claims"]?.stringValue))
        #expect(claims == ["transactionId": "2000000001", "productId": "pro.yearly", "price": 29_990])
        let digest = Hex.encode(SHA256.hash(Self.certificate(Self.simulator)))
        let header = try JSONValue(parsing: try #require(text["header"]?.stringValue))
        #expect(header["alg"] == "ES256" && header["x5c"]?.arrayValue?.count == 3)
        #expect(header["x5c"]?[2]?.stringValue?.hasPrefix(Self.simulator + ", SHA-256 ") == true)
        let caveat = try #require(text["notice"]?.stringValue)
        #expect(caveat.hasPrefix("Decoded only: the signature was not checked."))
        #expect(caveat.contains(Self.simulator) && caveat.contains(digest))
        let signature = try #require(jws.split(separator: ".").last)
        #expect(!everything.contains(signature) && everything.contains("[redacted]"))
    }

    @Test func `signed transactions in a notification are shown too`() async throws {
        let transaction = Self.jws(["transactionId": "7"])
        let renewal = Self.jws(["autoRenewProductId": "pro.yearly"])
        let notification = Self.jws([
            "notificationType": "DID_RENEW",
            "data": ["signedTransactionInfo": .string(transaction), "signedRenewalInfo": .string(renewal)],
        ])
        for body in [notification, "payload=\(notification)&a=1", #"["x.eyJ", {"signedPayload":"\#(notification)"}]"#] {
            let (signed, _) = try await shown(request: body)
            #expect(
                signed.compactMap { $0["title"]?.stringValue } == [
                    "Notification DID_RENEW, in the request", "Transaction 7, in the request",
                    "Renewal info of pro.yearly, in the request",
                ])
        }
    }

    @Test(arguments: ["Apple Root CA - G3", "Souk Test Root CA 2", "souk test root ca", ""])
    func `a JWS with another root is not decoded`(root: String) async throws {
        let (signed, everything) = try await shown(answer: Self.jws(["transactionId": "planted"], root: root))
        #expect(signed.isEmpty && !everything.contains("planted"))
    }

    @Test func `secrets in the claims are redacted, and a JWS that was removed before storage is not decoded`()
        async throws
    {
        let jws = Self.jws(["transactionId": "7", "password": "planted-1", "nested": ["apiKey": "planted-2"]])
        let (signed, everything) = try await shown(answer: jws)
        #expect(signed.count == 1 && !everything.contains("planted"))
        let (more, all) = try await shown(answer: jws) {
            $0.preStorageRecordModifier = { record in
                var record = record
                record.result = .success(Response(status: 200))
                return record
            }
        }
        #expect(more.isEmpty && !all.contains("transactionId"), "a JWS that a modifier removed is not decoded")
    }

    @Test(arguments: [
        "", ".", "eyJ", ".eyJ", "eyJ.eyJ", "eyJ.eyJ.", "eyJ.eyJ.x", "..eyJ..eyJ..", "eyJ.eyJ.eyJ.eyJ.eyJ.eyJ.eyJ",
        "eyJhIjoxfQ.eyJhIjoxfQ.AAAA", "eyJ4NWMiOltdfQ.eyJhIjoxfQ.AAAA", "eyJ4NWMiOlsiQSJdfQ.eyJhIjoxfQ.AAAA",
    ])
    func `text that resembles a JWS is ignored`(body: String) async throws {
        #expect(try await shown(request: body, answer: body + "\u{E9}" + body).signed.isEmpty)
    }

    @Test func `a body that is cut inside a JWS shows no secret`() async throws {
        let jws = Self.jws(["transactionId": "7", "token": "planted"])
        for length in stride(from: 0, to: jws.utf8.count, by: 97) {
            let (_, everything) = try await shown(answer: jws) { $0.maximumRecordedBytes = length }
            #expect(!everything.contains("planted"))
        }
    }

    @Test func `decoded payloads are kept in a file of records`() async throws {
        let path = NSTemporaryDirectory() + "signed-\(UUID().uuidString)"
        defer { for end in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + end) } }
        let file = try SQLiteRecordStorage(path: path)
        let (before, _) = try await shown(answer: Self.jws(["transactionId": "7"])) { $0.storage = file }
        await file.close()
        let again = try SQLiteRecordStorage(path: path)
        var configuration = Interceptor.Configuration.standard
        configuration.storage = again
        let (after, _) = try await shown(by: Interceptor([], configuration: configuration))
        #expect(after == before && after.count == 1)
        await again.close()
    }
}
