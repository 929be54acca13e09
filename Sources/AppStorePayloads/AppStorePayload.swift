import Foundation
import Primitives

/// A JSON object of Apple's App Store, as a typed view over the object itself.
///
/// The object is the only state. Unknown members, the order of members and the text of numbers survive decoding,
/// changing and encoding. A known member is a property of the payload: it has the name and the type that `Fields`
/// declares, and reads as `nil` where it is absent, `null` or of another kind. Dates are milliseconds since 1970 in the
/// JSON.
///
/// Each kind of document has its own type name, such as ``JWSTransactionDecodedPayload``:
///
///     var payload = JWSTransactionDecodedPayload {
///         $0.transactionId = "1"
///         $0.bundleId = "com.example"
///     }
///     payload.signedDate = clock.now()
///     payload.json.text()                   // {"transactionId":"1","bundleId":"com.example","signedDate":…}
@dynamicMemberLookup
public struct AppStorePayload<Fields: AppStorePayloadFields>: Hashable, Sendable, Codable {
    /// The members, known and unknown, in their order.
    public var fields: JSONMembers

    /// Creates a payload from members that fit the schema, without a check. Members that do not fit read as absent. Use
    /// `init(json:)` for untrusted documents.
    ///
    /// - Parameter fields: The members, known and unknown.
    public init(unchecked fields: JSONMembers) { self.fields = fields }
}

/// The known members of a payload: a class of ``PayloadField`` constants, because a struct would be copied at each
/// access to a member.
public protocol AppStorePayloadFields: AnyObject, Sendable {
    /// The known members, and the schema that follows from them.
    static var layout: PayloadLayout<Self> { get }
}

/// The reason why a JSON document is not a payload.
public struct AppStorePayloadError: Error, Equatable, CustomStringConvertible {
    /// The place of the fault: a JSON pointer (RFC 6901), empty for the document itself.
    public let pointer: String
    /// The kind of value that is expected there.
    public let expected: String

    /// Creates an error about one place in a document.
    ///
    /// - Parameters:
    ///   - pointer: The place of the fault: a JSON pointer (RFC 6901), empty for the document itself.
    ///   - expected: The kind of value that is expected there.
    public init(pointer: String, expected: String) {
        self.pointer = pointer
        self.expected = expected
    }

    public var description: String { "\(pointer.isEmpty ? "the document" : pointer) should be \(expected)" }
}

extension AppStorePayload {
    /// Creates a payload without members.
    public init() { self.init(unchecked: [:]) }

    /// Creates a payload and sets its members, in the order of the assignments.
    ///
    /// - Parameter set: Assigns the members.
    /// - Throws: The error of `set`.
    public init(_ set: (inout Self) throws -> Void) rethrows {
        self.init(unchecked: [:])
        try set(&self)
    }

    /// Creates a payload from a JSON document, and checks every known member against the schema.
    ///
    /// - Parameter json: The document.
    /// - Throws: `AppStorePayloadError` for the first member that does not fit.
    public init(json: JSONValue) throws(AppStorePayloadError) {
        guard case .object(let members) = json else {
            throw AppStorePayloadError(pointer: "", expected: "an object")
        }
        try Self.schema.check(members, at: "")
        self.init(unchecked: members)
    }

    /// The object, including unknown members.
    public var json: JSONValue { .object(fields) }

    /// The known members and their kinds.
    package static var schema: PayloadSchema { Fields.layout.schema }

    public init(from decoder: any Decoder) throws {
        let json = try JSONValue(from: decoder)
        do {
            try self.init(json: json)
        } catch {
            throw DecodingError.dataCorrupted(
                DecodingError.Context(codingPath: decoder.codingPath, debugDescription: "\(error)"))
        }
    }

    public func encode(to encoder: any Encoder) throws { try json.encode(to: encoder) }

    /// The value of a known member. Setting `nil` removes the member.
    public subscript<Value>(dynamicMember field: KeyPath<Fields, PayloadField<Value>>) -> Value? {
        get {
            let field = Fields.layout.fields[keyPath: field]
            return fields[field.name].flatMap(field.read)
        }
        set {
            let field = Fields.layout.fields[keyPath: field]
            fields[field.name] = newValue.map(field.write)
        }
    }
}
