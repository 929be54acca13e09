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
    /// The largest number of events in one request, from 1 to 1000. `nil`, the default, posts each event by itself.
    ///
    /// With a number, the body is a JSON array of events in the order of the feed. A batch is repeated until it is
    /// delivered, and later events wait for it. A new webhook begins with the oldest event that is kept. A webhook for
    /// batches, and one of the same name for single events, have different positions.
    public var batchSize: Int?

    /// Creates a webhook.
    ///
    /// - Parameters:
    ///   - name: The name, unique among the app's webhooks.
    ///   - app: The app whose events are posted.
    ///   - url: An absolute http or https URL.
    ///   - secrets: The secrets, each of which signs every delivery.
    ///   - batchSize: The largest number of events in one request; `nil` posts each event by itself.
    public init(name: String, app: BundleID, url: String, secrets: [WebhookSecret], batchSize: Int? = nil) {
        self.name = name
        self.app = app
        self.url = url
        self.secrets = secrets
        self.batchSize = batchSize
    }

    /// The largest permitted `batchSize`.
    static let maximumBatchSize = 1000

    var id: WebhookName { WebhookName(app: app, name: name, isBatched: batchSize != nil) }

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
        guard (1...Self.maximumBatchSize).contains(batchSize ?? 1) else {
            throw EntitlementServerError(
                .invalidConfiguration,
                "The batches of the webhook \(name) can have 1 to \(Self.maximumBatchSize) events.")
        }
    }
}

/// The identity of a webhook in the ledger.
struct WebhookName: Hashable, Sendable {
    let app: BundleID
    let name: String
    /// Whether the webhook gets batches, whose position is in a table of its own.
    var isBatched = false

    /// Returns whether an event must still be delivered to this webhook. `ledgerID` is `[app, environment]`.
    func awaits(_ event: Int64, of ledgerID: [SQLValue], _ connection: any SQLConnection) throws -> Bool {
        guard ledgerID.first == .text(app.rawValue) else { return false }
        if isBatched {
            return try connection.first(
                "SELECT 1 AS one FROM webhook_batch WHERE app = ?1 AND webhook = ?2 AND sequence < ?3",
                [.text(app.rawValue), .text(name), .integer(event)]) != nil
        }
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
