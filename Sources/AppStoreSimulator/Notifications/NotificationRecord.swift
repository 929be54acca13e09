import AppStorePayloads
import Foundation
import Primitives
import StoreModel

/// One notification as the books keep it.
struct NotificationRecord: Sendable, Hashable {
    var id: Int64
    var uuid: String
    /// When it happened, which is when it is signed.
    var at: Date
    var type: StoreNotification.Kind
    var subtype: StoreNotification.Subtype?
    var account: Int64?
    /// The purchase that it is about, and which of its transactions.
    var original: Int64?
    var transaction: Int64?
    var body: NotificationBody
    /// As it was first sent; it is sent so ever after.
    var signed: String?
    /// When it is sent next; `nil`: no more.
    var due: Date?
    var attempts = 0
}

/// One sending of a notification, counted from 1; without a result while it is under way.
struct NotificationAttempt: Sendable, Hashable {
    var number: Int
    var at: Date
    var result: String?
}

/// What a notification says, before it is signed: its parts are signed each by itself and then put into the whole.
struct NotificationBody: Sendable, Hashable {
    var payload: ResponseBodyV2DecodedPayload
    var transaction: JWSTransactionDecodedPayload?
    var renewalInfo: JWSRenewalInfoDecodedPayload?
    var appTransaction: AppTransaction?

    init(_ payload: ResponseBodyV2DecodedPayload) { self.payload = payload }

    /// Reads what `text` wrote. Throws `JSONError` and `AppStorePayloadError`.
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
