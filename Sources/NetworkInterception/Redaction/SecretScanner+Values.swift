import HTTPCore

/// Values whose names make them secrets: JSON members, settings, headers in texts, items of queries and forms.
extension SecretScanner {
    /// The longest distance, in bytes, between parts of a text that belong together, such as a value and an earlier
    /// value that names it.
    static let nearby = 512
    private static let longestType = 64
    /// The longest distance between members of an RSA JSON Web Key with 4096 bits.
    private static let longestKey = 2048
    private static let typeName = ASCIISet.alphanumeric.union(" _.!?[]<>|&'")
    private static let numeric = ASCIISet("+-.eE0123456789")
    private static let afterItem = ASCIISet.blank.union("&#\"'<>\\")
    private static let afterSetting = ASCIISet.blank.union("\"'`<>")
    private static let afterNumber = ASCIISet.blank.union("\"'`<>,]}")
    private static let afterWord = ASCIISet(",;)]}.")
    /// Words for an absent secret or for its type.
    private static let literals: Set<String> = [
        "&str", "null", "nil", "none", "true", "false", "undefined", "~", "string", "str", "text", "number", "integer",
        "boolean",
        "object", "array", "any", "required", "optional", "basic", "bearer", "yes", "no",
    ]
    /// Words that continue a sentence after a colon.
    private static let prose: Set<String> = [
        "must", "is", "are", "should", "may", "can", "cannot", "has", "too", "not", "this", "the", "invalid", "missing",
        "required", "expired", "unexpected", "unknown", "size", "identifier", "does", "was",
    ]

    /// At a colon or an equals sign: hides a secret that follows. The names of secret headers also count in texts that
    /// quote a header.
    mutating func separator() {
        let place = position
        position += 1
        let sign = text[place]
        if sign == UInt8(ascii: ":"), authority(at: place) || botToken(at: place) { return }
        let name = name(before: place)
        if sign == UInt8(ascii: "="), byte(place + 1) == UInt8(ascii: "="), name.map(isInQuery) != true {
            // A comparison, or the padding of base64.
            position = end(from: place) { $0 != UInt8(ascii: "=") }
            return
        }
        guard let name else { return declaration(at: place) }
        var start = place + 1
        if sign == UInt8(ascii: ":") ? byte(start) == UInt8(ascii: "=") : byte(start) == UInt8(ascii: ">") {
            start += 1
        }
        position = start
        let meaning = meaning(of: name)
        if meaning.contains(.member) || name.isItem && meaning.contains(.item)
            || name.quote == nil && meaning.contains(.header)
        {
            value(of: name, meaning, after: sign, at: start)
        } else if sign == UInt8(ascii: ":"), name.quote != nil, isInPrivateKey(name) {
            value(of: name, .member, after: sign, at: start)
        } else if sign == UInt8(ascii: ":"), let meaning = meaningInSecretMapping(name) {
            value(of: name, meaning, after: sign, at: start)
        } else if rules.mayContainSecretName(text, name.range)
            || name.quote != nil && rules.mayContainSecretPath(text, name.range)
        {
            valueThatNames(name, at: start)
        } else if let meaning = meaningBeside(name) {
            value(of: name, meaning, after: sign, at: start)
        } else {
            declaration(at: place)
        }
    }

    /// Whether this is a private member of a JSON Web Key (RFC 7517), whose type `kty` is nearby.
    private func isInPrivateKey(_ name: SecretName) -> Bool {
        guard name.range.count <= 2,
            ["d", "k", "p", "q", "dp", "dq", "qi"].contains(String(decoding: text[name.range], as: UTF8.self))
        else { return false }
        let nearby =
            max(0, name.range.lowerBound - Self.longestKey)..<min(text.count, name.range.upperBound + Self.longestKey)
        return nearby.contains { text[$0] == UInt8(ascii: "k") && matches("kty", at: $0) }
    }

    /// At an equals sign: scans a variable declaration, such as `let password: String = "…"` of GraphQL, Rust, Swift,
    /// TypeScript and Python, or `var password string = "…"` of Go.
    private mutating func declaration(at place: Int) {
        guard text[place] == UInt8(ascii: "="), currentTag == nil,
            quote(startingAt: valueStart(end(from: place + 1) { !$0.isBlank })) != nil
        else { return }
        let limit = max(0, place - Self.longestType)
        var type = place
        while type > limit, text[type - 1].isBlank { type -= 1 }
        if matches(" string", at: type - 7), let name = name(before: type - 7), name.quote == nil {
            let meaning = meaning(of: name)
            if meaning.contains(.member) { return value(of: name, meaning, after: text[place], at: place + 1) }
        }
        var colon = place
        while colon > limit, Self.typeName.contains(text[colon - 1]) { colon -= 1 }
        guard colon < place, byte(colon - 1) == UInt8(ascii: ":"), let name = name(before: colon - 1) else { return }
        let meaning = meaning(of: name)
        if meaning.contains(.member) { value(of: name, meaning, after: text[place], at: place + 1) }
    }

    /// Hides the value of a name that is the name of a secret. The value of an argument or of an XML attribute may be
    /// in the next line, and a TOML list may have several lines.
    private mutating func value(of name: SecretName, _ meaning: SecretMeaning, after sign: UInt8, at place: Int) {
        var start = name.quote.map { afterSpace(from: place, escapes: $0.escapes) } ?? end(from: place) { !$0.isBlank }
        if sign == UInt8(ascii: ":"), beginsLine(name) {
            start = afterProperties(endOfLine(beforeYAMLAt: start, after: place) ?? start)
        }
        if sign == UInt8(ascii: ":"), name.quote == nil, start < text.count, endsLine(start), !beginsLine(name) {
            let value = afterSpace(from: start, escapes: 1)
            if quote(startingAt: value) != nil { start = value }
        }
        if sign == UInt8(ascii: "="), currentTag != nil, name.quote == nil {
            let value = end(from: start) { $0 > 0x20 }
            if "\"'".utf8.contains(byte(value)) { start = value }
        }
        guard start < text.count, !isMarked(start) else { return }
        if !name.isItem || kind == .header || name.range.lowerBound == 0,
            let quote = quote(startingAt: valueStart(start))
        {
            guard quote.range.upperBound < text.count, name.quote != nil || !isEnd(quote, around: name.range.lowerBound)
            else { return }
            return string(quote, of: name)
        }
        if name.isItem, isInPairs(name) { return pair(from: start) }
        if name.isItem, name.range.lowerBound > 0 || kind == .header || !isText(from: start) {
            return item(name, from: start)
        }
        if meaning.contains(.line), name.quote == nil, sign == UInt8(ascii: ":"), !endsLine(start), !beginsBlock(start),
            !isComment(start, after: name)
        {
            let end = endOfHeader(name, from: start)
            return hideTrimmed(start..<(endOfScalar(of: name, from: end, closedBy: nil) ?? end))
        }
        switch text[start] {
        case UInt8(ascii: "{") where name.quote != nil || !meaning.contains(.object):
            if meaning.contains(.object) { nest(name, from: start) } else { object(of: name, meaning, from: start) }
        case UInt8(ascii: "[") where name.quote != nil || !meaning.contains(.list):
            if meaning.contains(.list) { nest(name, from: start) }
        case UInt8(ascii: "[") where meaning.contains(.list) && beginsLine(name) && endsBlank(start + 1):
            nest(name, from: start)
        case UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: "("):
            if sign == UInt8(ascii: ":"), text[start] != UInt8(ascii: "("), !goesOnAfterNest(from: start) {
                nest(name, from: start)
            } else if sign == UInt8(ascii: "="), let close = endOfList(from: start) {
                hide(start..<close + 1)
            } else {
                setting(name, meaning, sign, from: start)
            }
        default: setting(name, meaning, sign, from: start)
        }
    }

    /// The end of a quoted header value: the end of the line or of the string that contains the header. The value may
    /// contain strings: `Digest username="anna", response="…"`.
    private func endOfHeader(_ name: SecretName, from start: Int) -> Int {
        let around = name.range.lowerBound > 0 ? quote(endingAt: name.range.lowerBound) : nil
        var place = start
        while place < text.count, !endsLine(place), text[place] != UInt8(ascii: "<"), text[place] != UInt8(ascii: "`") {
            guard let quote = quote(startingAt: place) else {
                place += 1
                continue
            }
            let closes = around.map { $0.mark == quote.mark && $0.escapes == quote.escapes } ?? false
            if closes || isEnd(quote, around: name.range.lowerBound) { return place }
            place = quote.range.upperBound
        }
        return place
    }

    /// Whether the line has only blanks from `start` on.
    private func endsBlank(_ start: Int) -> Bool { byte(end(from: start) { !$0.isBlank }).isLineEnd }

    /// Skips white space, which may be escaped, and comments.
    private func afterSpace(from start: Int, escapes: Int) -> Int {
        var place = start
        while place < text.count {
            if text[place] <= 0x20 {
                // Server-sent events may break a line anywhere.
                place += text[place].isLineEnd && matches("data:", at: place + 1) ? 6 : 1
            } else if let end = endOfComment(from: place) {
                place = end
            } else if escapes > 0, text[place] == UInt8(ascii: "\\") {
                let letter = end(from: place) { $0 != UInt8(ascii: "\\") }
                guard "nrt".utf8.contains(byte(letter)) else { return place }
                place = letter + 1
            } else {
                return place
            }
        }
        return place
    }

    /// Skips a prefix of a string: letters of Python or SQL in `b'…'`, `@` of C# in `@"…"`, a bracket, or a name as in
    /// `Optional("…")`.
    func valueStart(_ start: Int) -> Int {
        let limit = min(text.count, start + Self.longestName)
        var end = start
        while end < limit, text[end].isAlphanumeric || text[end] == UInt8(ascii: ".") { end += 1 }
        if byte(end) == UInt8(ascii: "("), quote(startingAt: end + 1) != nil { return end + 1 }
        var place = start
        while place < start + 2, "bBrRuUfFnN@".utf8.contains(byte(place)) { place += 1 }
        return place > start && quote(startingAt: place) != nil ? place : start
    }

    private mutating func string(_ quote: SecretQuote, of name: SecretName) {
        var content = tripleQuoted(quote) ?? quote.range.upperBound..<max(quote.range.upperBound, endOfString(quote))
        if quote.mark == .single,
            let end = endOfScalar(of: name, from: content.upperBound, closedBy: UInt8(ascii: "'"))
        {
            content = content.lowerBound..<end
        }
        if isLiteral(content) { return position = content.upperBound }
        hide(content)
    }

    /// The text between triple quotation marks, as in TOML, Python, Swift and GraphQL. In a string of JSON each mark
    /// has backslashes. `nil` for a single mark.
    private func tripleQuoted(_ quote: SecretQuote) -> Range<Int>? {
        guard quote.mark == .double || quote.mark == .single else { return nil }
        let first = text[quote.range.lowerBound]
        let quotes = Array([[UInt8]](repeating: Array(text[quote.range]), count: 3).joined())
        guard matches(quotes, at: quote.range.lowerBound) else { return nil }
        let start = quote.range.lowerBound + quotes.count
        var end = start
        while end < text.count, text[end] != first || !matches(quotes, at: end) || text[end - 1] == UInt8(ascii: "\\") {
            end += 1
        }
        return start..<end
    }

    func isLiteral(_ range: Range<Int>) -> Bool {
        guard range.count <= 10 else { return false }
        return Self.literals.contains(String(decoding: text[range], as: UTF8.self).lowercased())
    }

    /// Replaces an array or an object with a string.
    private mutating func nest(_ name: SecretName, from start: Int) {
        let quote = name.quote.map { Array(text[$0.range]) } ?? []
        hide(start..<endOfNest(from: start, escapes: name.quote?.escapes ?? 0), quote + Self.mark + quote)
    }

    /// Whether the brackets are the start of a word, as in `userPassword: {SSHA}…`.
    private func goesOnAfterNest(from start: Int) -> Bool { isWord(byte(endOfNest(from: start, escapes: 0))) }

    private func isWord(_ byte: UInt8) -> Bool { byte.isAlphanumeric || "/+$_-".utf8.contains(byte) }

    /// The end of a list in one line, as Java prints it: `Authorization=[Bearer …]`. `nil` if there is none.
    private func endOfList(from start: Int) -> Int? {
        guard text[start] != UInt8(ascii: "{") else { return nil }
        let close: UInt8 = text[start] == UInt8(ascii: "[") ? UInt8(ascii: "]") : UInt8(ascii: ")")
        let end = endOfLine(from: start + 1) { $0 == close || $0 == text[start] }
        return end > start + 1 && byte(end) == close && !isWord(byte(end + 1)) ? end : nil
    }

    /// The end of the array or object at `start`.
    private func endOfNest(from start: Int, escapes: Int) -> Int {
        var level = 0
        var place = start
        while place < text.count {
            switch text[place] {
            case UInt8(ascii: "{"), UInt8(ascii: "["): level += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                level -= 1
                if level == 0 { return place + 1 }
            case UInt8(ascii: "\""):
                place = min(endOfString(from: place + 1, UInt8(ascii: "\""), escapes) + escapes, text.count)
            default: break
            }
            place += 1
        }
        return text.count
    }

    mutating func hideTrimmed(_ range: Range<Int>, _ replacement: [UInt8] = mark) {
        var end = range.upperBound
        while end > range.lowerBound, text[end - 1] <= 0x20 { end -= 1 }
        hide(range.lowerBound..<end, replacement)
    }
}

// MARK: - Unquoted values

extension SecretScanner {
    /// Hides the value of an item of a query, a form or a cookie. An ampersand that no other item follows is part of
    /// the value.
    private mutating func item(_ name: SecretName, from start: Int) {
        let isListed = kind == .header && ",;".utf8.contains(beforeSpace(name.range.lowerBound))
        let isField = kind == .form && "\0&".utf8.contains(byte(name.range.lowerBound - 1))
        var end = start
        while end < text.count, !endsItem(end, isListed: isListed, isField: isField) {
            end += 1
            if byte(end) == UInt8(ascii: "&"), kind == .form || kind == .body, !beginsItem(end + 1) { end += 1 }
        }
        hideTrimmed(start..<end, Self.markInQuery)
    }

    /// Whether an item ends before the byte at `place`. In a URL only `&` and `#` end an item, in a form only `&`.
    private func endsItem(_ place: Int, isListed: Bool, isField: Bool) -> Bool {
        let byte = text[place]
        switch kind {
        case .form where isField: return byte == UInt8(ascii: "&")
        case .url: return byte == UInt8(ascii: "&") || byte == UInt8(ascii: "#")
        case .header where byte == UInt8(ascii: ";") || byte == UInt8(ascii: ","): return true
        case .header where isListed && byte.isBlank: return !text[place - 1].isBlank && isFollowedBySetting(place)
        default: return Self.afterItem.contains(byte) && !matches("\\/", at: place) && !isInWord(place)
        }
    }

    /// Whether the quotation mark is part of the value, as in `it's`.
    func isInWord(_ quote: Int) -> Bool {
        "'\"".utf8.contains(text[quote]) && byte(quote + 1).isAlphanumeric && byte(quote - 1) != UInt8(ascii: "\\")
    }

    /// Whether this is certainly an item, so that further equals signs belong to its value.
    private func isInQuery(_ name: SecretName) -> Bool {
        let start = name.range.lowerBound
        guard name.isItem, kind != .form, kind != .url else { return name.isItem }
        return "?&".utf8.contains(byte(start - 1)) && byte(start - 2) != byte(start - 1)
    }

    /// The last byte before `place` that is not blank.
    func beforeSpace(_ place: Int) -> UInt8 {
        var place = place
        while byte(place - 1).isBlank { place -= 1 }
        return byte(place - 1)
    }

    /// Whether the body is a text with settings: a blank follows the first value, and a form has no blanks.
    private func isText(from start: Int) -> Bool {
        byte(end(from: start) { Self.afterItem.contains($0) }) == 0x20
    }

    private func beginsItem(_ start: Int) -> Bool {
        let limit = min(text.count, start + Self.longestName)
        var place = start
        while place < limit, text[place] != UInt8(ascii: "="), !Self.afterItem.contains(text[place]) { place += 1 }
        return place == limit || text[place] == UInt8(ascii: "=") || place == start
    }

    /// Hides a JSON number, or the value of a setting: `token=…`, `password: …`. The value ends with its line, with the
    /// string that contains the line, or before another setting, as in `password=… user=…`.
    private mutating func setting(_ name: SecretName, _ meaning: SecretMeaning, _ sign: UInt8, from start: Int) {
        let isLine = beginsLine(name)
        if name.quote != nil, Self.numeric.contains(text[start]) {
            let end = end(from: start) { !Self.numeric.contains($0) }
            if end < text.count, !Self.afterNumber.contains(text[end]) { return word(name, meaning, start) }
            guard meaning.contains(.number) else { return position = end }
            let quote = text[name.quote!.range]
            return hide(start..<end, quote + Self.mark + quote)
        }
        if sign == UInt8(ascii: ":"), isLine, !text[endOfBlockHeader(start)].isLineEnd,
            endsLine(endOfBlockHeader(start))
        {
            return escapedBlock(below: name, from: endOfBlockHeader(start), isText: beginsBlock(start))
        }
        if sign == UInt8(ascii: ":"), isComment(start, after: name) {
            let end = endOfLine(from: start)
            hide(start..<end)
            return matches("\\n", at: end)
                ? escapedBlock(below: name, from: end, isText: false) : block(below: name, meaning, from: end)
        }
        if text[start].isLineEnd || sign == UInt8(ascii: ":") && isLine && beginsBlock(start) {
            if sign == UInt8(ascii: ":"), isLine { block(below: name, meaning, from: start) }
            return
        }
        guard isLine || isEnclosed(name) else { return word(name, meaning, start) }
        let quote = enclosing(name)
        let isEscapedLine = byte(name.range.lowerBound - 2) == UInt8(ascii: "\\")
        var end = start
        while end < text.count, !endsLine(end) {
            if text[end] == quote || name.quote != nil && ",]}".utf8.contains(text[end]) { break }
            if isEscapedLine, let quote = self.quote(startingAt: end), isEnd(quote, around: name.range.lowerBound) {
                break
            }
            if sign == UInt8(ascii: "="), text[end].isBlank, end > start, !text[end - 1].isBlank,
                isFollowedBySetting(end)
            {
                break
            }
            end += 1
        }
        let line = end
        while end > start,
            text[end - 1] <= 0x20 || ",;".utf8.contains(text[end - 1]) || text[end - 1] == UInt8(ascii: "\\")
        {
            end -= 1
        }
        guard !isHarmless(start..<end, meaning, after: sign) else { return }
        if sign == UInt8(ascii: ":"), name.quote == nil, let last = endOfScalar(of: name, from: line, closedBy: nil) {
            end = last
        }
        hide(start..<end)
    }

    /// Whether the next word is a name with an equals sign.
    private func isFollowedBySetting(_ place: Int) -> Bool {
        let start = end(from: place) { !$0.isBlank }
        let end = end(from: start) { !$0.isAlphanumeric && !"_-.".utf8.contains($0) }
        return end > start && byte(end) == UInt8(ascii: "=") && byte(end + 1) != UInt8(ascii: "=")
    }

    /// Hides the value of a setting among others in a line. After a scheme such as `Bearer`, the next word is hidden
    /// too. In `$password:String="…"`, the word is the type, without the equals sign.
    private mutating func word(_ name: SecretName, _ meaning: SecretMeaning, _ start: Int) {
        let isSpaced = text[start - 1].isBlank
        var end = start
        while end < text.count, !Self.afterSetting.contains(text[end]) || isInWord(end),
            !(text[end] == UInt8(ascii: "\\") && endsAtEscape(end))
        {
            if !isSpaced, ",;)}".utf8.contains(text[end]) { break }
            if text[end] == UInt8(ascii: "&"), beginsItem(end + 1) { break }
            end += 1
        }
        while end > start, Self.afterWord.contains(text[end - 1]) { end -= 1 }
        if byte(end - 1) == UInt8(ascii: "="), end > start + 1, let quote = quote(startingAt: end),
            !isEnd(quote, around: start)
        {
            end -= 1
        }
        guard !isHarmless(start..<end, meaning), !beginsVariable(start), !beginsType(start) else { return }
        if isScheme(start..<end), byte(end).isBlank {
            end = self.end(from: end + 1) { Self.afterSetting.contains($0) }
            while end > start, Self.afterWord.contains(text[end - 1]) { end -= 1 }
        }
        hide(start..<max(end, endInBrackets(name, from: start) ?? end))
    }

    /// Whether the value is a GraphQL variable: `login(password: $password)`.
    private func beginsVariable(_ start: Int) -> Bool {
        guard byte(start) == UInt8(ascii: "$") else { return false }
        let end = end(from: start + 1) { !$0.isAlphanumeric && $0 != UInt8(ascii: "_") }
        return end > start + 1 && ",)".utf8.contains(byte(end))
    }

    /// Whether the value is a GraphQL type: `mutation($password: String!)`.
    private func beginsType(_ start: Int) -> Bool {
        let end = end(from: start) { !$0.isAlphanumeric }
        return isLiteral(start..<end) && ",)".utf8.contains(byte(byte(end) == UInt8(ascii: "!") ? end + 1 : end))
    }

    /// The end of a value of several words in brackets: `Login(user=anna, password=one two, x=1)`, `{password: one
    /// two}`. `nil` if there are no brackets.
    private func endInBrackets(_ name: SecretName, from start: Int) -> Int? {
        guard "({[,".utf8.contains(beforeSpace(name.range.lowerBound)) else { return nil }
        let isSpaced = text[start - 1].isBlank
        let limit = min(text.count, start + Self.nearby)
        var place = start
        while place < limit, !endsLine(place), !"\"`<({[=\\".utf8.contains(text[place]) {
            if text[place] == UInt8(ascii: "}") || !isSpaced && ")]".utf8.contains(text[place]) { return place }
            if text[place] == UInt8(ascii: ",") {
                let next = end(from: place + 1) { !$0.isBlank }
                let end = end(from: next) { !$0.isAlphanumeric && !"_-.".utf8.contains($0) }
                if end > next, byte(end) == (isSpaced ? UInt8(ascii: ":") : UInt8(ascii: "=")) { return place }
            }
            place += 1
        }
        return nil
    }

    private func endsAtEscape(_ place: Int) -> Bool {
        "nrt\"'".utf8.contains(byte(place + 1)) || matches("\\u00", at: place)
    }

    /// Whether the value is certainly not a secret: a short number, a type, a word for an absent value, or a sentence.
    /// A value after an equals sign is never taken for a sentence.
    private func isHarmless(_ value: Range<Int>, _ meaning: SecretMeaning, after sign: UInt8? = nil) -> Bool {
        if value.isEmpty { return true }
        if !meaning.contains(.number), value.count <= 3, text[value].allSatisfy(\.isDigit) { return true }
        var word = value.lowerBound..<end(from: value.lowerBound) { !$0.isASCIILetter }
        word = word.clamped(to: value)
        let first = String(decoding: text[word].prefix(12), as: UTF8.self).lowercased()
        let isSentence = sign != UInt8(ascii: "=") && byte(word.upperBound) == 0x20
        if Self.prose.contains(first), word.upperBound == value.upperBound || isSentence { return true }
        var whole = value
        while let last = text[whole].last, "?!,;".utf8.contains(last) {
            whole = whole.lowerBound..<whole.upperBound - 1
        }
        return isLiteral(whole)
    }

    /// The quotation mark directly before an unquoted name, which also ends the value.
    private func enclosing(_ name: SecretName) -> UInt8? {
        guard name.quote == nil, let before = text[..<name.range.lowerBound].last, "\"'`".utf8.contains(before) else {
            return nil
        }
        return before
    }

    private func isEnclosed(_ name: SecretName) -> Bool { enclosing(name) != nil }

    /// Whether only white space, list marks and `export` precede the name in its line.
    func beginsLine(_ name: SecretName) -> Bool {
        beginsLine(at: name.quote == nil ? name.range.lowerBound : name.range.lowerBound - 1)
    }

    func beginsLine(at start: Int) -> Bool {
        var place = start
        let limit = max(0, place - Self.longestName)
        if matches("export ", at: place - 7) { place -= 7 }
        while place > limit, text[place - 1].isBlank || "->*".utf8.contains(text[place - 1]) { place -= 1 }
        return place == 0 || text[place - 1].isLineEnd
            || place > 1 && "nr".utf8.contains(text[place - 1]) && text[place - 2] == UInt8(ascii: "\\")
    }
}
