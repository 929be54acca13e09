import Primitives

/// The line numbers of values in a JSON text. Reads the text once, and composes pointers only where a requested value
/// can be.
struct JSONLines {
    private var lines: [String: Int] = [:]

    /// - Parameters:
    ///   - pointers: the values to find, as RFC 6901 pointers.
    ///   - text: valid JSON.
    init(of pointers: [String], in text: [UInt8]) {
        var wanted: Set<Substring> = [""]
        for pointer in pointers {
            // Parents are found too: a missing value is reported at the line of its parent.
            var rest = pointer[...]
            while wanted.insert(rest).inserted, let slash = rest.lastIndex(of: "/") { rest = rest[..<slash] }
        }
        var walk = Walk(text: text, wanted: wanted)
        walk.value(at: "")
        lines = walk.lines
    }

    /// The line, counted from 1, of a value or of its nearest parent that exists.
    subscript(pointer: String) -> Int? {
        var rest = pointer[...]
        while true {
            if let line = lines[String(rest)] { return line }
            guard let slash = rest.lastIndex(of: "/") else { return nil }
            rest = rest[..<slash]
        }
    }
}

private struct Walk {
    let text: [UInt8]
    let wanted: Set<Substring>
    var lines: [String: Int] = [:]
    private var position = 0
    private var line = 1

    init(text: [UInt8], wanted: Set<Substring>) {
        self.text = text
        self.wanted = wanted
    }

    /// - Parameter pointer: `nil` for a value that is not requested.
    mutating func value(at pointer: String?) {
        skipSpace()
        if let pointer { lines[pointer] = line }
        switch next {
        case UInt8(ascii: "{"):
            elements(until: UInt8(ascii: "}")) { walk, _ in
                let name = walk.skipString()
                walk.skipSpace()
                walk.position += 1
                let member = pointer.flatMap { _ in (try? JSONValue(parsing: name))?.stringValue }
                walk.value(at: member.flatMap { walk.pointer(to: $0, in: pointer) })
            }
        case UInt8(ascii: "["):
            elements(until: UInt8(ascii: "]")) { walk, index in
                walk.value(at: walk.pointer(to: String(index), in: pointer))
            }
        case UInt8(ascii: "\""): _ = skipString()
        default:
            while let byte = next, !",]} \t\r\n".utf8.contains(byte) { position += 1 }
        }
    }

    private var next: UInt8? { position < text.count ? text[position] : nil }

    /// Returns the pointer of a member; `nil` if it is not requested.
    private func pointer(to name: String, in parent: String?) -> String? {
        guard let parent else { return nil }
        let pointer = JSONPointer.member(name, of: parent)
        return wanted.contains(pointer[...]) ? pointer : nil
    }

    private mutating func elements(until end: UInt8, _ element: (inout Walk, Int) -> Void) {
        position += 1
        var index = 0
        skipSpace()
        while let byte = next, byte != end {
            element(&self, index)
            index += 1
            skipSpace()
            if next == UInt8(ascii: ",") { position += 1 }
            skipSpace()
        }
        position += 1
    }

    private mutating func skipSpace() {
        while let byte = next, byte <= 0x20 {
            if byte == 0x0A { line += 1 }
            position += 1
        }
    }

    /// Skips a string and returns it, quotes included.
    private mutating func skipString() -> ArraySlice<UInt8> {
        let start = position
        position += 1
        while let byte = next, byte != UInt8(ascii: "\"") { position += byte == UInt8(ascii: "\\") ? 2 : 1 }
        position = min(position + 1, text.count)
        return text[start..<position]
    }
}
