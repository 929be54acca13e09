import Foundation
import Primitives

/// A value of a document that somebody wrote, and where it stands.
struct JSONPlace {
    let value: JSONValue
    let pointer: String

    /// A member that is there and not null.
    subscript(name: String) -> JSONPlace? {
        guard let value = value[name], !value.isNull else { return nil }
        return JSONPlace(value: value, pointer: "\(pointer)/\(JSONPointer.escaped(name))")
    }

    /// The elements of a list; `nil` for another kind.
    var elements: [JSONPlace]? {
        value.arrayValue?.enumerated().map { JSONPlace(value: $1, pointer: "\(pointer)/\($0)") }
    }

    var isObject: Bool {
        if case .object = value { true } else { false }
    }
}

/// RFC 6901.
enum JSONPointer {
    static func escaped(_ name: String) -> String {
        name.replacingOccurrences(of: "~", with: "~0").replacingOccurrences(of: "/", with: "~1")
    }

    /// The names and indices on the way to a place; `nil` for a text that is no pointer.
    static func steps(_ pointer: String) -> [String]? {
        if pointer.isEmpty { return [] }
        guard pointer.hasPrefix("/") else { return nil }
        return pointer.dropFirst().split(separator: "/", omittingEmptySubsequences: false).map {
            $0.replacingOccurrences(of: "~1", with: "/").replacingOccurrences(of: "~0", with: "~")
        }
    }
}
