import HTTPCore
import Primitives

/// Finds the secrets in a text, in one pass over its bytes. It parses nothing, so nothing need be whole: what looks like a
/// member, a setting, an element, an item of a query or something signed is one, wherever it is.
///
/// A secret is known by the name beside it (`SecretWords`), or by its shape (`SecretShapes`). Looking back is bounded,
/// and looking ahead ends with going on from there, so the time is in proportion to the length.
struct SecretScanner {
    /// Names longer than this are not secrets' names.
    static let longestName = 128
    /// A text in a query in a text: deeper is not looked.
    static let deepest = 4
    static let mark = Array(SensitiveHeaders.replacement.utf8)
    /// Brackets cannot be part of a URL.
    static let replacementInQuery = PercentEncoding.encode(SensitiveHeaders.replacement)
    static let replacementOfUser = "redacted"
    static let markInQuery = Array(replacementInQuery.utf8)
    static let markOfUser = Array(replacementOfUser.utf8)

    let text: UnsafeBufferPointer<UInt8>
    let rules: SecretRules
    let kind: BodyKind
    let depth: Int
    /// Whether escapes were replaced by what they mean.
    let isUnescaped: Bool
    var position = 0
    /// The start tag whose content is a secret, by the place of its `>`.
    var secretTag: SecretTag?
    /// The indents of a name that makes only `value` and the like secrets, and of those below it: `pin:` and `  value: …`.
    var heldMapping: (name: Int, values: Int, meaning: SecretMeaning)?
    /// The newest element whose name makes texts secrets, but not every element in it: `<pin><value>…`.
    var secretElement: SecretElement?
    /// Where a value belongs to a name before it: `{"name": "password", "value": "…"}`.
    var named: SecretScope?
    /// The newest object whose name makes strings and lists secrets, but not every object: `"pin": {"value": "…"}`.
    var secretObject: SecretScope?
    /// Where the newest tag begins, and how often the end of an element was searched for and not found.
    var newestTag: Range<Int>?
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

    /// Whether a text begins as a form does. Commands such as `curl --data` call everything a form.
    private static func isForm(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        let name = text.prefix { $0 > 0x20 && !"={\"'<\\".utf8.contains($0) }
        return name.endIndex < text.count && text[name.endIndex] == UInt8(ascii: "=")
    }

    /// The text with the secrets replaced; `nil` when there are none.
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

    /// The next place where something may begin or end that matters. Nearly all of a text is passed here.
    private func nextSign() -> Int? {
        let signs = rules.shapes.signs
        var place = position
        let last = text.count - 1
        while place < last {
            if signs[Int(text[place])] & (1 << UInt32(text[place + 1] & 31)) != 0 { return place }
            place += 1
        }
        return nil
    }

    /// Replaces what is there, and goes on after it.
    mutating func hide(_ range: Range<Int>, _ replacement: [UInt8] = mark) {
        position = max(range.upperBound, position + 1)
        guard !range.isEmpty, !text[range].elementsEqual(replacement) else { return }
        found.append((range, replacement))
    }

    /// Adds secrets that were found in another way. Of two that overlap, the replacement of the longer is used.
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

    /// The end of what was hidden last.
    var lastHidden: Int { found.last?.range.upperBound ?? 0 }
}

// MARK: - Looking at the text

extension SecretScanner {
    func stands(_ word: StaticString, at start: Int) -> Bool {
        let count = word.utf8CodeUnitCount
        guard start >= 0, start + count <= text.count else { return false }
        return (0..<count).allSatisfy { text[start + $0] == word.utf8Start[$0] }
    }

    func stands(_ bytes: [UInt8], at start: Int) -> Bool {
        start >= 0 && start + bytes.count <= text.count && text[start..<start + bytes.count].elementsEqual(bytes)
    }

    /// The byte there; zero outside of the text.
    func byte(_ place: Int) -> UInt8 { place >= 0 && place < text.count ? text[place] : 0 }

    /// The first place from `start` on where `isEnd` holds, or the end of the text.
    func end(from start: Int, _ isEnd: (UInt8) -> Bool) -> Int {
        var place = start
        while place < text.count, !isEnd(text[place]) { place += 1 }
        return place
    }

    /// Whether something was taken out here already.
    func isMarked(_ place: Int) -> Bool { stands(Self.mark, at: place) || stands(Self.markInQuery, at: place) }

    /// Whether no word goes on here. The end of an escape is no letter: `%3D`, `\n`, `\u0022`.
    func beginsWord(_ place: Int) -> Bool {
        guard place > 0, text[place - 1].isAlphanumeric else { return true }
        return place >= 3 && text[place - 3] == UInt8(ascii: "%")
            || place >= 2 && text[place - 2] == UInt8(ascii: "\\")
            || place >= 6 && stands("\\u", at: place - 6)
    }
}

/// Some of ASCII, told in one step.
struct ASCIISet: Sendable {
    private var bits: (low: UInt64, high: UInt64)

    init(_ characters: StaticString) {
        bits = (0, 0)
        characters.withUTF8Buffer { $0.forEach { insert($0) } }
    }

    /// Blanks and control characters.
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
