import SimulatorControl
import HTTPCore
import StoreKitAdapter

extension StoreControlWire.Notification: WireModel {
    static let schemaName = "Notification"
    static let schema = WireSchema.object([
        .required("number", .integer.described("the position among all notifications; it grows")),
        .required("uuid", .uuid),
        .required("at", .date.described("the time of the event and of the signature")),
        .required("type", .text.described("Apple's name")), .optional("subtype", .text), .optional("account", .text),
        .optional("productID", .product), .optional("transactionID", .name), .optional("originalTransactionID", .name),
        .optional("signedPayload", .text.described("the payload that is sent; absent before the first attempt")),
        .required("attempts", .array(of: Attempt.self)),
        .optional("due", .date.described("the time of the next attempt; absent if there is none")),
    ])
}

extension StoreControlWire.Notification.Attempt: WireModel {
    static let schemaName = "Attempt"
    static let schema = WireSchema.object([
        .required("at", .date),
        .optional("result", .text.described("Apple's sendAttemptResult; absent during the attempt")),
    ])
}

extension StoreControlWire.NewNotification: WireModel {
    static let schemaName = "NewNotification"
    static let schema = WireSchema.object([
        .required(
            "type", .text.described("METADATA_UPDATE, MIGRATION, PRICE_CHANGE or EXTERNAL_PURCHASE_TOKEN")),
        .optional(
            "subtype",
            .text.described("of EXTERNAL_PURCHASE_TOKEN: UNREPORTED (the default), CREATED or ACTIVE_TOKEN_REMINDER")),
        .optional("transactionID", .name.described("a transaction of the subscription, for the other types")),
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
        .required("waiting", .integer.described("the number of notifications that are sent again later")),
        .optional("next", .date.described("the time of the next attempt")),
    ])
}
