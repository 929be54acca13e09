/// An error in BER bytes, or an unexpected element, with its position. It is cheap to throw, because the text is
/// created only when it is read.
struct BERError: Error, CustomStringConvertible {
    let position: Int
    let problem: StaticString

    var description: String { "at byte \(position): \(problem)" }
}

/// An element of a BER encoding (X.690 section 8.1), as places in the bytes.
struct BERElement {
    /// The identifier octet: class, form and number.
    let tag: UInt8
    let start: Int
    let contentStart: Int
    /// The end of the content. For an indefinite length, the start of the end-of-contents octets.
    let contentEnd: Int
    let end: Int

    /// The place of the content.
    var content: Range<Int> { contentStart..<contentEnd }
    /// The place of the whole element, with identifier and length.
    var whole: Range<Int> { start..<end }
    var isConstructed: Bool { tag & 0x20 != 0 }
}

/// Identifier octets (X.690 section 8.1.2) in certificates, CMS and receipts.
enum BERTag {
    static let boolean: UInt8 = 0x01
    static let integer: UInt8 = 0x02
    static let bitString: UInt8 = 0x03
    static let octetString: UInt8 = 0x04
    static let null: UInt8 = 0x05
    static let objectIdentifier: UInt8 = 0x06
    static let utf8String: UInt8 = 0x0C
    static let printableString: UInt8 = 0x13
    static let ia5String: UInt8 = 0x16
    static let utcTime: UInt8 = 0x17
    static let generalizedTime: UInt8 = 0x18
    static let visibleString: UInt8 = 0x1A
    static let sequence: UInt8 = 0x30
    static let set: UInt8 = 0x31
    static let constructedOctetString: UInt8 = 0x24

    /// Returns a constructed, context-specific tag, for example `[0]`.
    static func context(_ number: UInt8) -> UInt8 { 0xA0 | number }
}

/// Reads the elements of a BER encoding one after the other, without copies.
///
/// The reader never reads outside its range, refuses wrong lengths at once, and does a bounded amount of work. It skips
/// the content of an element with a definite length. For an indefinite length, it searches for the end in at most
/// `maximumDepth` nested elements. Tags over 30 (X.690 section 8.1.2.4) and lengths of over 4 octets do not occur here
/// and are refused.
///
/// A reader is only valid in the closure that provides the bytes.
struct BERReader {
    /// The accepted forms of BER beyond DER (X.690 section 10.1).
    struct Rules: OptionSet {
        let rawValue: UInt8

        /// Indefinite lengths (X.690 section 8.1.3.6).
        static let indefiniteLengths = Rules(rawValue: 1)
        /// Lengths with unnecessary octets (X.690 section 8.1.3.5).
        static let longLengths = Rules(rawValue: 2)

        /// Only DER.
        static let distinguished: Rules = []
        static let basic: Rules = [.indefiniteLengths, .longLengths]
    }

    static let maximumDepth = 16

    let bytes: UnsafeRawBufferPointer
    let rules: Rules
    private(set) var position: Int
    let end: Int

    init(_ bytes: UnsafeRawBufferPointer, rules: Rules) {
        self.init(bytes, in: 0..<bytes.count, rules: rules)
    }

    init(_ bytes: UnsafeRawBufferPointer, in range: Range<Int>, rules: Rules) {
        precondition(range.lowerBound >= 0 && range.upperBound <= bytes.count, "a reader stays within its bytes")
        self.bytes = bytes
        self.rules = rules
        position = range.lowerBound
        end = range.upperBound
    }

    var isAtEnd: Bool { position == end }

    /// The identifier of the next element, or `nil` at the end.
    var nextTag: UInt8? { position < end ? bytes[position] : nil }

    /// Returns a reader of the content of an element.
    func inside(_ element: BERElement) -> BERReader { inside(element.content) }

    /// Reads the next element.
    mutating func read() throws(BERError) -> BERElement {
        let start = position
        let tag = try readTag()
        if let length = try readLength() {
            let contentStart = position
            guard length <= end - position else {
                throw BERError(position: start, problem: "the element ends too early")
            }
            position += length
            return BERElement(tag: tag, start: start, contentStart: contentStart, contentEnd: position, end: position)
        }
        guard tag & 0x20 != 0 else {
            throw BERError(position: start, problem: "a primitive element has an indefinite length")
        }
        let contentStart = position
        let contentEnd = try skipToEndOfContents()
        return BERElement(tag: tag, start: start, contentStart: contentStart, contentEnd: contentEnd, end: position)
    }

    /// Reads the next element, which must have this identifier.
    mutating func read(_ tag: UInt8) throws(BERError) -> BERElement {
        guard position < end, bytes[position] == tag else {
            throw BERError(position: position, problem: "another element was expected")
        }
        return try read()
    }

    /// Reads the next element if it has this identifier.
    mutating func readIfPresent(_ tag: UInt8) throws(BERError) -> BERElement? {
        nextTag == tag ? try read() : nil
    }

    /// Reads the content of the next element if it has this identifier, and a length below 128, or from 256 to 65,535
    /// in its shortest form. Otherwise returns `nil` and reads nothing. Gives the same result as `read(_:)`, several
    /// times faster.
    @inline(__always)
    mutating func readQuickly(_ tag: UInt8) -> Range<Int>? {
        let left = end &- position
        guard left >= 2, bytes[position] == tag else { return nil }
        var length = Int(bytes[position &+ 1])
        var start = position &+ 2
        if length >= 0x80 {
            guard length == 0x82, left >= 4 else { return nil }
            length = Int(bytes[position &+ 2]) << 8 | Int(bytes[position &+ 3])
            guard length >= 0x100 else { return nil }
            start = position &+ 4
        }
        guard length <= end &- start else { return nil }
        position = start &+ length
        return Range(uncheckedBounds: (start, position))
    }

    /// Moves to the place after an element that was read without this reader.
    @inline(__always)
    mutating func skip(to place: Int) { position = place }

    /// Returns a reader of a place that this reader has read.
    @inline(__always)
    func inside(_ content: Range<Int>) -> BERReader {
        BERReader(bytes: bytes, rules: rules, position: content.lowerBound, end: content.upperBound)
    }

    private init(bytes: UnsafeRawBufferPointer, rules: Rules, position: Int, end: Int) {
        self.bytes = bytes
        self.rules = rules
        self.position = position
        self.end = end
    }

    func requireEnd() throws(BERError) {
        guard position == end else {
            throw BERError(position: position, problem: "unexpected bytes follow")
        }
    }

    /// Returns whether the content of `element` is equal to these bytes.
    func content(of element: BERElement, equals other: [UInt8]) -> Bool {
        bytes[element.content].elementsEqual(other)
    }

    private mutating func readTag() throws(BERError) -> UInt8 {
        guard position < end else { throw BERError(position: position, problem: "an element is missing") }
        let tag = bytes[position]
        guard tag & 0x1F != 0x1F else { throw BERError(position: position, problem: "a tag is over 30") }
        position += 1
        return tag
    }

    /// Reads a length. Returns `nil` for an indefinite one.
    private mutating func readLength() throws(BERError) -> Int? {
        guard position < end else { throw BERError(position: position, problem: "a length is missing") }
        let first = bytes[position]
        position += 1
        if first < 0x80 { return Int(first) }
        if first == 0x80 {
            guard rules.contains(.indefiniteLengths) else {
                throw BERError(position: position - 1, problem: "an indefinite length is not allowed here")
            }
            return nil
        }
        let count = Int(first & 0x7F)
        guard count <= 4, count <= end - position else {
            throw BERError(position: position - 1, problem: "a length has too many octets")
        }
        var length = 0
        for _ in 0..<count {
            length = length << 8 | Int(bytes[position])
            position += 1
        }
        guard rules.contains(.longLengths) || (length >= 0x80 && length >> (8 * (count - 1)) != 0) else {
            throw BERError(position: position - count - 1, problem: "a length is longer than it needs to be")
        }
        return length
    }

    /// Moves to the place after the end-of-contents octets of the element that was just opened. Returns their start.
    private mutating func skipToEndOfContents() throws(BERError) -> Int {
        var depth = 1
        while true {
            let start = position
            let tag = try readTag()
            let length = try readLength()
            if tag == 0 {
                guard length == 0 else { throw BERError(position: start, problem: "the end of contents has a length") }
                depth -= 1
                if depth == 0 { return start }
            } else if let length {
                guard length <= end - position else {
                    throw BERError(position: start, problem: "the element ends too early")
                }
                position += length
            } else {
                guard tag & 0x20 != 0 else {
                    throw BERError(position: start, problem: "a primitive element has an indefinite length")
                }
                depth += 1
                guard depth <= Self.maximumDepth else {
                    throw BERError(position: start, problem: "elements are nested too deep")
                }
            }
        }
    }
}
