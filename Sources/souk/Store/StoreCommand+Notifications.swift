import AppStorePayloads
import SimulatorControl
import Primitives
import StoreKitAdapter
import StoreModel

extension StoreCommand {
    static let notifications = [
        action(
            "notifications list", "what the app's server is told, and how it was sent",
            options: [
                .init(name: "account", value: "A", help: "only what is about this account"),
                .init(name: "type", value: "T", help: "only this of Apple's types: DID_RENEW, …"),
                .init(name: "after", value: "N", help: "only those of a higher number"),
                .init(name: "limit", value: "N", help: "at most so many, 1 to 1000 (100)"),
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
            "notifications deliver", "send everything that is due, and wait; exit 1 unless all has arrived"
        ) { client, _ in try await deliver(client) },
        action("notifications resend UUID", "send one again, whatever became of it") { client, arguments in
            try await client.ask(
                .post, "/notifications/\(arguments.operands[0])/resend", as: StoreControlWire.Notification.self
            ) { "\($0.uuid) \($0.type) is sent again" }
        },
    ]

    /// Sends what is due. Holds when everything that was ever sent has arrived.
    private static func deliver(_ client: StoreClient) async throws -> StoreReport {
        let doing = "sending notifications"
        let left = try await client.json(.post, "/notifications/deliver", doing: doing)
        let deliveries = try WireJSON.decode(StoreControlWire.Deliveries.self, from: left)
        let failed = try await failedNotifications(client)
        var report = StoreReport(json: left, text: StoreText.line(deliveries, failed), holds: failed.isEmpty)
        if !failed.isEmpty { report.json["failed"] = .number(failed.count) }
        return report
    }

    /// The notifications that were sent, in vain so far.
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
