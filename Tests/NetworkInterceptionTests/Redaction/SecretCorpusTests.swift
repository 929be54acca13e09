import Foundation
import HTTPCore
import NetworkInterception
import Primitives
import Testing

/// Redaction removes each secret of one corpus, and nothing of the harmless corpus.
@Suite struct SecretCorpusTests {
    private static let secret = "PLANTED7xK9mQ2vT4rB8nL5w"
    private static let digits = "481516234278"

    @Test func `the corpora have at least 200 secrets and 100 harmless texts`() {
        #expect(SecretCorpus.all.count >= 200)
        #expect(HarmlessCorpus.all.count >= 100)
    }

    @Test(arguments: SecretCorpus.all)
    func `a planted secret is removed`(_ planted: Planted) {
        let record = planted.record(Self.secret, digits: Self.digits)
        #expect(!Self.leaks(record).isEmpty, "the record has the secret before redaction")
        let redacted = Redaction.standard.redacted(record)
        #expect(Self.leaks(redacted).isEmpty, "\(Self.texts(redacted))")
        let again = Redaction.standard.redacted(redacted)
        #expect(Self.texts(again) == Self.texts(redacted), "a second redaction changes nothing")
    }

    @Test(
        arguments: SecretCorpus.members + SecretCorpus.nested + SecretCorpus.objects + SecretCorpus.escaped
            + SecretCorpus.markup
            + SecretCorpus.multipart)
    func `a planted secret is removed from a body that was cut inside the secret`(_ planted: Planted) throws {
        if planted.template.contains("ghp_") || planted.template.contains("gh\\u0070_") { return }
        var record = planted.record(Self.secret, digits: Self.digits)
        let body = try #require(record.response?.body.buffered)
        let end = try #require(Self.cut(body))
        record.originalRequest.body = .bytes(Array(body[..<end]))
        let redacted = try #require(Redaction.standard.redacted(record).originalRequest.body.buffered)
        let text = String(decoding: redacted, as: UTF8.self)
        #expect(!text.contains(Self.secret.prefix(6)) && !text.contains(Self.digits.prefix(6)), "\(text)")
    }

    @Test(arguments: SecretCorpus.quotedHeadersInJSON)
    func `JSON stays JSON when a header in one of its strings is removed`(_ planted: Planted) throws {
        let redacted = Redaction.standard.redacted(planted.text(Self.secret, digits: Self.digits))
        #expect(throws: Never.self, "\(redacted)") { try JSONValue(parsing: Array(redacted.utf8)) }
    }

    @Test(arguments: SecretCorpus.cards)
    func `the number of a payment card is removed`(_ text: String) {
        let redacted = Redaction.standard.redacted(text)
        #expect(redacted.contains("[redacted]") && redacted.filter(\.isNumber).count < 8, "\(redacted)")
        if text.hasPrefix("{") {
            #expect(throws: Never.self) { try JSONValue(parsing: Array(redacted.utf8)) }
        }
    }

    @Test(arguments: SecretCorpus.beforeHexadecimal)
    func `a token of 32 hexadecimal digits is removed, and a longer or shorter one is not`(_ prefix: String) {
        let digits = String(repeating: "8f3a1c0d", count: 4)
        let redacted = Redaction.standard.redacted("see \(prefix)\(digits) here")
        #expect(redacted == "see [redacted] here")
        for text in ["see \(prefix)\(digits)x here", "see \(prefix)\(digits.dropLast()) here"] {
            #expect(Redaction.standard.redacted(text) == text)
        }
    }

    @Test(arguments: HarmlessCorpus.all)
    func `text that is not a secret is unchanged`(_ harmless: Planted) {
        let record = harmless.record("", digits: "")
        let redacted = Redaction.standard.redacted(record)
        #expect(Self.texts(redacted) == Self.texts(record))
    }

    private static func leaks(_ record: Record) -> [String] {
        texts(record).filter { $0.contains(secret) || $0.contains(digits) }
    }

    /// All content of a record, with each reading of its bodies.
    static func texts(_ record: Record) -> [String] {
        var texts = [record.originalRequest.url, record.designatedRequest.url]
        var headers = record.originalRequest.headers.fields + record.designatedRequest.headers.fields
        headers += record.response?.headers.fields ?? []
        texts += headers.map { "\($0.name): \($0.value)" }
        for body in [record.originalRequest.body, record.designatedRequest.body, record.response?.body] {
            texts += TextReadings.all(of: body?.buffered ?? [])
        }
        if let failure = record.failure { texts.append(String(reflecting: failure)) }
        return texts
    }

    /// A place in the middle of the secret.
    private static func cut(_ body: [UInt8]) -> Int? {
        for secret in [Array(secret.utf8), Array(digits.utf8)] {
            if let place = body.indices.first(where: { body[$0...].starts(with: secret) }) { return place + 10 }
        }
        return nil
    }
}

/// Bytes as text: in UTF-8, and without zero bytes, which shows the ASCII characters of UTF-16 and UTF-32.
enum TextReadings {
    static func all(of bytes: [UInt8]) -> [String] {
        guard !bytes.isEmpty else { return [] }
        let text = String(decoding: bytes, as: UTF8.self)
        guard bytes.contains(0) else { return [text] }
        return [text, String(decoding: bytes.filter { $0 != 0 }, as: UTF8.self)]
    }
}
