/// A pattern of paths: `*` matches any characters within a segment, and `**` matches any characters.
///
///     PathPattern("/v1/customers/*").matches("/v1/customers/anna")          // true
///     PathPattern("/v1/**").matches("/v1/customers/anna/transactions")      // true
package struct PathPattern: Sendable, Hashable {
    private enum Part: Hashable { case byte(UInt8), withinSegment, anything }

    package let text: String
    private let parts: [Part]

    package init(_ text: String) {
        self.text = text
        var parts: [Part] = []
        for byte in text.utf8 {
            switch (byte, parts.last) {
            case (UInt8(ascii: "*"), .withinSegment): parts[parts.count - 1] = .anything
            case (UInt8(ascii: "*"), .anything): break
            case (UInt8(ascii: "*"), _): parts.append(.withinSegment)
            default: parts.append(.byte(byte))
            }
        }
        self.parts = parts
    }

    /// Whether the whole of `path` matches. Keeps the set of all prefixes of the pattern that match the bytes so far,
    /// so the time is proportional to the product of both lengths.
    package func matches(_ path: String) -> Bool {
        var reached = [Bool](repeating: false, count: parts.count + 1)
        reached[0] = true
        func skipEmptyStars(_ reached: inout [Bool]) {
            for (index, part) in parts.enumerated() where reached[index] {
                if case .byte = part { continue }
                reached[index + 1] = true
            }
        }
        skipEmptyStars(&reached)
        for byte in path.utf8 {
            var next = [Bool](repeating: false, count: parts.count + 1)
            for (index, part) in parts.enumerated() where reached[index] {
                switch part {
                case .byte(let wanted): if wanted == byte { next[index + 1] = true }
                case .withinSegment: if byte != UInt8(ascii: "/") { next[index] = true }
                case .anything: next[index] = true
                }
            }
            skipEmptyStars(&next)
            reached = next
        }
        return reached[parts.count]
    }
}
