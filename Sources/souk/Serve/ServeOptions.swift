import Foundation
import Primitives
import StoreModel

/// The options of `souk serve`, as flags, environment variables and members of the configuration file.
enum ServeOptions {
    /// Options of the server as a whole.
    static let ofServer: [Command.Option] =
        [
            LedgerLocation.option, LedgerLocation.isolation, LedgerLocation.preparedStatements,
            .init(name: "port", value: "N", help: "the port; 0, the default, lets the system choose"),
            .init(name: "host", value: "ADDRESS", help: "the address to listen on (127.0.0.1)"),
            .init(name: "bundle-id", value: "B", repeats: true, help: "an app of the server"),
            .init(
                name: "environment", value: "E", repeats: true,
                help: "production, sandbox or xcode, the first being the default (production and sandbox)",
                choices: SignedDataOptions.environmentNames),
            .init(
                name: "root", value: "FILE", repeats: true,
                help: "a root to trust instead of Apple's, such as a simulator's, DER or PEM"),
            .init(name: "clock", value: "URL", help: "follow the virtual time of a simulator; needs --root"),
            .init(
                name: "max-connections", value: "N",
                help:
                    "the limit of open connections; above it, the connection that was idle for longest is closed (10000)"
            ),
            .init(name: "tls-certificate", value: "FILE", help: "serve https with this certificate chain, PEM"),
            .init(name: "tls-key", value: "FILE", help: "the private key of the certificate, PEM"),
            console, consoleOrigin, revocationCheck, formerFeatures, LedgerLocation.standby, LedgerLocation.standbyLag,
            .init(name: "event-retention", value: "DURATION", help: "how long events are kept (30d)"),
        ] + ServiceOptions.options + FigureOptions.options

    static let console = Command.Option(
        name: "console", help: "serve the console at /console; needs a loopback address or TLS")

    static let consoleOrigin = Command.Option(
        name: "console-origin", value: "ORIGIN",
        help: "serve the console behind a proxy with TLS, such as https://console.example.com")

    static let revocationCheck = Command.Option(
        name: "revocation-check", value: "WHAT",
        help:
            "ask Apple whether a certificate was revoked: off, soft (accept signed data without an answer) or hard (off)",
        choices: ["off", "soft", "hard"])

    static let formerFeatures = Command.Option(
        name: "former-features", value: "WHAT",
        help: "PostgreSQL: ignore or activate this server's features if later ones have replaced them (ignore)",
        choices: ["ignore", "activate"])

    /// Options of each app; the file may set them for one app.
    static let ofApp: [Command.Option] =
        [
            .init(name: "app-apple-id", value: "N", help: "the app's Apple ID in the App Store"),
            .init(name: "features", value: "FILE", help: "the feature map: the features and credits of each product"),
            .init(name: "catalog", value: "F.storekit", help: "the products for /showcase/get-price-points"),
            transferMode,
            .init(
                name: "customer-tokens", value: "WHETHER",
                help: "whether requests with a public key need a customer token: required or optional (optional)",
                choices: ["required", "optional"]),
            retentionRules, offerRules,
            ServiceOptions.rateLimit,
            ServiceOptions.customerRateLimit,
            .init(
                name: "refund-policy", value: "FILE",
                help: "the rules that answer refund requests; needs --app-store-key, unless the file says dryRun"),
        ] + AppStoreOptions.options + GooglePlayOptions.options

    static let transferMode = Command.Option(
        name: "transfer-mode", value: "M", help: "transfer, transferIfInactive, keepWithOriginal or share (transfer)",
        choices: TransferMode.allCases.map(\.rawValue))

    static let retentionRules = Command.Option(
        name: "retention-rules", value: "FILE",
        help: "the rules that choose a message for customers who may cancel a subscription")

    static let offerRules = Command.Option(
        name: "offer-rules", value: "FILE", help: "the promotional offers that the server signs")

    static let config = Command.Option(name: "config", value: "FILE", help: "a JSON file of these options and more")

    static let check = Command.Option(
        name: "check", help: "check the settings, their files and the database, and exit without serving")

    static let all = ofServer + ofApp

    /// The environment variable of a flag: `--tls-key` is `SOUK_TLS_KEY`.
    static func variable(of option: Command.Option) -> String {
        "SOUK_" + option.name.uppercased().replacingOccurrences(of: "-", with: "_")
    }

    /// The member of the file for a flag: `--tls-key` is `tlsKey`.
    static func member(of option: Command.Option) -> String {
        let words = option.name.split(separator: "-")
        return words.dropFirst().reduce(String(words[0])) { $0 + $1.prefix(1).uppercased() + $1.dropFirst() }
    }

    /// The value of a switch that is on. A switch is a flag without a value, a variable with `on` or `off`, or a member
    /// with true or false.
    private static let on = "on"

    /// Returns the values of the environment variables. Spaces separate several values of one variable.
    static func values(in environment: [String: String]) -> [String: [String]] {
        all.reduce(into: [:]) { values, option in
            guard let text = environment[variable(of: option)], !text.isEmpty else { return }
            values[option.name] = option.repeats ? text.split(separator: " ").map(String.init) : [text]
        }
    }

    /// Reads the members for `options`. Throws `UsageError` for an unknown member or a value of another type.
    static func values(
        in members: JSONMembers, of options: [Command.Option], beside others: [String], at pointer: String
    ) throws -> [String: [String]] {
        var values: [String: [String]] = [:]
        for (name, value) in members where !others.contains(name) {
            guard let option = options.first(where: { member(of: $0) == name }) else {
                throw UsageError("\(pointer)/\(name): there is no such setting; see Documentation/Configuration.md")
            }
            if option.value == nil {
                guard let isOn = value.boolValue else {
                    throw UsageError("\(pointer)/\(name): this should be true or false")
                }
                values[option.name] = [isOn ? on : "off"]
                continue
            }
            let texts = (option.repeats ? value.arrayValue ?? [value] : [value]).map(text)
            guard !texts.contains(nil) else {
                throw UsageError(
                    "\(pointer)/\(name): this should be a string or a number\(option.repeats ? ", or a list of them" : "")"
                )
            }
            values[option.name] = texts.compactMap(\.self)
        }
        return values
    }

    private static func text(_ value: JSONValue) -> String? {
        if case .number(let number) = value { number.text } else { value.stringValue }
    }
}
