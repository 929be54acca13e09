import CurlTransport
import EntitlementServer
import Foundation
import HTTPCore
import SignedData
import StoreModel

/// The options for the App Store Server API: the key from App Store Connect, and the URL.
struct AppStoreOptions: Sendable {
    static let options: [Command.Option] = [
        .init(
            name: "app-store-key", value: "FILE", help: "the private key of the App Store Server API (.p8)"),
        .init(name: "key-id", value: "K", help: "the key's id, unless the file is called AuthKey_K.p8"),
        .init(name: "issuer-id", value: "I", help: "the issuer's id in App Store Connect"),
        .init(name: "app-store-url", value: "U", help: "the server to use instead of Apple's, such as a simulator"),
    ]

    private let key: SigningKey
    private let keyID: String
    private let issuerID: String
    private let url: String?

    /// Returns `nil` when no key is given. Throws `UsageError` when an option for the key is missing, or is given
    /// without the key.
    init?(_ arguments: Arguments) throws {
        guard let path = arguments.text("app-store-key") else {
            for name in ["key-id", "issuer-id", "app-store-url"] where arguments.text(name) != nil {
                throw UsageError("--\(name) needs --app-store-key FILE")
            }
            return nil
        }
        guard let keyID = arguments.text("key-id") ?? SigningCommands.keyID(inName: path) else {
            throw UsageError(
                path: path, "the file name does not contain the key's id as AuthKey_K.p8 does; give --key-id")
        }
        self.keyID = keyID
        issuerID = try arguments.required("issuer-id")
        let bytes = try InputFile.read(path, limit: 1 << 16)
        do { key = try SigningKey(bytes) } catch { throw UsageError("\(path): \(error.reason)") }
        url = arguments.text("app-store-url")
    }

    /// The key of one app, which signs tokens and promotional offers.
    func key(for bundle: BundleID) -> AppStoreConnectKey {
        AppStoreConnectKey(key, id: keyID, issuerID: issuerID, bundleID: bundle)
    }

    /// A client with a short timeout, for a server whose own callers wait for the response of the App Store.
    func shortTimeoutClient(
        with key: AppStoreConnectKey, in environment: StoreEnvironment
    ) -> AppStoreServerAPIClient {
        client(
            with: key, in: environment, backoff: Backoff(attempts: 2, maximum: .seconds(2)), timeout: .seconds(5))
    }

    /// A client for one app in one environment.
    func client(
        for bundle: BundleID, in environment: StoreEnvironment, backoff: Backoff = Backoff()
    ) -> AppStoreServerAPIClient {
        client(with: key(for: bundle), in: environment, backoff: backoff, timeout: .seconds(30))
    }

    private func client(
        with key: AppStoreConnectKey, in environment: StoreEnvironment, backoff: Backoff, timeout: Duration
    ) -> AppStoreServerAPIClient {
        let apple =
            environment == .production ? AppStoreServerAPIClient.productionURL : AppStoreServerAPIClient.sandboxURL
        var configuration = AppStoreServerAPIClient.Configuration(
            key: key, baseURL: url ?? apple)
        configuration.backoff = backoff
        configuration.timeout = timeout
        return AppStoreServerAPIClient(configuration: configuration, transport: CurlTransport.platformDefault())
    }
}
