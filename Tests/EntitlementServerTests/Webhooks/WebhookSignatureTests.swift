import EntitlementServer
import Foundation
import Testing

@Suite struct WebhookSignatureTests {
    private let body = Array(#"{"type":"customer.updated"}"#.utf8)
    private let now = Date(timeIntervalSince1970: 1_763_650_000.75)
    private let secret = try! WebhookSecret("0123456789abcdef0123456789abcdef")
    private let old = try! WebhookSecret("fedcba9876543210fedcba9876543210")

    private func failure(
        _ header: String?, of body: [UInt8]? = nil, after seconds: Double = 0, secrets: [WebhookSecret]? = nil
    ) -> WebhookSignature.VerificationError? {
        do {
            try WebhookSignature.check(
                header, of: body ?? self.body, at: now.addingTimeInterval(seconds), secrets: secrets ?? [secret])
            return nil
        } catch {
            return error
        }
    }

    @Test func `a signature with the secret is accepted, and equals that of openssl`() {
        let header = WebhookSignature.header(for: body, at: now, secrets: [secret])
        // printf '1763650000.{"type":"customer.updated"}' | openssl dgst -sha256 -hmac 0123456789abcdef0123456789abcdef
        #expect(header == "t=1763650000,v1=45717a556ecf24b15ce510b158bcc8390291d938e0c77a7573b26cbeced2309d")
        #expect(failure(header) == nil)
        #expect(failure("v1=00, later=7 ,\(header)") == nil)
    }

    @Test func `while a secret is replaced, either side may switch first`() {
        let both = WebhookSignature.header(for: body, at: now, secrets: [secret, old])
        #expect(failure(both, secrets: [old]) == nil)
        #expect(failure(both, secrets: [secret]) == nil)
        let former = WebhookSignature.header(for: body, at: now, secrets: [old])
        #expect(failure(former, secrets: [secret, old]) == nil)
        #expect(failure(former, secrets: [secret]) == .signatureMismatch)
    }

    @Test func `a signature of another body or time, and a shortened one, are rejected`() {
        let header = WebhookSignature.header(for: body, at: now, secrets: [secret])
        #expect(failure(header, of: body + [0x20]) == .signatureMismatch)
        #expect(failure(header.replacingOccurrences(of: "t=1763650000", with: "t=1763650001")) == .signatureMismatch)
        #expect(failure(String(header.dropLast(2))) == .signatureMismatch)
        #expect(failure(header, secrets: []) == .signatureMismatch)
    }

    @Test func `a signature is current for five minutes to either side`() {
        let header = WebhookSignature.header(for: body, at: now, secrets: [secret])
        #expect(failure(header, after: 299) == nil && failure(header, after: -300) == nil)
        #expect(failure(header, after: 300) == .timestampOutOfTolerance)
        #expect(failure(header, after: -301.75) == .timestampOutOfTolerance)
        #expect(failure(header, after: 4000, secrets: [old]) == .signatureMismatch)
    }

    @Test(arguments: [
        "", "t=1", "v1=00", "t=1,v1=0", "t=1,v1=zz", "t=,v1=00", "t=-1,v1=00", "t=1,t=1,v1=00", "t 1,v1=00",
        "t=99999999999999999999,v1=00", "t=1" + String(repeating: ",v1=00", count: 9),
        "t=1,v1=00" + String(repeating: ",", count: 40) + "x",
    ])
    func `a malformed header is rejected as malformed`(header: String) {
        #expect(failure(header) == .malformed)
    }

    @Test func `a missing header is rejected`() { #expect(failure(nil) == .missing) }

    @Test func `a short secret is refused, and descriptions contain no secret`() {
        #expect(throws: EntitlementServerError(.invalidConfiguration, "")) { try WebhookSecret("fifteen bytes!!") }
        #expect("\(secret)" == "secret of a webhook")
        var dumped = ""
        dump(secret, to: &dumped)
        #expect(!dumped.contains("0123"))
    }
}
