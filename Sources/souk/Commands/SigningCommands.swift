import AppStoreSimulator
import Foundation
import Primitives
import SignedData
import StoreModel

/// `souk offer sign` and `souk token create`: signatures of an app's server for Apple, with a key of App Store Connect.
enum SigningCommands {
    private static let keyOptions: [Command.Option] = [
        .init(name: "key", value: "FILE", help: "the private key, as App Store Connect gives it (.p8)"),
        .init(name: "key-id", value: "K", help: "the key's id; without it, taken from the name AuthKey_K.p8"),
        .init(name: "issuer-id", value: "I", help: "the issuer id of the team in App Store Connect"),
        .init(name: "bundle-id", value: "B", help: "the app"),
    ]

    static let token = Command(
        words: ["token", "create"], summary: "Create a bearer token for the App Store Server API",
        options: keyOptions + [
            .init(
                name: "simulator", value: "FOLDER|FILE|-",
                help: "the data folder or the first line of souk simulate, instead of key, ids and app"),
            .init(name: "lifetime", value: "D", help: "the lifetime of the token, at most 60m (default 20m)"),
            .init(name: "json", help: "print one JSON value"),
        ],
        details: """
            For the App Store, whose sandbox is at https://api.storekit-sandbox.apple.com:
              curl -H "Authorization: Bearer $(souk token create --key AuthKey_K.p8 --issuer-id I --bundle-id B)" \\
                  https://api.storekit.apple.com/inApps/v2/history/TRANSACTION
            For a simulator, whose key is in its data folder:
              souk simulate --catalog F.storekit --data FOLDER > store.json &
              curl -H "Authorization: Bearer $(souk token create --simulator FOLDER)" \\
                  $(souk wait store.json)/inApps/v2/history/TRANSACTION
            Without --data, the first line has the path of the key: --simulator store.json.
            """
    ) { typed in
        let arguments = try await withSimulator(typed)
        let identity = try Identity(arguments)
        let key = try identity.serverKey(arguments)
        let lifetime = try lifetime(arguments.text("lifetime") ?? "20m")
        let now = SystemClock().now()
        let token = try signing { () throws(SignedDataError) in try key.token(at: now, lifetime: lifetime) }
        if arguments.has("json") {
            let issued = Date(timeIntervalSince1970: now.timeIntervalSince1970.rounded(.down))
            try Terminal.print(json: [
                "token": .string(token), "keyIdentifier": .string(identity.keyID),
                "issuedAt": .string(RFC3339.string(from: issued)),
                "expiresAt": .string(RFC3339.string(from: issued.addingTimeInterval(lifetime))),
            ])
        } else {
            try Terminal.print("\(token)")
        }
        return .success
    }

    /// Replaces `--simulator` by the options in the data folder or the first line of a simulator. Throws `UsageError`
    /// for another folder or file, and if one of these options is given too.
    private static func withSimulator(_ arguments: Arguments) async throws -> Arguments {
        guard let file = arguments.text("simulator") else { return arguments }
        try refuse(["key", "key-id", "issuer-id", "bundle-id"], of: arguments, because: "--simulator has it")
        var isFolder: ObjCBool = false
        if FileManager.default.fileExists(atPath: file, isDirectory: &isFolder), isFolder.boolValue {
            let summary: SimulatedAppStore.Summary
            do { summary = try await SimulatedAppStore.summary(of: file) } catch let error as SimulatorError {
                throw UsageError(error.reason)
            }
            let api = summary.serverAPI
            return arguments.filled(
                with: [
                    "key": [api.privateKey], "key-id": [api.keyID], "issuer-id": [api.issuerID],
                    "bundle-id": [summary.bundleID.rawValue],
                ])
        }
        let line = try InputFile.text(file).split(separator: "\n").first.map { Array($0.utf8) } ?? []
        guard let greeting = try? JSONValue(parsing: line), let api = greeting["serverAPI"],
            let key = api["privateKey"]?.stringValue, let keyID = api["keyID"]?.stringValue,
            let issuer = api["issuerID"]?.stringValue, let bundle = greeting["bundleID"]?.stringValue
        else { throw UsageError("\(file): this is not the first line of souk simulate") }
        return arguments.filled(
            with: ["key": [key], "key-id": [keyID], "issuer-id": [issuer], "bundle-id": [bundle]])
    }

    private static func lifetime(_ text: String) throws -> TimeInterval {
        let period = try Arguments.period(text)
        let seconds: [SubscriptionPeriod.Unit: Int] = [.second: 1, .minute: 60, .hour: 3600]
        guard let unit = seconds[period.unit], period.value <= 3600, period.value * unit <= 3600 else {
            throw UsageError("--lifetime is at most 60m, the longest Apple accepts, not \(text.quoted)")
        }
        return TimeInterval(period.value * unit)
    }

    static let offer = Command(
        words: ["offer", "sign"], summary: "Sign a promotional offer, introductory eligibility or commerce request",
        options: [
            .init(name: "offer", value: "O", help: "sign a promotional offer, by its id in App Store Connect"),
            .init(name: "version", value: "1|2", help: "the version of the promotional offer's signature (default 2)"),
            .init(
                name: "intro-eligibility", value: "true|false",
                help: "sign the customer's eligibility for the introductory offer instead"),
            .init(
                name: "advanced-commerce", value: "FILE|-",
                help: "sign this Advanced Commerce request instead, a JSON object"
            ),
        ] + keyOptions + [
            .init(name: "product", value: "P", help: "the subscription"),
            .init(
                name: "transaction-id", value: "T",
                help: "any transaction of the customer; needed for --intro-eligibility, recommended for version 2"),
            .init(name: "account-token", value: "UUID", help: "version 1: the payment's appAccountToken"),
            .init(
                name: "application-username", value: "TEXT",
                help: "version 1: the payment's applicationUsername instead"),
            .init(name: "nonce", value: "UUID", help: "use this instead of a random one"),
            .init(name: "timestamp", value: "T", help: "sign with this time, RFC 3339 or milliseconds since 1970"),
            .init(name: "json", help: "print one JSON value: all parameters for StoreKit"),
        ],
        details: """
            Version 2, eligibility and commerce requests are one JWS. Version 1 is a signature with its key id, nonce and
            timestamp; it needs no --issuer-id.
            """
    ) { arguments in
        let request = try OfferRequest(arguments)
        let identity = try Identity(arguments)
        let nonce = try uuid("nonce", of: arguments) ?? UUID()
        let instant = try timestamp(of: arguments) ?? SystemClock().now()
        switch request {
        case .version1(let product, let offerID, let username):
            let offer = PromotionalOffer(
                bundleID: identity.bundleID, productID: product, offerID: offerID, applicationUsername: username)
            let signature = try signing { () throws(SignedDataError) in
                try PromotionalOfferSignature.sign(
                    offer, key: identity.key, keyID: identity.keyID, nonce: nonce, at: instant)
            }
            try print(signature, for: offer, asJSON: arguments.has("json"))
        case .jws(let request):
            let key = try identity.serverKey(arguments)
            let jws = try signing { () throws(SignedDataError) in try key.sign(request, nonce: nonce, at: instant) }
            guard arguments.has("json") else {
                try Terminal.print("\(jws)")
                break
            }
            try Terminal.print(json: [
                "version": 2, "audience": .string(request.audience.rawValue), "keyIdentifier": .string(identity.keyID),
                "nonce": .string(nonce.uuidString.lowercased()), "jws": .string(jws),
            ])
        }
        return .success
    }

    /// The signature to create, in one of Apple's two forms.
    private enum OfferRequest {
        case version1(ProductID, offerID: String, username: String)
        case jws(AppStoreRequest)

        init(_ arguments: Arguments) throws {
            let kinds = ["offer", "intro-eligibility", "advanced-commerce"].filter { arguments.text($0) != nil }
            guard kinds.count == 1 else {
                throw UsageError("souk offer sign needs one of --offer, --intro-eligibility and --advanced-commerce")
            }
            let version = try arguments.integer("version", in: 1...2) ?? 2
            let version1Options = ["account-token", "application-username"]
            switch (kinds[0], version) {
            case ("offer", 1):
                try refuse(["transaction-id", "issuer-id"], of: arguments, because: "version 1 does not contain it")
                guard version1Options.filter({ arguments.text($0) != nil }).count < 2 else {
                    throw UsageError("--account-token and --application-username set the same value; give one")
                }
                let username = try uuid("account-token", of: arguments)?.uuidString
                self = .version1(
                    try product(arguments), offerID: try arguments.required("offer"),
                    username: username ?? arguments.text("application-username") ?? "")
            case ("offer", _):
                try refuse(
                    version1Options, of: arguments, because: "version 2 does not contain it; it has --transaction-id")
                self = .jws(
                    .promotionalOffer(
                        try arguments.required("offer"), for: try product(arguments),
                        transactionID: try arguments.identifier("transaction-id")))
            case ("intro-eligibility", _):
                try refuse(
                    version1Options + ["version"], of: arguments, because: "--intro-eligibility does not contain it")
                let texts = ["true": true, "false": false]
                guard let isAllowed = texts[try arguments.required("intro-eligibility")] else {
                    throw UsageError("--intro-eligibility is true or false")
                }
                let transaction: TransactionID = try Arguments.identifier(
                    try arguments.required("transaction-id"), called: "--transaction-id")
                self = .jws(
                    .introductoryOfferEligibility(isAllowed, for: try product(arguments), transactionID: transaction))
            default:
                try refuse(
                    version1Options + ["version", "product", "transaction-id"], of: arguments,
                    because: "the request of --advanced-commerce contains it")
                self = .jws(.advancedCommerce(try InputFile.read(try arguments.required("advanced-commerce"))))
            }
        }
    }

    private static func print(
        _ signature: PromotionalOfferSignature, for offer: PromotionalOffer, asJSON: Bool
    ) throws {
        let nonce = signature.nonce.uuidString.lowercased()
        guard asJSON else {
            try Terminal.print("keyIdentifier  \(signature.keyID)")
            try Terminal.print("nonce          \(nonce)")
            try Terminal.print("timestamp      \(signature.timestamp)")
            try Terminal.print("signature      \(signature.base64)")
            return
        }
        try Terminal.print(json: [
            "version": 1, "offerIdentifier": .string(offer.offerID), "keyIdentifier": .string(signature.keyID),
            "nonce": .string(nonce), "timestamp": .number(signature.timestamp), "signature": .string(signature.base64),
            "applicationUsername": .string(offer.applicationUsername),
        ])
    }

    /// The key, issuer and app of a signature.
    private struct Identity {
        let key: SigningKey
        let keyID: String
        let bundleID: BundleID

        init(_ arguments: Arguments) throws {
            let path = try arguments.required("key")
            bundleID = try Arguments.identifier(try arguments.required("bundle-id"), called: "--bundle-id")
            guard let keyID = arguments.text("key-id") ?? SigningCommands.keyID(inName: path) else {
                throw UsageError(
                    path: path, "the file name does not contain the key's id as AuthKey_K.p8 does; give --key-id")
            }
            self.keyID = keyID
            let bytes = try InputFile.read(path, limit: 1 << 16)
            do { key = try SigningKey(bytes) } catch { throw UsageError("\(path): \(error.reason)") }
        }

        /// The key with the issuer of its team.
        func serverKey(_ arguments: Arguments) throws -> AppStoreConnectKey {
            AppStoreConnectKey(key, id: keyID, issuerID: try arguments.required("issuer-id"), bundleID: bundleID)
        }
    }

    /// The key's id in the file name that App Store Connect uses.
    static func keyID(inName path: String) -> String? {
        let name = path.split(separator: "/").last ?? ""
        let parts = name.split(separator: "_", maxSplits: 1)
        guard parts.count == 2, ["AuthKey", "SubscriptionKey"].contains(parts[0]), parts[1].hasSuffix(".p8") else {
            return nil
        }
        return String(parts[1].dropLast(3))
    }

    /// Turns `claimInvalid` into `UsageError`, because the invalid value comes from the command line.
    private static func signing<Result>(_ body: () throws(SignedDataError) -> Result) throws -> Result {
        do { return try body() } catch  where error.code == .claimInvalid { throw UsageError(error.reason) }
    }

    private static func product(_ arguments: Arguments) throws -> ProductID {
        try Arguments.identifier(try arguments.required("product"), called: "--product")
    }

    private static func refuse(_ names: [String], of arguments: Arguments, because reason: String) throws {
        for name in names where arguments.text(name) != nil {
            throw UsageError("--\(name) cannot be given here: \(reason)")
        }
    }

    private static func uuid(_ name: String, of arguments: Arguments) throws -> UUID? {
        guard let text = arguments.text(name) else { return nil }
        guard let uuid = UUID(text: text) else {
            throw UsageError("--\(name) is a UUID such as 368f3888-dcd8-11ef-b3c8-325096b39f47, not \(text.quoted)")
        }
        return uuid
    }

    private static func timestamp(of arguments: Arguments) throws -> Date? {
        if let milliseconds = arguments.text("timestamp").flatMap(Int64.init), milliseconds.magnitude < 1 << 53 {
            return Date(timeIntervalSince1970: Double(milliseconds) / 1000)
        }
        return try arguments.time("timestamp")
    }
}
