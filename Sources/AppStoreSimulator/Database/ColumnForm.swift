import Foundation
import GooglePlay
import Primitives
import SQLStorage
import StoreKitAdapter
import StoreModel

/// The valid form of the strings in a column of an imported simulator database.
///
/// A string without this form is refused before the commit. Otherwise the store would answer with names that its API
/// does not allow, or would not open after a restart.
struct ColumnForm: Sendable {
    /// The words after "should have" in the error message about a string that `accepts` refuses.
    let rule: String
    let accepts: @Sendable (String) -> Bool

    private static func name<Name: Identifier>(of _: Name.Type) -> ColumnForm {
        ColumnForm(rule: Name.rule) { Name.isValid($0) }
    }

    private static func choice(_ names: [String]) -> ColumnForm {
        ColumnForm(rule: "one of \(names.joined(separator: ", "))") { text in
            names.contains { $0.hasSameBytes(as: text) }
        }
    }

    /// The maximum length of a text, in bytes of UTF-8.
    private static let longest = 1 << 20

    private static let product = name(of: ProductID.self)
    /// The form of a name that has no type of its own: the default rule of `Identifier`.
    private static let word = name(of: PaymentID.self)
    private static let text = ColumnForm(rule: "at most \(longest) bytes and no U+0000") { text in
        text.utf8.count <= longest && !text.utf8.contains(0)
    }
    private static let json = ColumnForm(rule: "JSON of at most \(longest) bytes") { text in
        text.utf8.count <= longest && (try? JSONValue(parsing: text)) != nil
    }
    /// The form of a notification's body. The control API returns the product id in it.
    private static let notification = ColumnForm(rule: "a notification of at most \(longest) bytes") { text in
        guard text.utf8.count <= longest, let body = try? NotificationBody(text: text) else { return false }
        return body.transaction?.productId.map { ProductID.isValid($0) } ?? true
    }
    private static func resource<Resource: Decodable & SendableMetatype>(
        of type: Resource.Type, _ isReadable: @escaping @Sendable (Resource) -> Bool = { _ in true }
    ) -> ColumnForm {
        ColumnForm(rule: "a \(type) of Google Play of at most \(longest) bytes") { text in
            guard text.utf8.count <= longest else { return false }
            return (try? WireJSON.decode(type, from: Array(text.utf8))).map(isReadable) ?? false
        }
    }
    private static let uuid = ColumnForm(rule: "a UUID") { UUID(text: $0) != nil }
    private static let lowercasedUUID = ColumnForm(rule: "a UUID in lower case") { text in
        UUID(text: text)?.lowercased.hasSameBytes(as: text) ?? false
    }
    private static let locale = ColumnForm(rule: "a locale such as en-US") { RetentionLocale.isValid($0) }
    private static let earlierTokens = ColumnForm(rule: "pairs of an instant and a token") { text in
        guard text.utf8.count <= longest, let pairs = try? JSONValue(parsing: text).arrayValue else { return false }
        return pairs.allSatisfy { pair in
            guard let before = pair[0]?.intValue else { return false }
            let token = pair[1]?.stringValue ?? ""
            return ColumnRange.event.contains(Int64(before)) && (token.isEmpty || UUID(text: token) != nil)
        }
    }
    private static let code = ColumnForm(rule: CodeBatch.rule) { CodeBatch.isValid($0) }
    private static let digits = ColumnForm(rule: "1 to 20 digits") { text in
        (1...20).contains(text.utf8.count) && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
    }
    private static let country = ColumnForm(rule: "three capital letters") { text in
        text.utf8.count == 3 && text.utf8.allSatisfy { (0x41...0x5A).contains($0) }
    }
    private static let period = ColumnForm(rule: "a period that is sold, such as P1M") { text in
        SubscriptionPeriod(iso8601: text)?.isSellable ?? false
    }
    private static let kind = choice(
        [ProductType.consumable, .nonConsumable, .nonRenewingSubscription, .autoRenewableSubscription].map(\.rawValue))
    /// The form of a condition's name: a name such as `gracePeriod`, or a name and a product such as `withdrawn plus`.
    private static let condition = ColumnForm(
        rule: "a condition's name, followed by a product id if the condition is for one product"
    ) { text in
        switch text.firstIndex(of: " ") {
        case let space?: ProductID.isValid(String(text[text.index(after: space)...]))
        case nil: PaymentID.isValid(text)
        }
    }

    private static let seats = ColumnForm(rule: "a number of seats and their inviter, such as \"5 APPLE\"") { text in
        Seats(column: text) != nil
    }

    private static let plan = [
        "product": product, "period": period, "currency": text, "storefront": country, "offer": json, "seats": seats,
    ]

    /// The forms by table and column. Contains every text column.
    static let all: [String: [String: ColumnForm]] = [
        "store": ["bundle": name(of: BundleID.self)],
        "condition": ["name": condition, "value": json],
        "setting": ["name": word, "value": json],
        "account": [
            "name": name(of: AccountName.self), "app_transaction": digits, "family": name(of: FamilyName.self),
            "storefront": country,
        ],
        "family": ["name": name(of: FamilyName.self)],
        "device": ["id": name(of: DeviceID.self)],
        "purchase": [
            "product": product, "kind": kind, "token": uuid, "currency": text, "storefront": country, "offer": text,
        ],
        "subscription": [
            "group_id": word, "token": uuid, "next_product": product, "next_period": period, "next_currency": text,
            "next_storefront": country, "next_offer": json, "earlier_tokens": earlierTokens, "next_seats": seats,
        ],
        "run": plan,
        "revocation": [
            "kind": choice(
                [Revocation.Kind.refundFull, .refundProrated, .familyRevoke].map(\.rawValue))
        ],
        "finished": [:],
        "held": [
            "reason": choice([HeldOrder.Reason.approval, .interruption].map(\.rawValue)), "product": product,
            "token": uuid, "offer": text, "payment": name(of: PaymentID.self), "device": name(of: DeviceID.self),
            "billing_plan": choice([BillingPlan.Kind.upFront, .monthly].map(\.rawValue)),
        ],
        "payment": ["id": name(of: PaymentID.self)],
        "nonce": ["id": word],
        "news": [
            "device": name(of: DeviceID.self), "payment": name(of: PaymentID.self), "product": product,
            "state": choice(
                [UpdateRecord.State.purchased, .deferred, .failed, .revoked].map(\.rawValue)), "failure_code": word,
            "failure_reason": text,
        ],
        "answered_message": ["id": word],
        "notification": ["uuid": uuid, "type": word, "subtype": word, "body": notification, "signed": text],
        "attempt": ["result": word],
        "watch": [:],
        "extension": ["request": word],
        "mass_extension": ["product": product, "request": word],
        "refund_request": ["reason": word],
        "consumption": ["body": json],
        "promoted_purchase": ["product": product, "offer": text],
        "retention_image": [
            "id": lowercasedUUID, "size": choice(UploadedImage.sizes.map(\.rawValue)), "digest": word,
            "state": choice(UploadedImage.states.map(\.rawValue)),
        ],
        "retention_message": [
            "id": lowercasedUUID, "body": json, "state": choice(UploadedMessage.states.map(\.rawValue)),
        ],
        "default_message": ["product": product, "locale": locale, "message": lowercasedUUID],
        "shown_message": ["body": json],
        "performance_test": ["id": lowercasedUUID, "body": json],
        "purchase_offer": ["product": product, "id": text, "customers": json],
        "code_batch": ["product": product, "offer": text],
        "offer_code": ["code": code],
        "redemption": ["product": product, "offer": text, "code": text],
        "play_purchase": ["token": word, "body": resource(of: PlayPurchase.self, { $0.isReadable })],
        "play_order": ["id": word, "token": word, "body": resource(of: AndroidPublisher.Order.self)],
        "play_voided": ["order_id": word, "body": resource(of: AndroidPublisher.VoidedPurchase.self)],
        "play_notification": ["token": word, "body": resource(of: DeveloperNotification.self)],
        "play_attempt": ["result": word],
        "seat_refund": [:],
        "seat_claim": ["id": lowercasedUUID, "request": lowercasedUUID, "app_transaction": digits],
    ]
}

extension SimulatorDatabase {
    /// Throws `unexpectedValue` for a string that the store does not write into its column.
    func checkStrings() throws {
        for (table, columns) in ColumnForm.all.sorted(by: { $0.key < $1.key }) where !columns.isEmpty {
            let forms = columns.sorted { $0.key < $1.key }
            let names = forms.map(\.key).joined(separator: ", ")
            try sql.each("SELECT \(names) FROM \(table)", []) { row in
                for (name, form) in forms {
                    guard let text: String = try row[name] as String?, !form.accepts(text) else { continue }
                    throw SQLError(
                        .unexpectedValue,
                        "The column \(name) of the table \(table) in the simulator database should have \(form.rule)."
                    )
                }
            }
        }
    }
}
