import Primitives

// The password in a URL stays with the command that was given it. What a command prints gets into the logs of CI systems.

extension String {
    /// The string with `http://host` in the place of `http://name:password@host`, for every URL in it.
    var withoutUserInfo: String { replacing(/:\/\/[^\/?#\s]*@/, with: "://") }
}

extension JSONValue {
    /// The same for every string in it.
    var withoutUserInfo: JSONValue {
        switch self {
        case .string(let text): .string(text.withoutUserInfo)
        case .array(let elements): .array(elements.map(\.withoutUserInfo))
        case .object(let members): .object(JSONMembers(members.map { ($0.key, $0.value.withoutUserInfo) }))
        default: self
        }
    }
}
