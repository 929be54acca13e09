import Foundation
import Primitives
import SignedData
import StoreModel

/// `souk jws inspect` and `souk jws verify`.
enum JWSCommands {
    static let verify = Command(
        words: ["jws", "verify"], summary: "Verify a JWS of the App Store and print its payload",
        operands: ["FILE|-"],
        options: options,
        details: """
            Prints the payload as it was signed. Renewal infos and realtime requests have no bundle id. A JWS of StoreKit
            Testing in Xcode needs --environment xcode and, as --root, the certificate that signed it. Exit 1 when the
            JWS is not valid; then --json prints {"error":{"code","reason","retryable"}}.
            """
    ) { arguments in
        let kind = try kind(named: try arguments.required("type"))
        let jws = try InputFile.text(arguments.operands[0])
        let verifier = SignedDataVerifier(configuration: try configuration(from: arguments))
        let isJSON = arguments.has("json")
        do {
            let payload = try await verified(jws, as: kind, by: verifier)
            if kind.namesBundle {
                SignedDataOptions.noteUnchecked("bundle", "bundle-id", arguments)
            } else {
                Terminal.note("The bundle was not checked; a document of the type \(kind.rawValue) has no bundle id.")
            }
            SignedDataOptions.noteUnchecked("environment", "environment", arguments)
            if isJSON {
                try Terminal.print(.json(String(decoding: payload, as: UTF8.self)))
            } else {
                try Terminal.print(json: try JSONValue(parsing: payload), pretty: true)
            }
            return .success
        } catch let error as SignedDataError {
            return try SignedDataOptions.report(error, asJSON: isJSON)
        }
    }

    static let inspect = Command(
        words: ["jws", "inspect"], summary: "Print the content of a JWS without verifying it",
        operands: ["FILE|-"],
        options: [typeOption, SignedDataOptions.json] + SignedDataOptions.ignored(options.dropFirst().dropLast())
    ) { arguments in
        if let type = arguments.text("type") { _ = try kind(named: type) }
        let jws = try InputFile.text(arguments.operands[0])
        let isJSON = arguments.has("json")
        do {
            let content = try UnverifiedJWS(unverified: jws)
            let value: JSONValue = [
                "verified": false, "header": content.unverifiedHeader, "payload": content.unverifiedPayload,
                "certificates": SignedDataOptions.json(of: content.unverifiedCertificates),
            ]
            Terminal.note("NOT VERIFIED: anyone can create such a JWS; souk jws verify checks it.")
            try Terminal.print(json: value, pretty: !isJSON)
            return .success
        } catch let error as SignedDataError {
            return try SignedDataOptions.report(error, asJSON: isJSON)
        }
    }

    private static let typeOption = Command.Option(
        name: "type", value: "TYPE",
        help: "the expected kind: transaction, renewal, notification, app-transaction or realtime",
        choices: Kind.allCases.map(\.rawValue))

    private static let options: [Command.Option] =
        [typeOption] + SignedDataOptions.accepted + [
            .init(name: "app-apple-id", value: "N", help: "the app's Apple ID in the App Store")
        ] + SignedDataOptions.trusted + [SignedDataOptions.json]

    private enum Kind: String, CaseIterable {
        case transaction, renewal, notification
        case appTransaction = "app-transaction"
        case realtime

        var namesBundle: Bool { self != .renewal && self != .realtime }
    }

    private static func kind(named text: String) throws -> Kind {
        guard let kind = Kind(rawValue: text) else {
            let known = Kind.allCases.map(\.rawValue).joined(separator: ", ")
            throw UsageError("--type is one of \(known), not \(text.quoted)")
        }
        return kind
    }

    /// Returns the payload's bytes after all checks.
    private static func verified(
        _ jws: String, as kind: Kind, by verifier: SignedDataVerifier
    ) async throws(SignedDataError) -> [UInt8] {
        try await verifier.online { verifier throws(SignedDataError) in
            switch kind {
            case .transaction: try verifier.transaction(jws).payloadBytes
            case .renewal: try verifier.renewalInfo(jws).payloadBytes
            case .notification: try verifier.notification(jws).notification.payloadBytes
            case .appTransaction: try verifier.appTransaction(jws).payloadBytes
            case .realtime: try verifier.realtimeRequest(jws).payloadBytes
            }
        }
    }

    private static func configuration(from arguments: Arguments) throws -> SignedDataVerifier.Configuration {
        var configuration = SignedDataVerifier.Configuration(
            bundleIDs: try arguments.identifier("bundle-id", as: BundleID.self).map { [$0] },
            environments: try SignedDataOptions.environments(from: arguments),
            appAppleID: try arguments.integer("app-apple-id", in: 1...Int.max),
            trustAnchors: try SignedDataOptions.anchors(from: arguments))
        configuration.chainDate = try arguments.time("at")
        configuration.revocation = SignedDataOptions.revocation(from: arguments)
        return configuration
    }
}
