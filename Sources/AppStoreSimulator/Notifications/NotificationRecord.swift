import AppStorePayloads
import Foundation
import Primitives
import StoreModel

/// A notification in the simulator database.
struct NotificationRecord: Sendable, Hashable {
    var id: Int64
    var uuid: String
    /// The instant of its event, and of its signature.
    var at: Date
    var type: StoreNotification.Kind
    var subtype: StoreNotification.Subtype?
    var account: Int64?
    /// The original transaction of its purchase; `transaction` is the transaction itself.
    var original: Int64?
    var transaction: Int64?
    var body: NotificationBody
    /// The signed payload of the first attempt. Later attempts send the same one.
    var signed: String?
    /// The instant of the next attempt; `nil` if there is none.
    var due: Date?
    var attempts = 0
}

/// One attempt to send a notification, counted from 1. It has no result while it is in progress.
struct NotificationAttempt: Sendable, Hashable {
    var number: Int
    var at: Date
    var result: String?
}

/// The contents of a notification before it is signed. Each part is signed on its own and then added to the payload.
struct NotificationBody: Sendable, Hashable {
    var payload: ResponseBodyV2DecodedPayload
    var transaction: JWSTransactionDecodedPayload?
    var renewalInfo: JWSRenewalInfoDecodedPayload?
    var appTransaction: AppTransaction?

    init(_ payload: ResponseBodyV2DecodedPayload) { self.payload = payload }

    /// Parses the value of `text`. Throws `JSONError` and `AppStorePayloadError`.
    init(text: String) throws {
        let json = try JSONValue(parsing: text)
        payload = try ResponseBodyV2DecodedPayload(json: json["payload"] ?? .null)
        transaction = try json["transaction"].map { try JWSTransactionDecodedPayload(json: $0) }
        renewalInfo = try json["renewalInfo"].map { try JWSRenewalInfoDecodedPayload(json: $0) }
        appTransaction = try json["appTransaction"].map { try AppTransaction(json: $0) }
    }

    var text: String {
        var members: JSONMembers = ["payload": payload.json]
        if let transaction { members["transaction"] = transaction.json }
        if let renewalInfo { members["renewalInfo"] = renewalInfo.json }
        if let appTransaction { members["appTransaction"] = appTransaction.json }
        return JSONValue.object(members).text()
    }
}
