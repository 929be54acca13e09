import HTTPCore
import SQLStorage
import StoreModel

/// A URL to which the server posts an app's events.
public struct Webhook: Sendable {
    /// The name, unique among the app's webhooks. Deliveries are stored under it, so that the URL can change. A webhook
    /// with a new name starts with new events.
    public var name: String
    /// The app whose events are posted.
    public var app: BundleID
    /// An absolute http or https URL. Redirects are not followed and count as failed attempts.
    public var url: String
    /// The secrets, each of which signs every delivery. Use several while one is replaced.
    public var secrets: [WebhookSecret]

    /// Creates a webhook.
    ///
    /// - Parameters:
    ///   - name: The name, unique among the app's webhooks.
    ///   - app: The app whose events are posted.
    ///   - url: An absolute http or https URL.
    ///   - secrets: The secrets, each of which signs every delivery.
    public init(name: String, app: BundleID, url: String, secrets: [WebhookSecret]) {
        self.name = name
        self.app = app
        self.url = url
        self.secrets = secrets
    }

    var id: WebhookName { WebhookName(app: app, name: name) }

    func check() throws(EntitlementServerError) {
        let isNamed = (1...64).contains(name.utf8.count) && name.utf8.allSatisfy { (0x21...0x7E).contains($0) }
        guard isNamed else {
            throw EntitlementServerError(
                .invalidConfiguration, "The name of a webhook must have 1 to 64 visible ASCII characters.")
        }
        let isURL = ["http://", "https://"].contains { url.hasPrefix($0) && url.utf8.count > $0.utf8.count }
        guard isURL, url.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw EntitlementServerError(
                .invalidConfiguration, "The URL of the webhook \(name) is not an absolute http or https URL.")
        }
        guard !secrets.isEmpty else {
            throw EntitlementServerError(
                .invalidConfiguration, "The webhook \(name) has no secret; configure at least one.")
        }
    }
}

/// The identity of a webhook in the ledger.
struct WebhookName: Hashable, Sendable {
    let app: BundleID
    let name: String

    /// Returns whether an event must still be delivered to this webhook. `ledgerID` is `[app, environment]`.
    func awaits(_ event: Int64, of ledgerID: [SQLValue], _ connection: any SQLConnection) throws -> Bool {
        guard ledgerID.first == .text(app.rawValue) else { return false }
        let cursor = try connection.first(
            "SELECT sequence FROM webhook_cursor WHERE app = ?1 AND environment = ?2 AND webhook = ?3",
            ledgerID + [.text(name)])
        if let cursor, try cursor["sequence"] < event { return true }
        return try connection.first(
            """
            SELECT 1 AS one FROM webhook_delivery WHERE event = ?1 AND webhook = ?2 AND state IN ('waiting', 'due')
            """, [.integer(event), .text(name)]) != nil
    }
}
