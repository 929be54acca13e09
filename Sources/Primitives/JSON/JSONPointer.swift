/// Places in a document of JSON (RFC 6901). Names are taken by their bytes: a combining mark behind a slash changes nothing.
package enum JSONPointer {
    private static let (slash, tilde) = (UInt8(ascii: "/"), UInt8(ascii: "~"))

    /// The pointer to the member `name`, or to the element of this index, of what `parent` points to.
    package static func member(_ name: String, of parent: String = "") -> String { "\(parent)/\(escaped(name))" }

    /// A name as it is in a pointer.
    package static func escaped(_ name: String) -> String {
        guard name.utf8.contains(where: { $0 == slash || $0 == tilde }) else { return name }
        let bytes = name.utf8.flatMap { byte in
            byte == tilde ? Array("~0".utf8) : byte == slash ? Array("~1".utf8) : [byte]
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The names and indices on the way to a place; `nil` for a text that is no pointer.
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
