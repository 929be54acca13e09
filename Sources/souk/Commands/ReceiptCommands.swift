import Foundation
import Primitives
import SignedData
import StoreModel

/// `souk receipt inspect` and `souk receipt verify`.
enum ReceiptCommands {
    static let verify = Command(
        words: ["receipt", "verify"], summary: "Verify an app receipt and print its content", operands: ["FILE|-"],
        options: options,
        details: """
            The file is the receipt itself or its base64, with or without line breaks. Without --environment, receipts of
            production and of the sandbox are accepted; those of Xcode need --environment xcode and, as --root, the
            certificate that signed them. The certificates are checked at the time of the receipt. Exit 1 when the
            receipt is not valid; then --json prints {"error":{"code","reason","retryable"}}.
            """
    ) { arguments in
        let isJSON = arguments.has("json")
        var configuration = ReceiptVerifier.Configuration(
            bundleIDs: try arguments.identifier("bundle-id", as: BundleID.self).map { [$0] },
            environments: try SignedDataOptions.environments(from: arguments),
            trustAnchors: try SignedDataOptions.anchors(from: arguments))
        configuration.chainDate = try arguments.time("at")
        let device = try device(from: arguments)
        let file = try InputFile.read(arguments.operands[0])
        do {
            let verified = try ReceiptVerifier(configuration: configuration).verify(
                try ReceiptEncoding.bytes(of: file), for: device, appVersion: arguments.text("app-version"))
            try await SignedDataOptions.revocation(from: arguments)?.check(verified.chain)
            let receipt = verified.receipt
            SignedDataOptions.noteUnchecked("bundle", "bundle-id", arguments, found: receipt.bundleID?.rawValue)
            SignedDataOptions.noteUnchecked(
                "environment", "environment", arguments, found: receipt.environment?.rawValue)
            try Terminal.print(json: receipt.json, pretty: !isJSON)
            return .success
        } catch let error as SignedDataError {
            return try SignedDataOptions.report(error, asJSON: isJSON)
        }
    }

    static let inspect = Command(
        words: ["receipt", "inspect"], summary: "Print the content of a receipt without verifying it",
        operands: ["FILE|-"], options: [SignedDataOptions.json] + SignedDataOptions.ignored(options.dropLast()),
        details: """
            Prints "verified": false, the output of souk receipt verify, and the certificates in the receipt.
            """
    ) { arguments in
        let isJSON = arguments.has("json")
        let file = try InputFile.read(arguments.operands[0])
        do {
            let content = try UnverifiedReceipt(unverified: try ReceiptEncoding.bytes(of: file))
            var members = JSONMembers()
            members["verified"] = false
            if case .object(let receipt) = content.unverifiedReceipt.json {
                for (name, value) in receipt { members[name] = value }
            }
            members["certificates"] = SignedDataOptions.json(of: content.unverifiedCertificates)
            Terminal.note("NOT VERIFIED: anyone can create such a receipt; souk receipt verify checks it.")
            try Terminal.print(json: .object(members), pretty: !isJSON)
            return .success
        } catch let error as SignedDataError {
            return try SignedDataOptions.report(error, asJSON: isJSON)
        }
    }

    private static let options: [Command.Option] =
        SignedDataOptions.accepted + [
            .init(name: "app-version", value: "V", help: "the expected version of the app"),
            .init(
                name: "device-id", value: "ID",
                help: "the expected device: a UUID with hyphens, a MAC address with colons, or base64"),
        ] + SignedDataOptions.trusted + [SignedDataOptions.json]

    private static func device(from arguments: Arguments) throws -> DeviceIdentifier? {
        guard let text = arguments.text("device-id") else { return nil }
        do { return try DeviceIdentifier(text) } catch {
            throw UsageError("--device-id is a UUID with hyphens, a MAC address with colons, or bytes in base64")
        }
    }
}
