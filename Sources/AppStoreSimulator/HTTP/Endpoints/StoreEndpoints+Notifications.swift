import SimulatorControl
import HTTPCore
import StoreKitAdapter
import StoreModel

extension StoreEndpoints {
    private static let path = "/control/v1/notifications"

    static let notifications: [Endpoint<StoreHandler>] = [
        endpoint(
            .get, path, "notifications",
            "List the notifications for the app's server, oldest first, with their attempts",
            parameters: [
                .init("account", in: .query, .name, "only notifications about this account"),
                .init("type", in: .query, .text, "only notifications of this type, such as DID_RENEW"),
                .init("after", in: .query, .integer(0...(1 << 53)), "only notifications with a higher number"),
                .init("limit", in: .query, .integer(1...1000), "the maximum number of notifications (100)"),
            ], refusals: [.unknownAccount]
        ) { call in
            StoreControlWire.Notifications(
                notifications: try call.store.notifications(
                    of: call.identifier("account"), type: call.query["type"], after: call.integer("after") ?? 0,
                    limit: Int(call.integer("limit") ?? 100)))
        },
        endpoint(
            .post, path, "createNotification",
            "Create a notification of a type that no simulated event sends",
            taking: StoreControlWire.NewNotification.self, status: 201,
            refusals: [.unknownTransaction, .notNow, .invalidValue]
        ) { call, new in try await call.store.createNotification(new) },
        endpoint(
            .post, path + "/deliver", "deliverNotifications", "Send everything that is due, and wait until it is sent",
            refusals: [.notNow]
        ) { call in
            let left = try await call.store.deliverNotifications()
            return StoreControlWire.Deliveries(waiting: left.waiting, next: left.next)
        },
        endpoint(
            .post, path + "/{notification}/resend", "resendNotification",
            "Send a notification again, even if it has arrived",
            refusals: [.notNow]
        ) { call in try await call.store.resendNotification(call.path["notification"]) },
    ]
}
