import AppStorePayloads
import SimulatorControl
import Primitives
import StoreKitAdapter
import StoreModel

extension StoreCommand {
    static let notifications = [
        action(
            "notifications list", "List the notifications to the app's server, and their delivery",
            options: [
                .init(name: "account", value: "A", help: "only notifications about this account"),
                .init(name: "type", value: "T", help: "only notifications of this type: DID_RENEW, …"),
                .init(name: "after", value: "N", help: "only notifications with a higher number"),
                .init(name: "limit", value: "N", help: "the largest number of notifications, 1 to 1000 (100)"),
            ]
        ) { client, arguments in
            let query: [(String, String?)] = [
                ("account", arguments.text("account")), ("type", arguments.text("type")),
                ("after", try arguments.integer("after", in: 0...(1 << 53)).map(String.init)),
                ("limit", try arguments.integer("limit", in: 1...1000).map(String.init)),
            ]
            return try await client.ask(
                .get, StorePath("/notifications", query: query), as: StoreControlWire.Notifications.self,
                StoreText.table)
        },
        action(
            "notifications create TYPE",
            "Create a notification of a type that no simulated event sends, such as MIGRATION",
            options: [
                .init(name: "transaction", value: "T", help: "a transaction of the subscription"),
                .init(name: "subtype", value: "S", help: "the subtype of EXTERNAL_PURCHASE_TOKEN (UNREPORTED)"),
            ]
        ) { client, arguments in
            let new = StoreControlWire.NewNotification(
                type: arguments.operands[0], subtype: arguments.text("subtype"),
                transactionID: try arguments.text("transaction").map {
                    try Arguments.identifier($0, called: "--transaction")
                })
            return try await client.ask(.post, "/notifications", new, as: StoreControlWire.Notification.self) {
                "\($0.uuid) \($0.type) is created"
            }
        },
        action(
            "notifications deliver", "Send due notifications and wait; exit 1 unless all have arrived"
        ) { client, _ in try await deliver(client) },
        action("notifications resend UUID", "Send a notification again") { client, arguments in
            try await client.ask(
                .post, "/notifications/\(arguments.operands[0])/resend", as: StoreControlWire.Notification.self
            ) { "\($0.uuid) \($0.type) is sent again" }
        },
    ]

    /// Sends the notifications that are due. Succeeds when every notification that was sent so far has arrived.
    private static func deliver(_ client: StoreClient) async throws -> StoreReport {
        let doing = "sending notifications"
        let answer = try await client.json(.post, "/notifications/deliver", doing: doing)
        let deliveries = try WireJSON.decode(StoreControlWire.Deliveries.self, from: answer)
        let failed = try await failedNotifications(client)
        var report = StoreReport(json: answer, text: StoreText.line(deliveries, failed), succeeded: failed.isEmpty)
        if !failed.isEmpty { report.json["failed"] = .number(failed.count) }
        return report
    }

    /// Returns the notifications that were sent, but have not arrived.
    private static func failedNotifications(_ client: StoreClient) async throws -> [StoreControlWire.Notification] {
        var failed: [StoreControlWire.Notification] = []
        var last = 0
        while true {
            let query = [("after", String(last)), ("limit", "1000")] as [(String, String?)]
            let page = try WireJSON.decode(
                StoreControlWire.Notifications.self,
                from: try await client.json(.get, StorePath("/notifications", query: query), doing: "listing")
            ).notifications
            failed += page.filter { $0.attempts.last?.result != nil && !$0.hasArrived }
            guard page.count == 1000, let number = page.last?.number else { return failed }
            last = Int(number)
        }
    }
}

extension StoreControlWire.Notification {
    fileprivate var hasArrived: Bool {
        attempts.contains { $0.result == AppStoreServerAPI.SendAttemptResult.success.rawValue }
    }
}
