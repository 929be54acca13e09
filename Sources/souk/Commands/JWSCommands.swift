import Foundation
import Primitives
import SignedData
import StoreModel

/// `souk jws inspect` and `souk jws verify`.
enum JWSCommands {
    static let verify = Command(
        words: ["jws", "verify"], summary: "check a signed transaction, renewal info, notification or app transaction",
        operands: ["FILE|-"],
        options: [
            typeOption, .init(name: "bundle-id", value: "B", help: "the bundle it must be for"),
            .init(name: "environment", value: "E", help: "production, sandbox or xcode: where it must come from"),
            .init(name: "app-apple-id", value: "N", help: "the App Store's number of the app"),
            .init(
                name: "root", value: "FILE", repeats: true,
                help: "a root to trust instead of Apple's, DER or PEM"),
            .init(name: "at", value: "T", help: "judge the certificates at this time, not at the signed date"),
            .init(name: "json", help: "print one JSON value"),
        ],
        details: """
            Prints the payload as it was signed. Exit 1 when it is not true: with --json as
            {"error":{"code","reason","retryable"}}.
            """
    ) { arguments in
        let jws = try InputFile.text(arguments.operands[0])
        let verifier = SignedDataVerifier(configuration: try configuration(from: arguments))
        let isJSON = arguments.has("json")
        do {
            let payload = try verified(jws, as: try arguments.required("type"), by: verifier)
            for (name, what) in [("bundle-id", "bundle"), ("environment", "environment")]
            where arguments.text(name) == nil {
                Terminal.note("The \(what) was not checked; give --\(name) to check it.")
            }
            if isJSON {
                Terminal.print(String(decoding: payload, as: UTF8.self))
            } else {
                Terminal.print(json: try JSONValue(parsing: payload), pretty: true)
            }
            return .success
        } catch let error as SignedDataError {
            report(error, asJSON: isJSON)
            return .doesNotHold
        }
    }

    static let inspect = Command(
        words: ["jws", "inspect"], summary: "show what a JWS says, without checking that it is true",
        operands: ["FILE|-"],
        // The flags of `verify` are taken too, so that one can be put for the other.
        options: [typeOption, .init(name: "json", help: "print one JSON value")]
            + ["bundle-id", "environment", "app-apple-id", "root", "at"].map {
                .init(name: $0, value: "VALUE", repeats: true, help: "", isHidden: true)
            }
    ) { arguments in
        if let type = arguments.text("type") { _ = try kind(named: type) }
        let jws = try InputFile.text(arguments.operands[0])
        let isJSON = arguments.has("json")
        do {
            let content = try UnverifiedJWS(unverified: jws)
            let certificates = content.unverifiedCertificates.map { certificate -> JSONValue in
                [
                    "subject": .string(certificate.subject),
                    "notBefore": .string(RFC3339.string(from: certificate.validity.lowerBound)),
                    "notAfter": .string(RFC3339.string(from: certificate.validity.upperBound)),
                    "sha256": .string(Hex.encode(certificate.fingerprint)),
                ]
            }
            let value: JSONValue = [
                "verified": false, "header": content.unverifiedHeader, "payload": content.unverifiedPayload,
                "certificates": .array(certificates),
            ]
            Terminal.note("Nothing here was verified; souk jws verify does that.")
            Terminal.print(json: value, pretty: !isJSON)
            return .success
        } catch let error as SignedDataError {
            report(error, asJSON: isJSON)
            return .doesNotHold
        }
    }

    private static let typeOption = Command.Option(
        name: "type", value: "TYPE", help: "transaction, renewal, notification or app-transaction")

    private enum Kind: String, CaseIterable {
        case transaction, renewal, notification
        case appTransaction = "app-transaction"
    }

    private static func kind(named text: String) throws -> Kind {
        guard let kind = Kind(rawValue: text) else {
            let known = Kind.allCases.map(\.rawValue).joined(separator: ", ")
            throw Misuse("--type is one of \(known), not \"\(text)\"")
        }
        return kind
    }

    /// The payload's bytes, once everything holds.
    private static func verified(
        _ jws: String, as type: String, by verifier: SignedDataVerifier
    ) throws -> [UInt8] {
        switch try kind(named: type) {
        case .transaction: try verifier.transaction(jws).payloadBytes
        case .renewal: try verifier.renewalInfo(jws).payloadBytes
        case .notification: try verifier.notification(jws).notification.payloadBytes
        case .appTransaction: try verifier.appTransaction(jws).payloadBytes
        }
    }

    private static func configuration(from arguments: Arguments) throws -> SignedDataVerifier.Configuration {
        _ = try kind(named: try arguments.required("type"))
        var configuration = SignedDataVerifier.Configuration(
            bundleIDs: try arguments.identifier("bundle-id", as: BundleID.self).map { [$0] },
            environments: try arguments.text("environment").map { [try environment(named: $0)] },
            appAppleID: try arguments.integer("app-apple-id", in: 1...Int.max))
        let roots = arguments.texts("root")
        if !roots.isEmpty { configuration.trustAnchors = try anchors(in: roots) }
        configuration.chainDate = try arguments.time("at")
        return configuration
    }

    static func anchors(in files: [String]) throws -> [TrustAnchor] {
        try files.flatMap { file in
            do {
                return try TrustAnchor.certificates(in: try InputFile.read(file))
            } catch let error as SignedDataError {
                throw Misuse("\(file): \(error.reason)")
            }
        }
    }

    static func environment(named text: String) throws -> AppStoreEnvironment {
        guard [.production, .sandbox, .xcode].contains(StoreEnvironment(rawValue: text)) else {
            throw Misuse("--environment is production, sandbox or xcode, not \"\(text)\"")
        }
        return AppStoreEnvironment(rawValue: StoreEnvironment(rawValue: text).appleText)
    }

    private static func report(_ error: SignedDataError, asJSON: Bool) {
        guard asJSON else {
            Terminal.note("souk: not true (\(error.code)): \(error.reason)")
            return
        }
        Terminal.print(json: [
            "error": [
                "code": .string(error.code.rawValue), "reason": .string(error.reason),
                "retryable": .bool(error.isRetryable),
            ]
        ])
    }
}
