import SimulatorControl
import HTTPCore
import StoreKitAdapter
import StoreModel

extension StoreOperation {
    private static let path = "/control/v1/notifications"

    static let notifications: [StoreOperation] = [
        on(
            .get, path, "notifications", "What the app's server is told, oldest first, and how it was sent",
            query: [
                QueryParameter(name: "account", schema: .name, summary: "only what is about this account"),
                QueryParameter(name: "type", schema: .text, summary: "only this of Apple's types: DID_RENEW, …"),
                QueryParameter(
                    name: "after", schema: .integer(0...(1 << 53)), summary: "only those of a higher number"),
                QueryParameter(name: "limit", schema: .integer(1...1000), summary: "at most so many (100)"),
            ], refusals: [.unknownAccount]
        ) { call in
            StoreControlWire.Notifications(
                notifications: try call.store.notifications(
                    of: call.identifier("account"), type: call.query["type"], after: call.integer("after") ?? 0,
                    limit: Int(call.integer("limit") ?? 100)))
        },
        on(
            .post, path + "/deliver", "deliverNotifications", "Send everything that is due, and wait until it was sent",
            refusals: [.notNow]
        ) { call in try await call.store.deliverNotifications() },
        on(
            .post, path + "/{notification}/resend", "resendNotification", "Send one again, whatever became of it",
            refusals: [.notNow]
        ) { call in try await call.store.resendNotification(call.path["notification"]) },
    ]
}
