import GooglePlay
import SignedData
import StoreModel

/// The Google Play of one app: what the server needs to fetch its purchases and to verify its notifications.
package struct GooglePlayApp: Sendable {
    /// The package name of the Android app is that of the client.
    package var client: GooglePlayClient
    /// The licence key of the app, which verifies the signed data of a purchase; `nil` verifies none.
    package var publicKey: RSAVerificationKey?
    /// Verifies the tokens of push requests; `nil` refuses all notifications.
    package var notifications: Notifications?
    /// The one-time products that customers can buy again, beside those that give credit.
    package var consumables: Set<ProductID> = []

    /// The push subscription of Cloud Pub/Sub, over which Google sends notifications.
    package struct Notifications: Sendable {
        package var verifier: GooglePlayPushVerifier
        /// The audience and the service account of the push subscription.
        package var token: PushToken

        package init(verifier: GooglePlayPushVerifier, token: PushToken) {
            self.verifier = verifier
            self.token = token
        }
    }

    package init(client: GooglePlayClient) { self.client = client }

    var packageName: PackageName { client.packageName }
}

extension EntitlementService.Configuration {
    /// Throws `EntitlementServerError` (`invalidConfiguration`) if two apps have one package name.
    func checkGooglePlay() throws(EntitlementServerError) {
        var names: Set<PackageName> = []
        for app in apps {
            guard let name = app.googlePlay?.packageName, !names.insert(name).inserted else { continue }
            throw EntitlementServerError(
                .invalidConfiguration, "The package name \(name) is that of two apps; give each its own.")
        }
    }
}
