import AppStorePayloads
import HTTPCore
import SimulatorControl
import StoreKitAdapter
import StoreModel

extension WireSchema {
    static let locale = text(
        "a locale such as \"en-US\"", pattern: "^[A-Za-z]{2,3}(-[A-Za-z]{4})?(-([A-Za-z]{2}|[0-9]{3}))?$",
        RetentionLocale.isValid
    ).example("en-US")
}

extension StoreControlWire.RetentionMessage: WireModel {
    static let schemaName = "RetentionMessage"
    static let schema = WireSchema.object([
        .required("number", .integer.described("the position among all entries; it grows")),
        .required("at", .date), .required("account", .text), .required("productID", .product),
        .required("originalTransactionID", .name), .required("locale", .text),
        .optional("requestIdentifier", .uuid.described("the realtime request; absent if none was sent")),
        .optional("result", .text.described("the result of the realtime request, as Apple's sendAttemptResult")),
        .optional("refusal", .text.described("the reason why the server's answer was not used")),
        .required(
            "source",
            .choice(Source.allCases.map(\.rawValue)).described("the origin of the message; nothing if there is none")),
        .optional("kind", .choice(Kind.allCases.map(\.rawValue))),
        .optional("messageIdentifier", .uuid), .optional("header", .text), .optional("body", .text),
        .optional("headerPosition", .text), .optional("imageIdentifier", .uuid), .optional("altText", .text),
        .optional("bulletPoints", .array(.text)),
        .optional("offeredProductID", .product.described("the suggested product, or the product of the offer")),
        .optional("offerID", .text.described("the promotional offer")),
    ])
}

extension StoreControlWire.RetentionMessages: WireModel {
    static let schemaName = "RetentionMessages"
    static let schema = WireSchema.object([
        .required("retentionMessages", .array(of: StoreControlWire.RetentionMessage.self))
    ])
}

extension StoreControlWire.RetentionUploads: WireModel {
    static let schemaName = "RetentionUploads"
    static let schema = WireSchema.object([
        .required("images", .array(of: Image.self)), .required("messages", .array(of: Message.self)),
    ])
}

extension StoreControlWire.RetentionUploads.Image: WireModel {
    static let schemaName = "UploadedImage"
    static let schema = WireSchema.object([
        .required("imageIdentifier", .uuid), .required("at", .date),
        .required("size", .choice(UploadedImage.sizes.map(\.rawValue))), .required("width", .integer),
        .required("height", .integer), .required("state", .choice(UploadedImage.states.map(\.rawValue))),
    ])
}

extension StoreControlWire.RetentionUploads.Message: WireModel {
    static let schemaName = "UploadedMessage"
    static let schema = WireSchema.object([
        .required("messageIdentifier", .uuid), .required("at", .date),
        .required("state", .choice(UploadedMessage.states.map(\.rawValue))),
        .required("message", .object.described("the UploadMessageRequestBody, unchanged")),
        .required("defaultFor", .array(of: StoreControlWire.RetentionUploads.Place.self)),
    ])
}

extension StoreControlWire.RetentionUploads.Place: WireModel {
    static let schemaName = "DefaultMessagePlace"
    static let schema = WireSchema.object([.required("productID", .product), .required("locale", .locale)])
}

extension StoreControlWire.Cancel: WireModel {
    static let schemaName = "Cancel"
    static let schema = WireSchema.object([
        .required("productID", .product),
        .optional("locale", .locale.described("the locale of the device; by default that of the catalogue")),
    ])
}

extension StoreControlWire.RetentionReview: WireModel {
    static let schemaName = "RetentionReview"
    static let schema = WireSchema.object(
        [
            .optional("messageIdentifier", .uuid), .optional("imageIdentifier", .uuid),
            .required("state", .choice(State.allCases.map(\.rawValue))),
        ], exactlyOne: ["messageIdentifier", "imageIdentifier"])
}
