import HTTPCore
import Primitives

/// Finds the secrets in a text, in one pass over its bytes. It parses nothing, so nothing need be whole: what looks like a
/// member, an item of a query or something signed is one, wherever it stands.
struct SecretScanner {
    /// Names longer than this are not secrets' names.
    private static let longestName = 128
    /// A text in a query in a text: deeper is not looked.
    private static let deepest = 4
    private static let mark = Array(SensitiveHeaders.replacement.utf8)
    /// Brackets cannot stand in a URL.
    static let replacementInQuery = PercentEncoding.encode(SensitiveHeaders.replacement)
    static let replacementOfUser = "redacted"
    private static let markInQuery = Array(replacementInQuery.utf8)
    private static let markOfUser = Array(replacementOfUser.utf8)
    private static let numeric = ASCIISet("+-.eE0123456789")
    private static let afterAuthority = ASCIISet.blank.union("/?#\\\"'<>")
    private static let afterName = ASCIISet.blank.union("&#?/\"'<>\\;")
    private static let afterValue = ASCIISet.blank.union("&#\"'<>\\")

    let text: UnsafeBufferPointer<UInt8>
    let rules: SecretRules
    private let kind: BodyKind
    private let depth: Int
    var position = 0
    private var found: [(range: Range<Int>, replacement: [UInt8])] = []

    init(_ text: UnsafeBufferPointer<UInt8>, _ rules: SecretRules, _ kind: BodyKind, depth: Int) {
        self.text = text
        self.rules = rules
        self.kind = kind
        self.depth = depth
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
        if kind == .form { pair(at: 0) }
        while let place = nextSign() {
            position = place
            switch text[place] {
            case UInt8(ascii: "\""): quote()
            case UInt8(ascii: "e"): encodedObject()
            case UInt8(ascii: "M"): encodedDER()
            case UInt8(ascii: "-"): privateKey()
            case UInt8(ascii: ":"): authority()
            case UInt8(ascii: "\\"): pair(at: place + 6)
            default: pair(at: place + 1)
            }
        }
    }

    /// The next place where something may begin or end that matters. Nearly all of a text is passed here.
    private func nextSign() -> Int? {
        var place = position
        let last = text.count - 1
        while place < last {
            let next = text[place + 1]
            switch text[place] {
            case UInt8(ascii: "\""):
                if next == UInt8(ascii: ":") || next <= 0x20 || kind == .multipart { return place }
            case UInt8(ascii: "e"): if next == UInt8(ascii: "y") { return place }
            case UInt8(ascii: "M"): if next == UInt8(ascii: "I") { return place }
            case UInt8(ascii: "-"): if next == UInt8(ascii: "-") { return place }
            case UInt8(ascii: ":"): if next == UInt8(ascii: "/") || next == UInt8(ascii: "\\") { return place }
            case UInt8(ascii: "\\"): if next == UInt8(ascii: "u"), stands("\\u0026", at: place) { return place }
            case UInt8(ascii: "?"), UInt8(ascii: "&"), UInt8(ascii: "#"): return place
            default: break
            }
            place += 1
        }
        return nil
    }

    /// Replaces what is there, and goes on after it.
    private mutating func hide(_ range: Range<Int>, _ replacement: [UInt8] = mark) {
        position = max(range.upperBound, position + 1)
        guard !range.isEmpty, !text[range].elementsEqual(replacement) else { return }
        found.append((range, replacement))
    }

    func stands(_ word: StaticString, at start: Int) -> Bool {
        let count = word.utf8CodeUnitCount
        guard start + count <= text.count else { return false }
        return (0..<count).allSatisfy { text[start + $0] == word.utf8Start[$0] }
    }

    /// The first place from `start` on where `isEnd` holds, or the end of the text.
    private func end(from start: Int, _ isEnd: (UInt8) -> Bool) -> Int {
        var place = start
        while place < text.count, !isEnd(text[place]) { place += 1 }
        return place
    }
}

// MARK: - Members

extension SecretScanner {
    /// At a quote: the one that ends a member's name?
    private mutating func quote() {
        let place = position
        position += 1
        var next = place + 1
        while next < text.count, text[next] <= 0x20 { next += 1 }
        if kind == .multipart, next < text.count, text[next] == UInt8(ascii: ";") || text[place + 1..<next].contains(10)
        {
            return part(named: place)
        }
        guard next < text.count, text[next] == UInt8(ascii: ":") else { return }
        let escapes = backslashes(before: place)
        guard let name = name(before: place, escapes: escapes) else { return }
        position = next + 1
        if name.isEscaped ? rules.members.contains(decoded(name.range)) : rules.members.contains(text, name.range) {
            value(at: end(from: next + 1) { $0 > 0x20 }, of: name.range, escapes: escapes)
        }
    }

    /// How many backslashes stand before a quote: each time JSON is written into a text of JSON they get more.
    private func backslashes(before place: Int) -> Int {
        var count = 0
        while count < place, text[place - 1 - count] == UInt8(ascii: "\\") { count += 1 }
        return count
    }

    /// What stands between the quote at `place` and the one before it, and whether there are escapes in it.
    private func name(before place: Int, escapes: Int) -> (range: Range<Int>, isEscaped: Bool)? {
        let end = place - escapes
        let limit = max(0, end - Self.longestName)
        var start = end
        var isEscaped = false
        while start > limit {
            switch text[start - 1] {
            case UInt8(ascii: "\""): return (start..<end, isEscaped)
            case UInt8(ascii: "\\"): isEscaped = true
            default: break
            }
            start -= 1
        }
        return nil
    }

    private func decoded(_ name: Range<Int>) -> String {
        (try? JSONValue(parsing: [UInt8(ascii: "\"")] + text[name] + [UInt8(ascii: "\"")]))?.stringValue ?? ""
    }

    private mutating func value(at start: Int, of name: Range<Int>, escapes: Int) {
        guard start < text.count else { return }
        let quote = [UInt8](repeating: UInt8(ascii: "\\"), count: escapes) + [UInt8(ascii: "\"")]
        switch text[start] {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"):
            guard text[start...].starts(with: quote) else { return }
            let content = start + quote.count
            hide(content..<endOfText(from: content, escapes: escapes))
        case UInt8(ascii: "{") where text[name].elementsEqual("receipt".utf8): return
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            hide(start..<endOfNest(from: start, escapes: escapes), quote + Self.mark + quote)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            let end = end(from: start) { !Self.numeric.contains($0) }
            hide(start..<end, quote + Self.mark + quote)
        default: return
        }
    }

    /// Where the text ends that began with a quote after so many backslashes.
    private func endOfText(from start: Int, escapes: Int) -> Int {
        var place = start
        while place < text.count {
            place = end(from: place) { $0 == UInt8(ascii: "\"") }
            guard place < text.count else { break }
            let before = min(backslashes(before: place), place - start)
            if before % (2 * (escapes + 1)) == escapes { return place - escapes }
            place += 1
        }
        return text.count
    }

    /// Where the array or object ends that begins at `start`.
    private func endOfNest(from start: Int, escapes: Int) -> Int {
        var level = 0
        var place = start
        while place < text.count {
            switch text[place] {
            case UInt8(ascii: "{"), UInt8(ascii: "["): level += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                level -= 1
                if level == 0 { return place + 1 }
            case UInt8(ascii: "\""): place = min(endOfText(from: place + 1, escapes: escapes) + escapes, text.count)
            default: break
            }
            place += 1
        }
        return text.count
    }

    /// At the quote that ends `name="…"` in the head of a part of a form.
    private mutating func part(named place: Int) {
        guard let name = name(before: place, escapes: 0)?.range, name.lowerBound >= 6,
            stands("name=", at: name.lowerBound - 6), rules.members.contains(text, name)
        else { return }
        var head = place
        while head < text.count, !stands("\r\n\r\n", at: head), !stands("\n\n", at: head) { head += 1 }
        let start = min(head + (stands("\r", at: head) ? 4 : 2), text.count)
        var end = start
        while end < text.count, !stands("\r\n--", at: end), !stands("\n--", at: end) { end += 1 }
        hide(start..<end)
    }
}

// MARK: - Signed and encoded

extension SecretScanner {
    /// At an `e`: base64 of `{"`, with which the parts of a JWS begin?
    private mutating func encodedObject() {
        guard stands("eyJ", at: position), beginsWord(position) else { return position += 1 }
        let end = endOfBase64(from: position, withDots: true)
        if end - position >= 16 { hide(position..<end) } else { position = end }
    }

    /// At an `M`: base64 of a DER sequence of more than 255 bytes, such as a receipt or a private key?
    private mutating func encodedDER() {
        guard stands("MI", at: position), beginsWord(position) else { return position += 1 }
        let end = endOfBase64(from: position, withDots: false)
        if end - position >= 64 { hide(position..<end) } else { position = max(end, position + 1) }
    }

    private func beginsWord(_ place: Int) -> Bool {
        guard place > 0 else { return true }
        guard text[place - 1].isAlphanumeric else { return true }
        // The end of an escape is no letter: `%3D`, `\n`, `\u0022`.
        return place >= 3 && text[place - 3] == UInt8(ascii: "%")
            || place >= 2 && text[place - 2] == UInt8(ascii: "\\")
            || place >= 6 && stands("\\u", at: place - 6)
    }

    /// Base64 of either alphabet, and as JSON and forms escape it; without dots also over several lines.
    private func endOfBase64(from start: Int, withDots: Bool) -> Int {
        var place = start
        while place < text.count {
            switch text[place] {
            case let byte where byte.isAlphanumeric: place += 1
            case UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "="):
                place += 1
            case UInt8(ascii: ".") where withDots: place += 1
            case 0x0A where !withDots, 0x0D where !withDots: place += 1
            case UInt8(ascii: "%") where ["%2B", "%2F", "%3D", "%2b", "%2f", "%3d"].contains { stands($0, at: place) }:
                place += 3
            case UInt8(ascii: "\\") where stands("\\/", at: place): place += 2
            case UInt8(ascii: "\\") where !withDots && (stands("\\n", at: place) || stands("\\r", at: place)):
                place += 2
            default: return place
            }
        }
        return place
    }

    /// At a hyphen: the first line of a private key in PEM?
    private mutating func privateKey() {
        guard stands("-----BEGIN ", at: position) else { return position += 1 }
        var start = position + 11
        while start < text.count, start < position + 60, !stands("PRIVATE KEY-----", at: start) { start += 1 }
        guard stands("PRIVATE KEY-----", at: start) else { return position += 11 }
        start += 16
        var end = start
        while end < text.count, !stands("-----END", at: end) { end += 1 }
        hide(start..<end)
    }
}

// MARK: - URLs and forms

extension SecretScanner {
    /// At a colon: user information after `://`?
    private mutating func authority() {
        let colon = position
        position += 1
        let start = stands("://", at: colon) ? colon + 3 : stands(":\\/\\/", at: colon) ? colon + 5 : text.count
        guard start < text.count else { return }
        let end = end(from: start) { Self.afterAuthority.contains($0) }
        if let at = text[start..<end].lastIndex(of: UInt8(ascii: "@")) {
            hide(start..<at, Self.markOfUser)
        } else if end == text.count, text[start] != UInt8(ascii: "["),
            let port = text[start..<end].firstIndex(of: UInt8(ascii: ":")),
            !text[(port + 1)..<end].allSatisfy({ (0x30...0x39).contains($0) })
        {
            // Cut before the @ came.
            hide(start..<end, Self.markOfUser)
        }
    }

    /// An item of a query or a form.
    private mutating func pair(at place: Int) {
        let start = stands("amp;", at: place) ? place + 4 : place
        position = max(place, position)
        let limit = min(text.count, start + Self.longestName)
        var equals = start
        while equals < limit, text[equals] != UInt8(ascii: "=") {
            guard !Self.afterName.contains(text[equals]) else { return }
            equals += 1
        }
        guard equals < limit else { return }
        let value = equals + 1..<end(from: equals + 1) { Self.afterValue.contains($0) }
        let name = text[start..<equals]
        let isEscaped = name.contains(UInt8(ascii: "%"))
        if isEscaped ? rules.queryItems.contains(Self.decoded(name)) : rules.queryItems.contains(text, start..<equals) {
            return hide(value, Self.markInQuery)
        }
        position = value.lowerBound
        guard depth < Self.deepest, text[value].contains(UInt8(ascii: "%")) else { return }
        let inner = Array(Self.decoded(text[value]).utf8)
        let change = inner.withUnsafeBufferPointer { rules.scanned($0, .text, depth: depth + 1) }
        if let change { hide(value, Array(PercentEncoding.encode(String(decoding: change, as: UTF8.self)).utf8)) }
    }

    /// What an item means; what is no escape stands for itself.
    private static func decoded(_ item: Slice<UnsafeBufferPointer<UInt8>>) -> String {
        var decoded: [UInt8] = []
        var place = item.startIndex
        while place < item.endIndex {
            if item[place] == UInt8(ascii: "%"), place + 2 < item.endIndex,
                let byte = UInt8(String(decoding: item[place + 1...place + 2], as: UTF8.self), radix: 16)
            {
                decoded.append(byte)
                place += 3
            } else {
                decoded.append(item[place] == UInt8(ascii: "+") ? 0x20 : item[place])
                place += 1
            }
        }
        return String(decoding: decoded, as: UTF8.self)
    }
}

extension UInt8 {
    fileprivate var isAlphanumeric: Bool {
        (0x30...0x39).contains(self) || (0x41...0x5A).contains(self) || (0x61...0x7A).contains(self)
    }
}

/// Some of ASCII, told in one step.
private struct ASCIISet {
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
