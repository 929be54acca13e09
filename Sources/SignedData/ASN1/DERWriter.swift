/// Encodes DER (X.690 section 10) from the inside out. Each function returns one whole element.
enum DERWriter {
    static func element(_ tag: UInt8, _ content: some Collection<UInt8>) -> [UInt8] {
        [tag] + length(content.count) + content
    }

    static func sequence(_ elements: [UInt8]...) -> [UInt8] { element(BERTag.sequence, elements.joined()) }

    /// Returns a set, with the elements in DER's order, ascending by their octets (X.690 section 11.6).
    static func set(_ elements: [[UInt8]]) -> [UInt8] {
        element(BERTag.set, elements.sorted { $0.lexicographicallyPrecedes($1) }.joined())
    }

    /// Returns an integer with the fewest octets of two's complement (X.690 section 8.3).
    static func integer(_ value: Int64) -> [UInt8] {
        var octets = (0..<8).map { UInt8(truncatingIfNeeded: value >> (56 - 8 * $0)) }
        while octets.count > 1, octets[0] == (octets[1] & 0x80 == 0 ? 0 : 0xFF) { octets.removeFirst() }
        return element(BERTag.integer, octets)
    }

    static func objectIdentifier(_ content: [UInt8]) -> [UInt8] { element(BERTag.objectIdentifier, content) }

    static func utf8String(_ text: String) -> [UInt8] { element(BERTag.utf8String, text.utf8) }

    static func ia5String(_ text: String) -> [UInt8] { element(BERTag.ia5String, text.utf8) }

    static let null: [UInt8] = [BERTag.null, 0]

    private static func length(_ count: Int) -> [UInt8] {
        if count < 0x80 { return [UInt8(count)] }
        let octets = (0..<8).map { UInt8(truncatingIfNeeded: count >> (56 - 8 * $0)) }.drop { $0 == 0 }
        return [0x80 | UInt8(octets.count)] + octets
    }
}
