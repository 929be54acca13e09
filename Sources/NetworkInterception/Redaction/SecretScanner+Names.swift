import Primitives

/// A quotation mark, plain or escaped: `"`, `'`, a backtick, `\"`, `\\\"`, `\u0022`, `&quot;`.
struct SecretQuote {
    enum Mark { case double, single, backtick, unicode, entity }

    let mark: Mark
    /// The number of backslashes before it, which grows with each nesting of JSON in strings.
    let escapes: Int
    /// The quotation mark with its backslashes.
    let range: Range<Int>
}

/// A name before a colon or an equals sign.
struct SecretName {
    let range: Range<Int>
    /// The quotation mark before the name, if it is quoted.
    let quote: SecretQuote?
    /// Whether it is the name of an item of a query, a form or a cookie.
    let isItem: Bool
    /// Whether the name must be decoded.
    let isEscaped: Bool
}

extension SecretScanner {
    /// The characters before an unquoted name.
    private static let beforeName = ASCIISet.blank.union("&?#/\"'`<>\\;=:,{}()|!")

    /// The characters before a quotation mark that opens a string, and after a quotation mark that closes a string.
    private static let beforeQuote = ASCIISet.blank.union(":=,;([{>+?!|&")
    private static let afterQuote = ASCIISet.blank.union(",;:)]}>/+")

    /// The name that ends before the colon or equals sign at `place`. It may be a key in brackets:
    /// `os.environ["DB_PASSWORD"] = …`. `nil` for the prefix of an XML namespace.
    func name(before place: Int) -> SecretName? {
        var end = place
        while end > 0, place - end < Self.longestName {
            if text[end - 1] <= 0x20 {
                end -= 1
            } else if let start = startOfComment(before: end) {
                end = start
            } else {
                break
            }
        }
        guard end > 0 else { return nil }
        if text[place] == UInt8(ascii: "="), text[end - 1] == UInt8(ascii: "]") {
            var key = end - 1
            while key > 0, text[key - 1].isBlank { key -= 1 }
            if let quote = quote(endingAt: key) { return quotedName(before: quote) }
        }
        if let quote = quote(endingAt: end) ?? backtick(endingAt: end, before: place) {
            return quotedName(before: quote)
        }
        let limit = max(0, end - Self.longestName)
        var start = end
        var isEscaped = false
        while start > limit, !Self.beforeName.contains(text[start - 1]) {
            start -= 1
            if text[start] == UInt8(ascii: "%") { isEscaped = true }
        }
        guard start < end, start == 0 || Self.beforeName.contains(text[start - 1]) else { return nil }
        var isItem = beginsItem(after: start)
        if byte(start - 1) == UInt8(ascii: "\\") {
            if matches("u00", at: start) {
                isItem = matches("u0026", at: start)
                start += 5
            } else if "nrt".utf8.contains(text[start]) {
                start += 1
            }
        }
        guard start < end else { return nil }
        if matches("xmlns:", at: start - 6) { return nil }
        if text[place] == UInt8(ascii: ":"), byte(start - 1) == UInt8(ascii: "<") || matches("</", at: start - 2) {
            return nil
        }
        isItem = isItem && text[place] == UInt8(ascii: "=") && end == place
        return SecretName(range: start..<end, quote: nil, isItem: isItem, isEscaped: isEscaped)
    }

    /// Whether the characters before `start` show that the name belongs to an item.
    private func beginsItem(after start: Int) -> Bool {
        guard start > 0 else { return kind == .form || kind == .body || kind == .header }
        let before = text[start - 1]
        return "?&#;".utf8.contains(before) || kind == .header && (before <= 0x20 || before == UInt8(ascii: ","))
    }

    /// The backtick at the end of a name in MySQL, if a string follows the equals sign. Elsewhere it is Markdown or
    /// JavaScript.
    private func backtick(endingAt end: Int, before sign: Int) -> SecretQuote? {
        guard text[end - 1] == UInt8(ascii: "`"), text[sign] == UInt8(ascii: "="),
            quote(startingAt: valueStart(self.end(from: sign + 1) { !$0.isBlank })) != nil
        else { return nil }
        return SecretQuote(mark: .backtick, escapes: 0, range: end - 1..<end)
    }

    private func quotedName(before quote: SecretQuote) -> SecretName? {
        let end = quote.range.lowerBound
        let limit = max(0, end - Self.longestName)
        var start = end
        var isEscaped = false
        while start > limit {
            if isQuote(quote.mark, endingAt: start) {
                return SecretName(range: start..<end, quote: quote, isItem: false, isEscaped: isEscaped)
            }
            start -= 1
            if text[start] == UInt8(ascii: "\\") { isEscaped = true }
        }
        return nil
    }

    private func isQuote(_ mark: SecretQuote.Mark, endingAt end: Int) -> Bool {
        switch mark {
        case .double: byte(end - 1) == UInt8(ascii: "\"")
        case .single: byte(end - 1) == UInt8(ascii: "'")
        case .backtick: byte(end - 1) == UInt8(ascii: "`")
        case .unicode: matches("\\u0022", at: end - 6)
        case .entity: matches("&quot;", at: end - 6)
        }
    }

    /// The quotation mark that ends at `end`.
    func quote(endingAt end: Int) -> SecretQuote? {
        let mark: SecretQuote.Mark
        let length: Int
        switch byte(end - 1) {
        case UInt8(ascii: "\""): (mark, length) = (.double, 1)
        case UInt8(ascii: "'"): (mark, length) = (.single, 1)
        case UInt8(ascii: "2") where matches("\\u0022", at: end - 6): (mark, length) = (.unicode, 6)
        case UInt8(ascii: ";") where matches("&quot;", at: end - 6): (mark, length) = (.entity, 6)
        default: return nil
        }
        let escapes = backslashes(before: end - length)
        return SecretQuote(mark: mark, escapes: escapes, range: end - length - escapes..<end)
    }

    /// The quotation mark that begins at `start`.
    func quote(startingAt start: Int) -> SecretQuote? {
        var place = start
        while byte(place) == UInt8(ascii: "\\"), place - start < Self.longestName { place += 1 }
        let escapes = place - start
        switch byte(place) {
        case UInt8(ascii: "\""):
            return SecretQuote(mark: .double, escapes: escapes, range: start..<place + 1)
        case UInt8(ascii: "'"):
            return SecretQuote(mark: .single, escapes: escapes, range: start..<place + 1)
        case UInt8(ascii: "`"):
            return SecretQuote(mark: .backtick, escapes: escapes, range: start..<place + 1)
        case UInt8(ascii: "u") where escapes > 0 && matches("u0022", at: place):
            return SecretQuote(mark: .unicode, escapes: escapes - 1, range: start..<place + 5)
        case UInt8(ascii: "&") where escapes == 0 && matches("&quot;", at: place):
            return SecretQuote(mark: .entity, escapes: 0, range: start..<place + 6)
        default: return nil
        }
    }

    /// Whether this mark closes the string around the word at `word`, as in `"Password: "`, and does not open a value.
    ///
    /// The marks before the word decide. A mark between punctuation and a letter opens a string. A mark between a
    /// letter and punctuation closes it. Any other mark, except an apostrophe within a word, toggles between inside and
    /// outside of a string.
    func isEnd(_ quote: SecretQuote, around word: Int) -> Bool {
        guard Self.afterQuote.contains(byte(quote.range.upperBound)) else { return false }
        let limit = max(0, word - Self.nearby)
        var isChanged = false
        var end = word
        while end > limit, quote.mark == .backtick || !text[end - 1].isLineEnd {
            guard isQuote(quote.mark, endingAt: end) else {
                end -= 1
                continue
            }
            let (after, length) = (byte(end), quote.range.count - quote.escapes)
            let escapes = backslashes(before: end - length)
            end -= length + escapes
            guard escapes % (2 * (quote.escapes + 1)) == quote.escapes else { continue }
            let isApostrophe = quote.mark == .single && byte(end - 1).isAlphanumeric && after.isAlphanumeric
            let (begins, ends) = (beginsString(end), Self.afterQuote.contains(after))
            if begins != ends { return begins != isChanged }
            if !isApostrophe { isChanged.toggle() }
        }
        return isChanged
    }

    /// Whether the characters before `start` permit a string there. A letter may be the prefix of a Python string.
    private func beginsString(_ start: Int) -> Bool {
        if start == 0 || Self.beforeQuote.contains(text[start - 1]) { return true }
        return "bfruBFRU".utf8.contains(text[start - 1]) && !byte(start - 2).isAlphanumeric
    }

    func backslashes(before place: Int) -> Int {
        var count = 0
        while count < place, text[place - 1 - count] == UInt8(ascii: "\\") { count += 1 }
        return count
    }

    /// The end of the string that this quotation mark opens.
    func endOfString(_ quote: SecretQuote) -> Int {
        let start = quote.range.upperBound
        switch quote.mark {
        case .double: return endOfString(from: start, UInt8(ascii: "\""), quote.escapes)
        case .single: return endOfString(from: start, UInt8(ascii: "'"), quote.escapes)
        case .backtick: return endOfString(from: start, UInt8(ascii: "`"), quote.escapes)
        case .unicode: return end(from: start, at: "\\u0022", unlessEscaped: true)
        case .entity: return end(from: start, at: "&quot;", unlessEscaped: false)
        }
    }

    /// The end of the string that opens with a mark after this number of backslashes. A string in single marks ends
    /// with its line, because the mark may be an apostrophe.
    func endOfString(from start: Int, _ mark: UInt8, _ escapes: Int) -> Int {
        var place = start
        while place < text.count {
            guard text[place] == mark else {
                if mark == UInt8(ascii: "'"), text[place].isLineEnd { return place }
                place += 1
                continue
            }
            // SQL doubles a quotation mark.
            if mark == UInt8(ascii: "'"), place > start, byte(place + 1) == mark {
                place += 2
                continue
            }
            let before = min(backslashes(before: place), place - start)
            if before % (2 * (escapes + 1)) == escapes { return place - escapes }
            place += 1
        }
        return text.count
    }

    private func end(from start: Int, at word: StaticString, unlessEscaped: Bool) -> Int {
        var place = start
        while place < text.count {
            if matches(word, at: place), !unlessEscaped || byte(place - 1) != UInt8(ascii: "\\") { return place }
            place += 1
        }
        return text.count
    }

    /// The end of the comment at `start`, as in JSON with comments. `nil` if there is none, or it is longer than
    /// `longestName`.
    func endOfComment(from start: Int) -> Int? {
        guard text[start] == UInt8(ascii: "/") else { return nil }
        let limit = min(text.count, start + Self.longestName)
        var place = start + 2
        if matches("//", at: start) {
            while place < limit, !text[place].isLineEnd { place += 1 }
            return place < limit ? place + 1 : nil
        }
        guard matches("/*", at: start) else { return nil }
        while place < limit, !matches("*/", at: place) { place += 1 }
        return place < limit ? place + 2 : nil
    }

    /// The start of the comment that ends before `end`.
    private func startOfComment(before end: Int) -> Int? {
        guard matches("*/", at: end - 2) else { return nil }
        let limit = max(0, end - Self.longestName)
        var place = end - 4
        while place >= limit, !matches("/*", at: place) { place -= 1 }
        return place >= limit ? place : nil
    }

    /// The next line end, which may be an escape sequence, or the first position where `isEnd` holds.
    func endOfLine(from start: Int, or isEnd: (UInt8) -> Bool = { _ in false }) -> Int {
        var place = start
        while place < text.count, !endsLine(place), !isEnd(text[place]) { place += 1 }
        return place
    }

    func endsLine(_ place: Int) -> Bool {
        text[place].isLineEnd || text[place] == UInt8(ascii: "\\") && "nr".utf8.contains(byte(place + 1))
    }
}

extension SecretScanner {
    /// The meaning of a name after its decoding. An unquoted name may be percent-encoded more than once.
    func meaning(of name: SecretName) -> SecretMeaning {
        guard name.isEscaped else { return rules.meaning(of: text, name.range) }
        var decoded = name.quote == nil ? EscapedText(percentEncoded: text, name.range).bytes : unescaped(name.range)
        for _ in 1..<Self.maximumDepth where name.quote == nil && decoded.contains(UInt8(ascii: "%")) {
            decoded = decoded.withUnsafeBufferPointer { EscapedText(percentEncoded: $0, 0..<$0.count).bytes }
        }
        return decoded.withUnsafeBufferPointer { rules.meaning(of: $0, 0..<$0.count) }
    }

    /// The decoded JSON string in this range. Empty if it is malformed.
    private func unescaped(_ name: Range<Int>) -> [UInt8] {
        let quoted = [UInt8(ascii: "\"")] + text[name] + [UInt8(ascii: "\"")]
        return Array(((try? JSONValue(parsing: quoted))?.stringValue ?? "").utf8)
    }
}

extension UInt8 {
    var hexValue: UInt8? {
        switch self {
        case 0x30...0x39: self - 0x30
        case 0x41...0x46: self - 0x41 + 10
        case 0x61...0x66: self - 0x61 + 10
        default: nil
        }
    }
}
