import Foundation

extension BERReader {
    /// Returns the places of an octet string's octets, in order: one if it is primitive, several if it consists of
    /// pieces (X.690 section 8.7).
    ///
    /// Pieces may be nested (X.690 section 8.7.3.2) up to a limited depth.
    func pieces(ofOctetString element: BERElement) throws(BERError) -> [Range<Int>] {
        var pieces: [Range<Int>] = []
        try collectPieces(of: element, depth: 0, into: &pieces)
        return pieces
    }

    private func collectPieces(
        of element: BERElement, depth: Int, into pieces: inout [Range<Int>]
    ) throws(BERError) {
        guard element.isConstructed else {
            pieces.append(element.content)
            return
        }
        guard depth < Self.maximumDepth else {
            throw BERError(position: element.start, problem: "octet strings are nested too deep")
        }
        var reader = inside(element)
        while !reader.isAtEnd {
            let piece = try reader.read()
            guard piece.tag == BERTag.octetString || piece.tag == BERTag.constructedOctetString else {
                throw BERError(position: piece.start, problem: "a piece of an octet string is not an octet string")
            }
            try collectPieces(of: piece, depth: depth + 1, into: &pieces)
        }
    }

    /// Returns the value of an INTEGER of up to 64 bits (X.690 section 8.3), or `nil` for a larger one. An INTEGER
    /// without octets, which X.690 does not allow, is 0.
    func integer(_ content: Range<Int>) -> Int64? {
        guard content.count <= 8 else { return nil }
        guard let first = content.first else { return 0 }
        var value: Int64 = bytes[first] & 0x80 == 0 ? 0 : -1
        for position in content { value = value << 8 | Int64(bytes[position]) }
        return value
    }

    /// Returns the value of a non-negative INTEGER of one or two octets, otherwise `nil`.
    @inline(__always)
    func smallInteger(_ content: Range<Int>) -> Int? {
        let first = content.lowerBound
        guard content.count == 1 || content.count == 2, bytes[first] < 0x80 else { return nil }
        return content.count == 1 ? Int(bytes[first]) : Int(bytes[first]) << 8 | Int(bytes[first + 1])
    }

    /// Reads the next element, an INTEGER of up to 64 bits.
    mutating func readInteger() throws(BERError) -> Int64 {
        let element = try read(BERTag.integer)
        guard let value = integer(element.content) else {
            throw BERError(position: element.start, problem: "a number is too large")
        }
        return value
    }
}
