import Foundation
import Primitives
import StoreModel
import Testing

@testable import SignedData

/// Documents with one fault each, in the form, the algorithm, the signature or the payload.
@Suite struct RefusedFormTests {
    struct Fault: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let code: SignedDataError.Code
        let make: @Sendable (TestStore) throws -> String

        init(_ name: String, _ code: SignedDataError.Code, _ make: @escaping @Sendable (TestStore) throws -> String) {
            testDescription = name
            self.code = code
            self.make = make
        }

        /// A header with one different member.
        static func header(_ name: String, _ value: JSONValue?, _ code: SignedDataError.Code) -> Fault {
            Fault("\(name): \(value.map(\.description) ?? "absent")", code) { store in
                var header = store.header
                header[name] = value
                return try store.sign(header: header)
            }
        }

        /// A payload as a string.
        static func payload(_ text: String) -> Fault {
            Fault("payload \(text.prefix(40))", .payloadMalformed) { try $0.signer.sign(Array(text.utf8)) }
        }
    }

    @Test(arguments: form + headers + signatures + payloads)
    func `a document with a fault is refused with the code of the fault`(fault: Fault) throws {
        let store = try TestStore()
        let verifier = store.verifier
        let jws = try fault.make(store)
        #expect(refusal { try verifier.transaction(jws) } == fault.code)
        #expect(refusal { try verifier.transaction(jws) } == fault.code, "the second time as the first")
        #expect(refusal { try verifier.transaction(store.signer.sign(TestStore.transaction())) } == nil)
    }

    @Test func `an error quotes the input in one short printable line`() throws {
        let store = try TestStore()
        let long = String(repeating: "x", count: 5000) + "\u{1B}[31m\n\u{202E}"
        var name = CertificateTemplate.root
        name.commonName = String(long.prefix(60)) + "\u{1B}"
        let twice = store.header.text().replacingOccurrences(
            of: #"{"alg""#, with: "{\"\(long.prefix(5000))\":1,\"\(long.prefix(5000))\":1,\"alg\"")
        let hostile = [
            try store.signed(replacing: 0) { _ in Base64.encodeURL(Array(twice.utf8)) },
            try TestStore(root: name).signer.sign(TestStore.transaction()),
            try store.signer.sign(Array(#"{"\#(long.prefix(5000))":1,"\#(long.prefix(5000))":2}"#.utf8)),
        ]
        for jws in hostile {
            #expect {
                try store.verifier.transaction(jws)
            } throws: { error in
                let reason = (error as? SignedDataError)?.reason ?? ""
                return (1..<300).contains(reason.count)
                    && reason.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0 != "\u{202E}" }
            }
        }
    }

    static let form: [Fault] = [
        Fault("empty", .malformed) { _ in "" },
        Fault("two segments", .malformed) { store in
            try store.signer.sign(TestStore.transaction()).split(separator: ".").prefix(2).joined(separator: ".")
        },
        Fault("four segments", .malformed) { try $0.signer.sign(TestStore.transaction()) + ".AAAA" },
        Fault("empty payload", .malformed) { try $0.signed(replacing: 1) { _ in "" } },
        Fault("empty signature", .malformed) { try $0.signed(replacing: 2) { _ in "" } },
        Fault("a line feed at the end", .malformed) { try $0.signer.sign(TestStore.transaction()) + "\n" },
        Fault("a space in front", .malformed) { try " " + $0.signer.sign(TestStore.transaction()) },
        Fault("padded signature", .malformed) { try $0.signed(replacing: 2) { $0 + "==" } },
        Fault("padded header", .malformed) { try $0.signed(replacing: 0) { $0 + "=" } },
        Fault("signature in the other alphabet", .malformed) { try $0.signed(replacing: 2) { "+" + $0.dropFirst() } },
        Fault("unused bits in the signature", .malformed) { try $0.signed(replacing: 2) { $0.dropLast() + "_" } },
        Fault("signed over padded base64", .malformed) { store in
            let header = Base64.encodeURL(store.header.encoded())
            let input = "\(header).\(Base64.encode(Array(#"{"signedDate":1} "#.utf8)))"
            #expect(input.hasSuffix("="))
            return "\(input).\(Base64.encodeURL(try store.chain.leafKey.signature(of: Array(input.utf8))))"
        },
        Fault("signed over unused bits", .malformed) { store in
            let header = Base64.encodeURL(store.header.encoded())
            // Only two of the six bits of the last character count, because the payload has 16 bytes: Q and R differ in
            // an unused bit.
            let payload = Base64.encodeURL(Array(#"{"signedDate":1}"#.utf8))
            try #require(payload.hasSuffix("Q"))
            let input = "\(header).\(payload.dropLast())R"
            return "\(input).\(Base64.encodeURL(try store.chain.leafKey.signature(of: Array(input.utf8))))"
        },
        Fault("a line feed in the payload", .malformed) { store in
            let header = Base64.encodeURL(store.header.encoded())
            let input = "\(header).\n\(Base64.encodeURL(TestStore.transaction().json.encoded()))"
            return "\(input).\(Base64.encodeURL(try store.chain.leafKey.signature(of: Array(input.utf8))))"
        },
        Fault("too long", .tooLarge) { store in
            var payload = TestStore.transaction()
            payload.fields["padding"] = .string(String(repeating: "x", count: 200_000))
            return try store.signer.sign(payload)
        },
        Fault("header too long", .tooLarge) { store in
            var header = store.header
            header["padding"] = .string(String(repeating: "x", count: 24_000))
            return try store.sign(header: header)
        },
    ]

    static let headers: [Fault] = [
        .header("alg", "none", .unsupportedAlgorithm), .header("alg", "HS256", .unsupportedAlgorithm),
        .header("alg", "ES384", .unsupportedAlgorithm), .header("alg", "RS256", .unsupportedAlgorithm),
        .header("alg", "es256", .unsupportedAlgorithm), .header("alg", "ES256K", .unsupportedAlgorithm),
        .header("alg", "None", .unsupportedAlgorithm), .header("alg", "", .unsupportedAlgorithm),
        .header("alg", nil, .malformed), .header("alg", 256, .malformed), .header("crit", ["exp"], .malformed),
        .header("crit", [], .malformed), .header("x5c", nil, .missingCertificateChain),
        .header("x5c", "text", .malformed), .header("x5c", [], .chainLength),
        .header("x5c", [1, 2, 3], .certificateMalformed), .header("x5c", ["a", "b", "c"], .certificateMalformed),
        .header("x5c", ["AAAA", "AAAA", "AAAA"], .certificateMalformed),
        .header("x5c", ["", "", ""], .certificateMalformed),
        Fault("header is no object", .malformed) { try $0.sign(header: ["ES256"]) },
        Fault("header is no JSON", .malformed) {
            try $0.signed(replacing: 0) { _ in Base64.encodeURL(Array("x".utf8)) }
        },
        Fault("a name twice in the header", .malformed) { store in
            let text = store.header.text().replacingOccurrences(of: #"{"alg""#, with: #"{"alg":"ES256","alg""#)
            return try store.signed(replacing: 0) { _ in Base64.encodeURL(Array(text.utf8)) }
        },
        Fault("certificates without padding", .certificateMalformed) { store in
            let unpadded = store.certificates.map { JSONValue.string(Base64.encodeURL($0)) }
            return try store.sign(header: ["alg": "ES256", "x5c": .array(unpadded)])
        },
        Fault("a byte after the leaf", .certificateMalformed) { store in
            try store.sign(certificates: [store.certificates[0] + [0], store.certificates[1], store.certificates[2]])
        },
        Fault("a byte after the intermediate", .certificateMalformed) { store in
            try store.sign(certificates: [store.certificates[0], store.certificates[1] + [0], store.certificates[2]])
        },
        Fault("a byte after the root", .certificateMalformed) { store in
            try store.sign(certificates: [store.certificates[0], store.certificates[1], store.certificates[2] + [0]])
        },
        Fault("a leaf in BER", .certificateMalformed) { store in
            // A length with an unnecessary byte: 30 83 00 hi lo in place of 30 82 hi lo.
            let leaf = store.certificates[0]
            try #require(leaf[1] == 0x82)
            return try store.sign(certificates: [
                [0x30, 0x83, 0x00] + leaf.dropFirst(2), store.certificates[1], store.certificates[2],
            ])
        },
        Fault("a line feed in a certificate's base64", .certificateMalformed) { store in
            var texts = store.certificates.map { Base64.encode($0) }
            texts[0].insert("\n", at: texts[0].index(texts[0].startIndex, offsetBy: 64))
            return try store.sign(header: ["alg": "ES256", "x5c": .array(texts.map { .string($0) })])
        },
    ]

    static let zero = [UInt8](repeating: 0, count: 32)
    static let ones = [UInt8](repeating: 0xFF, count: 32)

    static func signature(_ r: some Sequence<UInt8>, _ s: some Sequence<UInt8>) -> [UInt8] { Array(r) + Array(s) }

    static let signatures: [Fault] = [
        Fault("signed by another key", .signatureInvalid) { store in
            try JWSSigner(key: SigningKey.generate(), certificates: store.certificates).sign(TestStore.transaction())
        },
        Fault("tampered payload", .signatureInvalid) { store in
            try store.signed(replacing: 1) { _ in
                Base64.encodeURL(TestStore.transaction(id: "2000000000000002").json.encoded())
            }
        },
        Fault("header of another leaf", .signatureInvalid) { store in
            let key = try SigningKey.generate()
            let issuer = CertificateTemplate.Issuer(
                certificate: store.chain.intermediate, key: store.chain.intermediateKey)
            let leaf = try CertificateTemplate.leaf.issue(for: key, by: issuer)
            let other = try JWSSigner(
                key: key, certificates: [leaf.der, store.certificates[1], store.certificates[2]]
            ).sign(TestStore.transaction())
            return try store.signed(replacing: 0) { _ in String(other.split(separator: ".")[0]) }
        },
        Fault("DER instead of r and s", .signatureInvalid) { store in
            try store.signed { ECDSASignature.der(fromRaw: $0) ?? [] }
        },
        Fault("63 bytes", .signatureInvalid) { store in try store.signed { $0.dropLast() } },
        Fault("65 bytes", .signatureInvalid) { store in try store.signed { signature($0, [0]) } },
        Fault("r is zero", .signatureInvalid) { try $0.signed { signature(zero, $0.suffix(32)) } },
        Fault("s is zero", .signatureInvalid) { try $0.signed { signature($0.prefix(32), zero) } },
        Fault("r is beyond the order", .signatureInvalid) {
            try $0.signed { signature(ones, $0.suffix(32)) }
        },
        Fault("r and s exchanged", .signatureInvalid) { try $0.signed { signature($0.suffix(32), $0.prefix(32)) } },
    ]

    static let payloads: [Fault] = [
        .payload("no JSON"), .payload("[]"), .payload("null"), .payload(#""text""#),
        .payload(#"{"signedDate":1700000000000,"#), .payload(#"{"bundleId":"com.example","environment":"Sandbox"}"#),
        .payload(#"{"signedDate":1,"signedDate":1700000000000}"#), .payload(#"{"signedDate":"now"}"#),
        .payload(#"{"signedDate":null}"#), .payload(#"{"signedDate":1e300}"#), .payload(#"{"signedDate":-1e999}"#),
        .payload(#"{"signedDate":1700000000000,"environment":"Sandbox"}"#),
        .payload(#"{"signedDate":1700000000000,"bundleId":"com.example"}"#),
        .payload(#"{"signedDate":1700000000000,"bundleId":"com.example","environment":"Sandbox","price":"free"}"#),
        .payload(#"{"signedDate":1700000000000,"bundleId":"com.example","environment":"Sandbox","quantity":1.5}"#),
        .payload(#"{"signedDate":1700000000000,"bundleId":7,"environment":"Sandbox"}"#),
        .payload(
            #"{"signedDate":1700000000000,"bundleId":"com.example","environment":"Sandbox","expiresDate":1e300}"#),
        .payload(
            #"{"signedDate":1700000000000,"bundleId":"com.example","environment":"Sandbox","bundleId":"com.example"}"#),
        .payload(
            #"{"signedDate":1700000000000,"bundleId":"com.example","environment":"Sandbox","new":[{"a":1,"\u0061":2}]}"#
        ),
        .payload(#"{"signedDate":1700000000000,"bundleId":"com.example","environment":"Sandbox"} {}"#),
        .payload(#"{"signedDate":1700000000000,"bundleId":"com.example","environment":1}"#),
        .payload(String(repeating: #"{"a":"#, count: 40) + "1" + String(repeating: "}", count: 40)),
        Fault("payload of bytes that are no UTF-8", .payloadMalformed) { try $0.signer.sign([0x7B, 0xFF, 0x7D]) },
    ]
}
