/// JSON Pointers (RFC 6901). They are split at bytes, because Swift joins a slash and a combining mark after it to one
/// character.
package enum JSONPointer {
    private static let (slash, tilde) = (UInt8(ascii: "/"), UInt8(ascii: "~"))

    /// Returns the pointer to the member `name`, or to the element with this index, of the value at `parent`.
    package static func member(_ name: String, of parent: String = "") -> String { "\(parent)/\(escaped(name))" }

    /// Returns a name in its escaped form.
    package static func escaped(_ name: String) -> String {
        guard name.utf8.contains(where: { $0 == slash || $0 == tilde }) else { return name }
        let bytes = name.utf8.flatMap { byte in
            byte == tilde ? Array("~0".utf8) : byte == slash ? Array("~1".utf8) : [byte]
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns the names and indices of a pointer, or `nil` when the string is not a pointer.
    package static func steps(_ pointer: String) -> [String]? {
        if pointer.isEmpty { return [] }
        guard pointer.utf8.first == slash else { return nil }
        return pointer.utf8.dropFirst().split(separator: slash, omittingEmptySubsequences: false).map { step in
            var (bytes, rest) = ([UInt8](), step)
            while let byte = rest.popFirst() {
                let escape = byte == tilde ? rest.first : nil
                if escape == UInt8(ascii: "0") || escape == UInt8(ascii: "1") { rest.removeFirst() }
                bytes.append(escape == UInt8(ascii: "1") ? slash : byte)
            }
            return String(decoding: bytes, as: UTF8.self)
        }
    }
}
