import StoreKitAdapter

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
        action("notifications deliver", "send everything that is due, and wait until it was sent") { client, _ in
            try await client.ask(
                .post, "/notifications/deliver", as: StoreControlWire.Deliveries.self, doing: "sending notifications",
                StoreText.line)
        },
        action("notifications resend UUID", "send one again, whatever became of it") { client, arguments in
            try await client.ask(
                .post, "/notifications/\(arguments.operands[0])/resend", as: StoreControlWire.Notification.self
            ) { "\($0.uuid) \($0.type) is sent again" }
        },
    ]
}
