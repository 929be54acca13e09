import Foundation
import Primitives

/// The id of the app's user. In JSON it is `{"type": "merchant-uuid", "value": "…"}`, or `merchant-str` for a string.
/// Two strings identify the same user if their bytes are equal, as for ``CustomerID``.
public enum UserId: Hashable, Sendable {
    /// A UUID.
    case uuid(UUID)
    /// A string.
    case string(String)

    /// The id as a string. A UUID is in upper case.
    public var stringValue: String {
        switch self {
        case .uuid(let uuid): uuid.uuidString
        case .string(let text): text
        }
    }

    /// The customer id of this user at the entitlement server, or `nil` if the string is not a valid id: empty, over
    /// 255 bytes, or with control characters.
    public var customerID: CustomerID? { CustomerID(rawValue: stringValue) }
}

extension UserId {
    /// Returns whether two ids are the same UUID or have the same bytes.
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
