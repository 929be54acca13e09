import Primitives
import StoreModel

/// A known member of a payload: its name in the JSON, its kind there and its type in Swift.
///
///     let signedDate = PayloadField<Date>("signedDate")
///
/// It is a class, so that access through a key path copies only a reference.
public final class PayloadField<Value: Sendable>: Sendable {
    package let name: String
    package let kind: PayloadSchema.Kind
    let read: @Sendable (JSONValue) -> Value?
    let write: @Sendable (Value) -> JSONValue

    init(
        name: String, kind: PayloadSchema.Kind, read: @escaping @Sendable (JSONValue) -> Value?,
        write: @escaping @Sendable (Value) -> JSONValue
    ) {
        self.name = name
        self.kind = kind
        self.read = read
        self.write = write
    }
}

extension PayloadField where Value: AppStorePayloadValue {
    convenience init(_ name: String) {
        self.init(
            name: name, kind: Value.payloadKind, read: { Value(payloadValue: $0) }, write: { $0.payloadValue })
    }
}

extension PayloadField where Value: OpenAppStoreValue, Value.RawValue: AppStorePayloadValue {
    convenience init(_ name: String) {
        self.init(
            name: name, kind: Value.RawValue.payloadKind,
            read: { Value.RawValue(payloadValue: $0).map { Value(rawValue: $0) } }, write: { $0.rawValue.payloadValue })
    }
}

extension PayloadField {
    convenience init<Fields>(_ name: String) where Value == AppStorePayload<Fields> {
        self.init(name: name, kind: .object(Value.schema), read: { Value(payloadValue: $0) }, write: { $0.json })
    }
}

extension PayloadField {
    convenience init<Fields>(_ name: String) where Value == [AppStorePayload<Fields>] {
        self.init(
            name: name, kind: .list(.object(AppStorePayload<Fields>.schema)),
            read: { $0.arrayValue?.compactMap { AppStorePayload(payloadValue: $0) } }, write: { .array($0.map(\.json)) }
        )
    }
}

extension PayloadField where Value == [AppStoreServerAPI.SendAttemptResult: Int] {
    /// An object that has a number for each result, written in the order of the results' names.
    convenience init(_ name: String) {
        self.init(
            name: name, kind: .counts,
            read: { json in
                guard case .object(let members) = json else { return nil }
                let counts = members.compactMap { name, value in value.intValue.map { (name, $0) } }
                return Dictionary(
                    counts.map { (AppStoreServerAPI.SendAttemptResult(rawValue: $0), $1) }, uniquingKeysWith: { $1 })
            },
            write: { counts in
                let ordered = counts.sorted { $0.key.rawValue < $1.key.rawValue }
                return .object(JSONMembers(ordered.map { ($0.key.rawValue, .number($0.value)) }))
            })
    }
}

extension PayloadField<ProductType> {
    /// Apple's spelling of the kinds of product differs from that of the SDK.
    convenience init(_ name: String) {
        self.init(
            name: name, kind: .text, read: { $0.stringValue.map { ProductType(apple: $0) } },
            write: { .string($0.appleText) })
    }
}

extension AppStorePayload {
    fileprivate init?(payloadValue: JSONValue) {
        guard case .object(let members) = payloadValue else { return nil }
        self.init(unchecked: members)
    }
}

/// The known members of a payload, as constants and as a schema.
public final class PayloadLayout<Fields: Sendable>: Sendable {
    package let fields: Fields
    package let schema: PayloadSchema

    /// Creates a layout from a class whose stored properties all have the type `PayloadField`.
    package init(_ fields: Fields) {
        self.fields = fields
        schema = PayloadSchema(
            Mirror(reflecting: fields).children.compactMap { ($0.value as? any KnownMember).map { ($0.name, $0.kind) } }
        )
    }
}

/// A `PayloadField` of any type.
private protocol KnownMember {
    var name: String { get }
    var kind: PayloadSchema.Kind { get }
}

extension PayloadField: KnownMember {}
