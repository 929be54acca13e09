import Foundation
import Primitives

/// A JSON object of Apple's App Store, as a typed view over the object itself.
///
/// The object is the only state: members nobody knows, their order and the text of numbers survive decoding, changing and
/// encoding. Known members read as Swift values; dates are milliseconds since 1970 in the JSON; a `null` reads as absent.
///
///     var payload = JWSTransactionDecodedPayload(transactionId: "1", bundleId: "com.example")
///     payload.signedDate = clock.now()
///     payload.json.text()                   // {"transactionId":"1","bundleId":"com.example","signedDate":…}
public protocol AppStorePayload: Hashable, Sendable, Codable, AppStorePayloadValue {
    /// The members, known and unknown, in their order.
    var fields: JSONMembers { get set }

    /// Which known members have which kind of value.
    static var schema: PayloadSchema { get }

    /// Takes members that are known to fit the schema. Others read as absent: use `init(json:)` for what came from outside.
    init(unchecked fields: JSONMembers)
}

/// Why a JSON document is not the payload it should be.
public struct AppStorePayloadError: Error, Equatable, CustomStringConvertible {
    /// Where: a JSON pointer (RFC 6901), empty for the document itself.
    public let pointer: String
    /// What should stand there.
    public let expected: String

    public init(pointer: String, expected: String) {
        self.pointer = pointer
        self.expected = expected
    }

    public var description: String { "\(pointer.isEmpty ? "the document" : pointer) should be \(expected)" }
}

extension AppStorePayload {
    /// Checks every known member against the schema. Throws `AppStorePayloadError` for the first that does not fit.
    public init(json: JSONValue) throws(AppStorePayloadError) {
        guard case .object(let members) = json else {
            throw AppStorePayloadError(pointer: "", expected: "an object")
        }
        try Self.schema.check(members, at: "")
        self.init(unchecked: members)
    }

    /// The object, unknown members included.
    public var json: JSONValue { .object(fields) }

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

    subscript<Value: AppStorePayloadValue>(_ name: String) -> Value? {
        get { fields[name].flatMap { Value(payloadValue: $0) } }
        set { fields[name] = newValue?.payloadValue }
    }
}

/// The kinds of an object's known members.
public struct PayloadSchema: Sendable {
    /// What may stand in a member.
    public indirect enum Kind: Sendable {
        case text
        case integer
        case boolean
        case date
        case object(PayloadSchema)
        case list(Kind)
    }

    let kinds: [String: Kind]

    public init(_ kinds: [String: Kind]) { self.kinds = kinds }

    /// JSON pointers (RFC 6901) to the members of a document that have no place here: what Apple added since.
    public func unknownMembers(of json: JSONValue) -> [String] {
        guard case .object(let members) = json else { return [] }
        return members.flatMap { name, value in
            let here = JSONPointer.member(name)
            return kinds[name].map { kind in kind.unknownMembers(of: value).map { here + $0 } } ?? [here]
        }
    }

    func check(_ members: JSONMembers, at pointer: String) throws(AppStorePayloadError) {
        for (name, value) in members {
            guard let kind = kinds[name], !value.isNull else { continue }
            try kind.check(value, at: pointer, name)
        }
    }
}

extension PayloadSchema.Kind {
    func check(_ value: JSONValue, at pointer: String, _ name: String) throws(AppStorePayloadError) {
        switch (self, value) {
        case (.text, .string), (.boolean, .bool): return
        case (.integer, .number(let number)) where number.int != nil: return
        case (.date, .number) where Date(payloadValue: value) != nil: return
        case (.object(let schema), .object(let members)): try schema.check(members, at: "\(pointer)/\(name)")
        case (.list(let kind), .array(let elements)):
            for (index, element) in elements.enumerated() {
                try kind.check(element, at: "\(pointer)/\(name)", String(index))
            }
        default: throw AppStorePayloadError(pointer: "\(pointer)/\(name)", expected: words)
        }
    }

    func unknownMembers(of json: JSONValue) -> [String] {
        switch self {
        case .object(let schema): return schema.unknownMembers(of: json)
        case .list(let kind):
            return (json.arrayValue ?? []).enumerated().flatMap { index, element in
                kind.unknownMembers(of: element).map { "/\(index)\($0)" }
            }
        case .text, .integer, .boolean, .date: return []
        }
    }

    private var words: String {
        switch self {
        case .text: "a text"
        case .integer: "an integer"
        case .boolean: "true or false"
        case .date: "a number of milliseconds since 1970, of the years 0 to 9999"
        case .object: "an object"
        case .list: "an array"
        }
    }
}
