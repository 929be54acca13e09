import Foundation
import Primitives

/// A value in a JSON document, and its place there.
struct JSONPlace {
    let value: JSONValue
    let pointer: String

    /// The member with a name; `nil` if it is absent or null.
    subscript(name: String) -> JSONPlace? {
        guard let value = value[name], !value.isNull else { return nil }
        return JSONPlace(value: value, pointer: JSONPointer.member(name, of: pointer))
    }

    /// The elements of a list; `nil` for another kind of value.
    var elements: [JSONPlace]? {
        value.arrayValue?.enumerated().map { JSONPlace(value: $1, pointer: "\(pointer)/\($0)") }
    }

    var isObject: Bool {
        if case .object = value { true } else { false }
    }
}
