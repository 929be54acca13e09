import SimulatorControl
import HTTPCore
import StoreKitAdapter

extension StoreControlWire.Notification: WireModel {
    static let schemaName = "Notification"
    static let schema = WireSchema.object([
        .required("number", .integer.described("its place in the order of all; grows")), .required("uuid", .uuid),
        .required("at", .date.described("when it happened, which is when it is signed")),
        .required("type", .text.described("Apple's name")), .optional("subtype", .text), .optional("account", .text),
        .optional("productID", .product), .optional("transactionID", .name), .optional("originalTransactionID", .name),
        .optional("signedPayload", .text.described("as it is sent; absent until the first time")),
        .required("attempts", .array(of: Attempt.self)),
        .optional("due", .date.described("when it is sent next; absent when it is sent no more")),
    ])
}

extension StoreControlWire.Notification.Attempt: WireModel {
    static let schemaName = "Attempt"
    static let schema = WireSchema.object([
        .required("at", .date),
        .optional("result", .text.described("Apple's sendAttemptResult; absent while it is under way")),
    ])
}

extension StoreControlWire.Notifications: WireModel {
    static let schemaName = "Notifications"
    static let schema = WireSchema.object([
        .required("notifications", .array(of: StoreControlWire.Notification.self))
    ])
}

extension StoreControlWire.Deliveries: WireModel {
    static let schemaName = "Deliveries"
    static let schema = WireSchema.object([
        .required("waiting", .integer.described("how many are sent again later")),
        .optional("next", .date.described("when the next of them is")),
    ])
}
