import CurlTransport
import EntitlementServer
import Foundation
import GooglePlay
import HTTPCore
import Primitives
import SignedData
import StoreModel

/// The options for Google Play: the app, the service account that reads its purchases, and the push subscription of its
/// notifications.
enum GooglePlayOptions {
    static let options: [Command.Option] = [
        .init(name: package, value: "P", help: "the app's package name at Google Play; needs --play-service-account"),
        .init(
            name: account, value: "FILE",
            help: "the key file of a service account that can read the app's purchases"),
        .init(
            name: url, value: "U", help: "the server to use instead of Google's, such as a simulator"),
        .init(
            name: publicKey, value: "KEY",
            help: "the app's licence key in base64, which verifies signed purchases"),
        .init(
            name: consumable, value: "PRODUCT", repeats: true,
            help: "a one-time product that customers can buy again, beside those that give credit"),
        .init(
            name: audience, value: "A",
            help: "the audience of the push subscription that sends notifications"),
        .init(
            name: pushAccount, value: "EMAIL",
            help: "the service account of the push subscription (with --play-url, a simulator's)"),
    ]

    private static let package = "play-package"
    private static let account = "play-service-account"
    private static let url = "play-url"
    private static let publicKey = "play-public-key"
    private static let consumable = "play-consumable"
    private static let audience = "play-rtdn-audience"
    private static let pushAccount = "play-rtdn-account"

    /// The service account with which a simulated Google Play pushes notifications.
    static let simulatorAccount = "play-notifications@souk-simulator.iam.gserviceaccount.com"

    /// The path of the keys with which a simulated Google Play signs the tokens of its notifications.
    static let simulatorKeysPath = "/oauth2/v3/certs"

    /// Returns the Google Play of an app; `nil` without a package name. Throws `UsageError` when an option is missing, or
    /// is given without the package name.
    static func app(_ arguments: Arguments) throws -> GooglePlayApp? {
        guard let name = arguments.text(package) else {
            for option in options.dropFirst() where !arguments.texts(option.name).isEmpty {
                throw UsageError("--\(option.name) needs --\(package) P")
            }
            return nil
        }
        let packageName: PackageName = try Arguments.identifier(name, called: "--\(package)")
        let path = try arguments.required(account)
        let key: ServiceAccountKey
        do { key = try ServiceAccountKey(parsing: try InputFile.read(path, limit: 1 << 16)) } catch let error
            as SignedDataError
        { throw UsageError("\(path): \(error.reason)") }
        let base = try arguments.text(url).map { text in
            guard let parts = URLComponents(string: text), ["http", "https"].contains(parts.scheme),
                parts.host?.isEmpty == false, parts.query == nil, parts.fragment == nil
            else { throw UsageError("--\(url) should be an http or https URL") }
            return text.hasSuffix("/") ? String(text.dropLast()) : text
        }
        let transport = CurlTransport.platformDefault()
        var configuration = GooglePlayClient.Configuration(
            packageName: packageName, key: key, baseURL: base ?? GooglePlayClient.googleURL)
        // The server's own callers wait for the answers.
        configuration.backoff = Backoff(attempts: 2, maximum: .seconds(2))
        configuration.timeout = .seconds(5)
        var app = GooglePlayApp(client: GooglePlayClient(configuration: configuration, transport: transport))
        app.publicKey = try arguments.text(publicKey).map(verificationKey)
        app.consumables = Set(
            try arguments.texts(consumable).map { try Arguments.identifier($0, called: "--\(consumable)") })
        app.notifications = try notifications(arguments, base, transport)
        return app
    }

    private static func verificationKey(_ text: String) throws -> RSAVerificationKey {
        guard let bytes = Base64.decode(text) else {
            throw UsageError("--\(publicKey) should be the base64 of the app's licence key")
        }
        do { return try RSAVerificationKey(bytes) } catch { throw UsageError("--\(publicKey): \(error.reason)") }
    }

    private static func notifications(
        _ arguments: Arguments, _ base: String?, _ transport: any HTTPTransport
    ) throws -> GooglePlayApp.Notifications? {
        let email = arguments.text(pushAccount)
        guard let expected = arguments.text(audience) else {
            guard email == nil else { throw UsageError("--\(pushAccount) needs --\(audience) A") }
            return nil
        }
        // Every user of Google's cloud can get a token with any audience, so the account distinguishes the sender.
        guard let email = email ?? (base == nil ? nil : simulatorAccount) else {
            throw UsageError(
                "--\(audience) needs --\(pushAccount) EMAIL: the service account that the push subscription authenticates with"
            )
        }
        let keysURL = base.map { $0 + simulatorKeysPath } ?? GooglePlayPushVerifier.googleKeysURL
        return .init(
            verifier: GooglePlayPushVerifier(keysURL: keysURL, transport: transport),
            token: PushToken(audience: expected, email: email))
    }
}
