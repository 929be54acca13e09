import HTTPCore
import Primitives

/// Finds the secrets of a text in one pass over its bytes.
///
/// The scanner does not parse, so the text may be cut or malformed. It recognizes members, settings, elements, query
/// items and signed texts anywhere. A secret is recognized by its name (`SecretWords`) or its format (`SecretShapes`).
/// The scanner looks back a bounded distance and continues after the text that it looked ahead at, so the time is
/// linear.
struct SecretScanner {
    /// The length of the longest name of a secret.
    static let longestName = 128
    /// The maximum number of decodings of a text, for example of a URL in a query of another URL, and the maximum depth
    /// of texts within texts.
    static let maximumDepth = 4
    static let mark = Array(SensitiveHeaders.replacement.utf8)
    /// The replacement in queries. It is percent-encoded, because a URL cannot contain brackets.
    static let replacementInQuery = PercentEncoding.encode(SensitiveHeaders.replacement)
    static let replacementOfUser = "redacted"
    static let markInQuery = Array(replacementInQuery.utf8)
    static let markOfUser = Array(replacementOfUser.utf8)

    let text: UnsafeBufferPointer<UInt8>
    let rules: SecretRules
    let kind: BodyKind
    let depth: Int
    /// Whether the escape sequences were decoded.
    let isUnescaped: Bool
    var position = 0
    /// The start tag whose content is a secret.
    var secretTag: SecretTag?
    /// The current YAML mapping below a name such as `pin:`, in which only `value` and similar names have secrets: the
    /// indentations of its name and of its members.
    var secretMapping: (name: Int, values: Int, meaning: SecretMeaning)?
    /// The current element in which the text of `value` and similar elements is a secret: `<pin><value>…`.
    var secretElement: SecretElement?
    /// The scope of an earlier value that names a secret: `{"name": "password", "value": "…"}`.
    var named: SecretScope?
    /// The current object in which only `value` and similar members are secrets: `"pin": {"value": "…"}`.
    var secretObject: SecretScope?
    /// The name of the start tag at the current position; `nil` outside of start tags.
    var currentTag: Range<Int>?
    /// The number of searches that found no end tag.
    var missingEndTags = 0
    private(set) var found: [(range: Range<Int>, replacement: [UInt8])] = []

    init(
        _ text: UnsafeBufferPointer<UInt8>, _ rules: SecretRules, _ kind: BodyKind, depth: Int, isUnescaped: Bool
    ) {
        self.text = text
        self.rules = rules
        self.kind = kind == .form && !Self.isForm(text) ? .body : kind
        self.depth = depth
        self.isUnescaped = isUnescaped
    }

    /// Whether the text begins like a form. Programs such as `curl --data` declare any body as a form.
    private static func isForm(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        let name = text.prefix { $0 > 0x20 && !"={\"'<\\".utf8.contains($0) }
        return name.endIndex < text.count && text[name.endIndex] == UInt8(ascii: "=")
    }

    /// The text with its secrets replaced, or `nil` if there are none.
    var result: [UInt8]? {
        guard !found.isEmpty else { return nil }
        var result: [UInt8] = []
        result.reserveCapacity(text.count)
        var written = 0
        for (range, replacement) in found {
            result += text[written..<range.lowerBound]
            result += replacement
            written = range.upperBound
        }
        return result + text[written...]
    }

    mutating func scan() {
        if kind == .header { headerValue() }
        while let place = nextSign() {
            position = place
            switch text[place] {
            case UInt8(ascii: ":"), UInt8(ascii: "="): separator()
            case UInt8(ascii: "<"): startTag()
            case UInt8(ascii: ">"): endOfTag()
            case UInt8(ascii: "%"): percentEncoded()
            case UInt8(ascii: "-"): hyphens()
            case UInt8(ascii: "/"): pathSegment()
            case UInt8(ascii: "("), UInt8(ascii: "["): arguments()
            default: shape()
            }
        }
    }

    /// The next position at which the scanner must look closer. Skips nearly all of a text.
    private func nextSign() -> Int? {
        guard position < text.count - 1, let bytes = text.baseAddress else { return nil }
        let (signs, last) = (rules.shapes.signs, text.count - 1)
        var (place, byte) = (position, bytes[position])
        while place < last {
            let next = bytes[place &+ 1]
            if signs[Int(byte)] & (1 &<< UInt32(next)) != 0 { return place }
            byte = next
            place &+= 1
        }
        return nil
    }

    /// Stores the replacement of a range, and continues after the range.
    mutating func hide(_ range: Range<Int>, _ replacement: [UInt8] = mark) {
        position = max(range.upperBound, position + 1)
        guard !range.isEmpty, !text[range].elementsEqual(replacement) else { return }
        found.append((range, replacement))
    }

    /// Adds secrets that were found separately. Where two ranges overlap, uses the replacement of the longer range.
    mutating func add(_ more: [(range: Range<Int>, replacement: [UInt8])]) {
        guard !more.isEmpty else { return }
        let all = (found + more).sorted { $0.range.lowerBound < $1.range.lowerBound }
        found = []
        for next in all {
            guard let last = found.last, next.range.lowerBound < last.range.upperBound else {
                found.append(next)
                continue
            }
            let range = last.range.lowerBound..<max(last.range.upperBound, next.range.upperBound)
            found[found.count - 1] = (range, next.range.count > last.range.count ? next.replacement : last.replacement)
        }
    }

    /// The end of the last hidden range.
    var lastHidden: Int { found.last?.range.upperBound ?? 0 }
}

extension SecretScanner {
    func matches(_ word: StaticString, at start: Int) -> Bool {
        let count = word.utf8CodeUnitCount
        guard start >= 0, start + count <= text.count else { return false }
        return (0..<count).allSatisfy { text[start + $0] == word.utf8Start[$0] }
    }

    func matches(_ bytes: [UInt8], at start: Int) -> Bool {
        start >= 0 && start + bytes.count <= text.count && text[start..<start + bytes.count].elementsEqual(bytes)
    }

    /// The byte at `place`, or zero outside of the text.
    func byte(_ place: Int) -> UInt8 { place >= 0 && place < text.count ? text[place] : 0 }

    /// The first position from `start` on where `isEnd` holds, or the end of the text.
    func end(from start: Int, _ isEnd: (UInt8) -> Bool) -> Int {
        var place = start
        while place < text.count, !isEnd(text[place]) { place += 1 }
        return place
    }

    /// Whether a replacement is at `place`.
    func isMarked(_ place: Int) -> Bool { matches(Self.mark, at: place) || matches(Self.markInQuery, at: place) }

    /// Whether a word may begin here. The last character of an escape sequence is not part of a word: `%3D`, `\n`,
    /// `\u0022`.
    func beginsWord(_ place: Int) -> Bool {
        guard place > 0, text[place - 1].isAlphanumeric else { return true }
        return place >= 3 && text[place - 3] == UInt8(ascii: "%")
            || place >= 2 && text[place - 2] == UInt8(ascii: "\\")
            || place >= 6 && matches("\\u", at: place - 6)
    }
}

/// A set of ASCII characters with fast look-up.
struct ASCIISet: Sendable {
    private var bits: (low: UInt64, high: UInt64)

    init(_ characters: StaticString) {
        bits = (0, 0)
        characters.withUTF8Buffer { $0.forEach { insert($0) } }
    }

    /// White space and control characters.
    static let blank: ASCIISet = {
        var set = ASCIISet("")
        for byte: UInt8 in 0...0x20 { set.insert(byte) }
        return set
    }()

    static let alphanumeric = ASCIISet("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")

    func union(_ characters: StaticString) -> ASCIISet {
        var set = self
        characters.withUTF8Buffer { $0.forEach { set.insert($0) } }
        return set
    }

    private mutating func insert(_ byte: UInt8) {
        if byte < 64 { bits.low |= 1 << UInt64(byte) } else { bits.high |= 1 << UInt64(byte - 64) }
    }

    func contains(_ byte: UInt8) -> Bool {
        byte < 0x80 && (byte < 64 ? bits.low >> UInt64(byte) : bits.high >> UInt64(byte - 64)) & 1 == 1
    }
}
