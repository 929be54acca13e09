import Foundation
import Primitives
import StoreModel
import Testing

@testable import SignedData

/// `souk receipt verify` and `souk receipt inspect` with receipts of a test store.
@Suite struct ReceiptCommandTests {
    private let folder: TemporaryFolder
    private let chain: SigningChain
    private let root: [String]

    init() throws {
        folder = try TemporaryFolder()
        chain = try SigningChain.generate()
        root = ["--root", try folder.write("root.der", chain.root.der)]
    }

    private static func receipt(_ type: String = "ProductionSandbox") -> AppReceipt {
        AppReceipt(
            receiptType: type, bundleID: "com.example", appVersion: "42", originalAppVersion: "1.0",
            creationDate: Date(timeIntervalSince1970: 1_700_000_000), opaqueValue: [0, 1, 0xFE, 0xFF],
            inAppPurchases: [
                .init(
                    quantity: 2, productID: "com.example.pro", transactionID: "2000000012",
                    purchaseDate: Date(timeIntervalSince1970: 1_699_999_000), originalTransactionID: "2000000001",
                    originalPurchaseDate: Date(timeIntervalSince1970: 1_690_000_000),
                    productType: .autoRenewableSubscription, expiresDate: Date(timeIntervalSince1970: 1_700_086_400),
                    webOrderLineItemID: "9007199254740993",
                    cancellationDate: Date(timeIntervalSince1970: 1_700_000_001),
                    isTrialPeriod: false, isInIntroOfferPeriod: true, promotionalOfferID: "comeback"),
                .init(productID: "com.example.coins", transactionID: "0"),
            ],
            otherAttributes: [ReceiptAttribute(type: 6, value: [0xDE, 0xAD]), ReceiptAttribute(type: 1, integer: 0)])
    }

    private func file(
        _ receipt: AppReceipt = receipt(), for device: DeviceIdentifier? = nil, _ name: String = "receipt"
    ) throws -> String {
        try folder.write(name, try ReceiptSigner(chain).sign(receipt, for: device))
    }

    private func verify(_ arguments: [String], input: String? = nil) async throws -> SoukExecutable.Outcome {
        try await SoukExecutable.run(["receipt", "verify"] + arguments + root + ["--json"], input: input)
    }

    @Test func `verify prints every member of the receipt in one line of JSON`() async throws {
        let outcome = try await verify([try file()])
        #expect(
            outcome.output == #"""
                {"bundleID":"com.example","appVersion":"42","originalAppVersion":"1.0","receiptType":"ProductionSandbox",\#
                "creationDate":"2023-11-14T22:13:20Z","opaqueValue":"0001feff","inAppPurchases":[\#
                {"productID":"com.example.coins","transactionID":"0"},\#
                {"productID":"com.example.pro","quantity":2,"transactionID":"2000000012",\#
                "originalTransactionID":"2000000001","purchaseDate":"2023-11-14T21:56:40Z",\#
                "originalPurchaseDate":"2023-07-22T04:26:40Z","expiresDate":"2023-11-15T22:13:20Z",\#
                "cancellationDate":"2023-11-14T22:13:21Z","webOrderLineItemID":"9007199254740993",\#
                "isTrialPeriod":false,"isInIntroOfferPeriod":true,"promotionalOfferID":"comeback","productType":3}],\#
                "unknownAttributes":{"1":"020100","6":"dead"}}

                """#)
        #expect(outcome.status == 0)
    }

    @Test func `a receipt is read as bytes, as base64 and as base64 in lines, from a file and from standard input`()
        async throws
    {
        let bytes = try ReceiptSigner(chain).sign(Self.receipt())
        let text = Base64.encode(bytes)
        let lines = stride(from: 0, to: text.count, by: 76).map { text.dropFirst($0).prefix(76) }
        var answers: Set<String> = []
        for (name, content) in [
            ("der", bytes), ("base64", Array(text.utf8)), ("unix", Array(lines.joined(separator: "\n").utf8) + [0x0A]),
            ("dos", Array(lines.joined(separator: "\r\n").utf8) + [0x0D, 0x0A]),
        ] {
            let file = try folder.write(name, content)
            for outcome in [try await verify([file]), try await verify(["-"], input: file)] {
                #expect(outcome.status == 0, "\(name): \(outcome.errors)")
                answers.insert(outcome.output)
            }
        }
        #expect(answers.count == 1)
    }

    @Test func `receipts of production and sandbox are accepted, and those of Xcode only with --environment`()
        async throws
    {
        for (type, environment) in [
            ("Production", "production"), ("ProductionVPP", "production"), ("ProductionSandbox", "sandbox"),
            ("ProductionVPPSandbox", "sandbox"),
        ] {
            let file = try file(Self.receipt(type), type)
            let any = try await verify([file])
            #expect(any.status == 0 && any.json?["receiptType"]?.stringValue == type)
            #expect(any.errors.contains("The environment, \(environment.capitalized), was not checked"))
            #expect(any.errors.contains("The bundle, com.example, was not checked"))
            let named = try await verify([file, "--environment", environment, "--bundle-id", "com.example"])
            #expect(named.status == 0 && named.errors.isEmpty)
            let other = environment == "sandbox" ? "production" : "sandbox"
            let refused = try await verify([file, "--environment", other])
            #expect(refused.status == 1 && refused.json?["error"]?["code"] == "wrongEnvironment")
        }
        let xcode = try file(Self.receipt("Xcode"), "xcode")
        #expect(try await verify([xcode]).json?["error"]?["code"] == "environmentNotAccepted")
        #expect(try await verify([xcode, "--environment", "xcode"]).status == 0)
    }

    @Test func `Xcode's own receipts need their environment and their certificate`() async throws {
        let key = try SigningKey.generate()
        let certificate = try CertificateTemplate(
            commonName: "StoreKit Testing in Xcode", keyUsage: "critical,digitalSignature"
        ).issue(for: key, by: nil)
        let receipt = try folder.write(
            "xcode", try ReceiptSigner(key: key, certificates: [certificate]).sign(Self.receipt("Xcode")))
        let given = ["--root", try folder.write("xcode.pem", certificate.pem)]
        func run(_ arguments: [String]) async throws -> SoukExecutable.Outcome {
            try await SoukExecutable.run(["receipt", "verify", receipt, "--json"] + arguments)
        }
        #expect(try await run(given + ["--environment", "xcode"]).status == 0)
        #expect(try await run(given).json?["error"]?["code"] == "chainLength")
        #expect(try await run(given + ["--environment", "sandbox"]).json?["error"]?["code"] == "chainLength")
        let untrusted = try await run(["--environment", "xcode"])
        #expect(untrusted.json?["error"]?["code"] == "untrustedRoot" && untrusted.errors.contains("without --root"))
        #expect(try await run(root + ["--environment", "xcode"]).json?["error"]?["code"] == "untrustedRoot")
    }

    @Test(arguments: ["01020304-0506-0708-090a-0B0C0D0E0F10", "a4:83:E7:01:02:03", "AQIDBP8="])
    func `a device is a UUID, a MAC address or base64`(device: String) async throws {
        let file = try file(for: try DeviceIdentifier(device))
        let right = try await verify([file, "--device-id", device])
        #expect(right.status == 0 && right.json?["sha1Hash"]?.stringValue?.count == 40, "\(right.errors)")
        let wrong = try await verify([file, "--device-id", "AQIDBAU="])
        #expect(wrong.status == 1 && wrong.json?["error"]?["code"] == "deviceMismatch")
        #expect(!wrong.output.contains(device) && !wrong.errors.contains(device))
    }

    @Test func `a receipt that fails a check gets the code of the check and exit status 1`() async throws {
        let bytes = try ReceiptSigner(chain).sign(Self.receipt())
        let good = try folder.write("good", bytes)
        var forged = bytes
        let place = try #require(bytes.firstRange(of: Array("com.example.coins".utf8)))
        forged[place.upperBound - 1] = UInt8(ascii: "z")
        let legacy = #"{ "signature" = "AAAA"; "purchase-info" = "BBBB"; "pod" = "17"; }"#
        for (arguments, code) in [
            ([good, "--bundle-id", "com.other"], "wrongBundle"), ([good, "--app-version", "43"], "wrongAppVersion"),
            ([try folder.write("forged", forged)], "signatureInvalid"),
            ([try folder.write("cut", Array(bytes.dropLast()))], "malformed"),
            ([try folder.write("empty", "")], "malformed"), ([try folder.write("text", "not base64!")], "malformed"),
            ([try folder.write("legacy", legacy)], "legacyReceipt"),
            ([good, "--device-id", "AQIDBA=="], "deviceMismatch"),
        ] {
            let outcome = try await verify(arguments)
            #expect(outcome.status == 1, "\(arguments)")
            let error = try #require(outcome.json?["error"]?.objectValue)
            #expect(Set(error.keys) == ["code", "reason", "retryable"] && error["retryable"] == false)
            #expect(error["code"]?.stringValue == code, "\(arguments)")
            #expect(error["reason"]?.stringValue?.isEmpty == false)
        }
        let untrusted = try await SoukExecutable.run(["receipt", "verify", good])
        #expect(untrusted.status == 1 && untrusted.output.isEmpty)
        #expect(untrusted.errors.contains("untrustedRoot"))
    }

    @Test func `the certificates are verified at the requested time`() async throws {
        var leaf = CertificateTemplate.leaf
        (leaf.notBefore, leaf.notAfter) = ("20230101000000Z", "20240101000000Z")
        let chain = try SigningChain(root: .root, intermediate: .intermediate, leaf: leaf)
        let receipt = try folder.write("dated", try ReceiptSigner(chain).sign(Self.receipt()))
        let trusted = ["--root", try folder.write("dated.der", chain.root.der), "--json"]
        for (time, code) in [
            (nil, nil), ("2023-06-01T00:00:00Z", nil), ("2022-12-31T23:59:59Z", "certificateExpired"),
            ("2024-01-01T00:00:01Z", "certificateExpired"),
        ] as [(String?, String?)] {
            let at = time.map { ["--at", $0] } ?? []
            let outcome = try await SoukExecutable.run(["receipt", "verify", receipt] + trusted + at)
            #expect(outcome.status == (code == nil ? 0 : 1))
            #expect(outcome.json?["error"]?["code"]?.stringValue == code)
        }
    }

    @Test func `inspect warns that nothing is verified, and shows the content`() async throws {
        var bytes = try ReceiptSigner(chain).sign(Self.receipt())
        bytes[bytes.count - 1] ^= 1
        let forged = try folder.write("forged", bytes)
        let verified = try await verify([try file()])
        for options in [["--json"], []] {
            let outcome = try await SoukExecutable.run(["receipt", "inspect", forged] + options)
            #expect(outcome.status == 0 && outcome.errors.hasPrefix("NOT VERIFIED"))
            var json = try #require(outcome.json?.objectValue)
            #expect(json.removeValue(forKey: "verified") == false)
            let certificates = try #require(json.removeValue(forKey: "certificates")?.arrayValue)
            #expect(
                certificates.map { $0["sha256"]?.stringValue } == chain.certificates.map { Hex.encode($0.fingerprint) })
            #expect(json == verified.json?.objectValue)
        }
        let ignored = try await SoukExecutable.run(
            ["receipt", "inspect", forged, "--bundle-id", "other", "--environment", "xcode", "--device-id", "x"])
        #expect(ignored.status == 0)
        let broken = try await SoukExecutable.run([
            "receipt", "inspect", try folder.write("cut", [0x30, 0x80]), "--json",
        ])
        #expect(broken.status == 1 && broken.json?["error"]?["code"] == "malformed")
    }
}
