import Foundation
import Primitives

/// A value of a document that somebody wrote, and where it stands.
struct JSONPlace {
    let value: JSONValue
    let pointer: String

    /// A member that is there and not null.
    subscript(name: String) -> JSONPlace? {
        guard let value = value[name], !value.isNull else { return nil }
        return JSONPlace(value: value, pointer: JSONPointer.member(name, of: pointer))
    }

    /// The elements of a list; `nil` for another kind.
    var elements: [JSONPlace]? {
        value.arrayValue?.enumerated().map { JSONPlace(value: $1, pointer: "\(pointer)/\($0)") }
    }

    var isObject: Bool {
        if case .object = value { true } else { false }
    }
}
