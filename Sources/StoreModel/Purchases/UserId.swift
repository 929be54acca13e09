import Foundation
import Primitives

/// Who the app's user is, as the app knows them. In JSON `{"type": "merchant-uuid", "value": "…"}`, or `merchant-str`.
/// Two strings are the same user when their bytes are equal, as for ``CustomerID``.
public enum UserId: Hashable, Sendable {
    case uuid(UUID)
    case string(String)

    /// The value as text; a UUID in upper case.
    public var stringValue: String {
        switch self {
        case .uuid(let uuid): uuid.uuidString
        case .string(let text): text
        }
    }

    /// The same person as the entitlement server names them; `nil` for a text that cannot name a customer (empty, over
    /// 255 bytes, or with control characters).
    public var customerID: CustomerID? { CustomerID(rawValue: stringValue) }
}

extension UserId {
    public static func == (left: UserId, right: UserId) -> Bool {
        switch (left, right) {
        case (.uuid(let left), .uuid(let right)): left == right
        case (.string(let left), .string(let right)): left.hasSameBytes(as: right)
        case (.uuid, .string), (.string, .uuid): false
        }
    }

    public func hash(into hasher: inout Hasher) {
        switch self {
        case .uuid(let uuid): hasher.combine(uuid)
        case .string(let text): hasher.combine(ExactString(text))
        }
    }
}

extension UserId: Codable {
    private enum CodingKeys: String, CodingKey { case type, value }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let value = try container.decode(String.self, forKey: .value)
        switch try container.decode(String.self, forKey: .type) {
        case "merchant-uuid":
            guard let uuid = UUID(text: value) else {
                throw DecodingError.dataCorruptedError(
                    forKey: .value, in: container, debugDescription: "a \"merchant-uuid\" has a UUID as its value")
            }
            self = .uuid(uuid)
        case "merchant-str": self = .string(value)
        default:
            throw DecodingError.dataCorruptedError(
                forKey: .type, in: container, debugDescription: "a user is \"merchant-uuid\" or \"merchant-str\"")
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        switch self {
        case .uuid: try container.encode("merchant-uuid", forKey: .type)
        case .string: try container.encode("merchant-str", forKey: .type)
        }
        try container.encode(stringValue, forKey: .value)
    }
}
