import Foundation
import HTTPCore
import Primitives
import StoreModel

/// Reads request bodies. A refusal names the field with the error.
enum RequestBody {
    static func bytes(of request: HTTPRequest, upTo limit: Int) async throws -> [UInt8] {
        if let encoding = request.headers["Content-Encoding"],
            encoding.trimmingCharacters(in: .whitespaces).lowercased() != "identity"
        {
            throw Refusal.encoded
        }
        do {
            return try await request.body.collect(upTo: limit)
        } catch let error as HTTPError where error.code == .bodyTooLarge {
            throw Refusal.tooLarge(limit)
        } catch let error as HTTPError {
            throw Refusal.malformed("The body could not be read to its end: \(error.reason)")
        }
    }

    /// Parses a JSON object and returns its members.
    static func object(_ bytes: [UInt8]) throws -> JSONMembers {
        let json: JSONValue
        do {
            json = try JSONValue(parsing: bytes, depth: 32)
        } catch {
            throw Refusal.malformed("The body is not JSON: \(error).")
        }
        guard case .object(let members) = json else { throw Refusal.malformed("The body should be a JSON object.") }
        return members
    }

    /// Decodes a body.
    static func decode<Body: Decodable>(_ type: Body.Type, from bytes: [UInt8]) throws -> Body {
        try decode(type, from: object(bytes))
    }

    /// Decodes the members of a body.
    static func decode<Body: Decodable>(_ type: Body.Type, from members: JSONMembers) throws -> Body {
        do {
            return try WireJSON.decode(type, from: .object(members))
        } catch let error as DecodingError {
            throw error.refusal
        }
    }
}

extension Refusal {
    fileprivate static let encoded = Refusal(
        HTTPProblem(
            status: 415, code: "unsupported_encoding", title: "Unsupported encoding",
            detail: "Send the body as it is, without a Content-Encoding.", field: "Content-Encoding"),
        headers: ["Accept-Encoding": "identity"])
}

extension DecodingError {
    fileprivate var refusal: Refusal {
        switch self {
        case .keyNotFound(let key, let context): .invalid(Self.field(context.codingPath + [key]), "is missing")
        case .valueNotFound(_, let context): .invalid(Self.field(context.codingPath), "is null")
        case .typeMismatch(let type, let context):
            .invalid(Self.field(context.codingPath), "should be \(Self.typeName(for: type))")
        case .dataCorrupted(let context):
            .invalid(Self.field(context.codingPath), Self.reason(context))
        @unknown default: .malformed("The body does not have the form that this endpoint expects.")
        }
    }

    private static func field(_ path: [any CodingKey]) -> String {
        path.isEmpty ? "body" : path.map { $0.intValue.map(String.init) ?? $0.stringValue }.joined(separator: "/")
    }

    /// Returns the message of our own types. Foundation's messages are not sent.
    private static func reason(_ context: Context) -> String {
        let message = context.debugDescription
        return message.hasSuffix(".") ? "does not have the expected form" : "is wrong: \(message)"
    }

    private static func typeName(for type: any Any.Type) -> String {
        switch type {
        case is String.Type, is UUID.Type, is Date.Type: "a string"
        case is Bool.Type: "true or false"
        case is any BinaryInteger.Type, is Double.Type, is Decimal.Type: "a number"
        case is any ExpressibleByDictionaryLiteral.Type: "an object"
        case is any Collection.Type: "an array"
        default: "an object"
        }
    }
}
