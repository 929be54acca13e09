import HTTPCore
import Primitives

/// Secrets that are recognized by their format, under any name.
extension SecretScanner {
    /// The length of the part of a word that is checked for randomness.
    private static let sample = 64
    private static let wordOfToken = ASCIISet.alphanumeric.union("_-")
    private static let partsOfToken = ASCIISet.alphanumeric.union("_-.")
    private static let digest = ASCIISet.alphanumeric.union("$./+=,")
    private static let afterPath = ASCIISet.blank.union("\"'<>\\?#&,;)]}")

    /// At a digit: scans a card number. At a letter or a dollar sign: scans base64, a format with a known prefix,
    /// credentials after a scheme, and a password in SQL or netrc.
    mutating func shape() {
        let start = position
        guard beginsWord(start) else { return position += 1 }
        let first = text[start]
        if first.isDigit { return card() }
        if "eWICZ".utf8.contains(first), SecretShapes.objects.contains(where: { matches($0, at: start) }) {
            return encoded(atLeast: 16, withDots: true)
        }
        if first == UInt8(ascii: "M"), byte(start + 1) == UInt8(ascii: "I") {
            return encoded(atLeast: 64, withDots: false)
        }
        for shape in rules.shapes.shapes(beginningWith: first) where matches(shape.prefix, at: start) {
            if hideSecret(with: shape) { return }
        }
        if let end = scheme(at: start), credentials(after: start..<end, isWhole: false) { return }
        if let end = passwordWord(at: start), password(after: end) { return }
        position = max(position, start + 1)
    }

    private mutating func hideSecret(with shape: SecretShape) -> Bool {
        let start = position
        let rest = start + shape.prefix.count
        guard !isMarked(rest) else {
            position = rest
            return true
        }
        if shape.rest == .mixed {
            let sample = text[rest..<min(text.count, rest + Self.sample)].prefix { Self.wordOfToken.contains($0) }
            guard sample.contains(where: \.isDigit), sample.contains(where: \.isUppercase) else { return false }
        }
        let end: Int
        switch shape.rest {
        case .word, .mixed: end = self.end(from: rest) { !Self.wordOfToken.contains($0) }
        case .hexadecimal: end = self.end(from: rest) { $0.hexValue == nil }
        case .parts: end = trimmed(rest..<self.end(from: rest) { !Self.partsOfToken.contains($0) })
        case .path: end = trimmed(rest..<self.end(from: rest) { Self.afterPath.contains($0) })
        case .digest: end = trimmed(rest..<self.end(from: rest) { !Self.digest.contains($0) })
        }
        guard end - rest >= shape.least, shape.rest != .hexadecimal || !byte(end).isAlphanumeric else { return false }
        hide((shape.keepsPrefix ? rest : start)..<end)
        return true
    }

    /// At a colon: scans a Telegram bot token, which has a number before the colon and a word with the prefix `AA`
    /// after it.
    mutating func botToken(at colon: Int) -> Bool {
        guard matches("AA", at: colon + 1), byte(colon - 6).isDigit, byte(colon - 1).isDigit else { return false }
        let end = end(from: colon + 1) { !Self.wordOfToken.contains($0) }
        guard end - colon > 30 else { return false }
        hide(colon + 1..<end)
        return true
    }

    private func trimmed(_ range: Range<Int>) -> Int {
        var end = range.upperBound
        while end > range.lowerBound, text[end - 1] == UInt8(ascii: ".") { end -= 1 }
        return end
    }
}

// MARK: - Credentials of HTTP

extension SecretScanner {
    /// The number of bytes after a scheme that are checked.
    private static let longestChecked = 512
    private static let credential = ASCIISet.alphanumeric.union("-._~+/=")

    /// The end of an authentication scheme at `start`, such as `Bearer`.
    private func scheme(at start: Int) -> Int? {
        for scheme in rules.shapes.schemes(beginningWith: byte(start)) where matchesWord(scheme, at: start) {
            return start + scheme.count
        }
        return nil
    }

    private func matchesWord(_ word: [UInt8], at start: Int) -> Bool {
        guard start >= 0, start + word.count <= text.count, !byte(start + word.count).isAlphanumeric else {
            return false
        }
        return word.indices.allSatisfy { place in
            let byte = text[start + place]
            return (byte.isASCIILetter ? byte | 0x20 : byte) == word[place]
        }
    }

    /// Whether the word is an authentication scheme.
    func isScheme(_ word: Range<Int>) -> Bool { scheme(at: word.lowerBound) == word.upperBound }

    /// Hides the credentials in the value of a header if the value begins with a scheme.
    mutating func headerValue() {
        if let end = scheme(at: 0) { _ = credentials(after: 0..<end, isWhole: true) }
    }

    /// Hides the credentials after a scheme, but not words of a sentence or a parameter, as in the challenge
    /// `Bearer realm="…"`. With `isWhole`, the text is a header's value.
    private mutating func credentials(after scheme: Range<Int>, isWhole: Bool) -> Bool {
        // A page sends a token with a WebSocket as `Sec-WebSocket-Protocol: bearer, …`.
        let isListed = isWhole && byte(scheme.upperBound) == UInt8(ascii: ",")
        var start = end(from: scheme.upperBound + (isListed ? 1 : 0)) { !$0.isBlank && $0 != UInt8(ascii: "+") }
        if matches("%20", at: start) { start += 3 }
        guard start > scheme.upperBound else { return false }
        let word = text[start..<min(text.count, start + Self.longestChecked)].prefix { Self.credential.contains($0) }
        if word.isEmpty || byte(word.endIndex) == UInt8(ascii: "\"") && isParameter(word) { return false }
        let letter = text[scheme.lowerBound] | 0x20
        let isSecret: Bool
        if isBasic(scheme) {
            isSecret = isUserAndPassword(word) || word.count >= (isWhole ? 8 : 16) && isRandom(word)
        } else if letter == UInt8(ascii: "b") || isWhole {
            isSecret =
                isWhole && !isListed && letter == UInt8(ascii: "b") || word.count >= 24
                || word.count >= 8 && isRandom(word)
        } else {
            isSecret = word.count >= 12 && word.contains(where: \.isDigit) && word.contains(where: \.isASCIILetter)
        }
        guard isSecret else { return false }
        hide(start..<trimmed(start..<end(from: start) { !Self.credential.contains($0) }))
        return true
    }

    private static let longestParameter = 32

    /// Whether the word is the name of a parameter with `=`. A word with random characters is base64 with padding
    /// instead.
    private func isParameter(_ word: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
        let name = word.dropLast()
        guard word.last == UInt8(ascii: "="), (1...Self.longestParameter).contains(name.count) else { return false }
        return !isRandom(name)
            && name.allSatisfy { $0.isASCIILetter || $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: "-") }
    }

    private func isBasic(_ scheme: Range<Int>) -> Bool {
        scheme.count == 5 && text[scheme.lowerBound] | 0x20 == UInt8(ascii: "b")
    }

    /// Whether the word is base64 of printable text with a colon. A word that fills the checked bytes counts, because
    /// its end is unknown.
    private func isUserAndPassword(_ word: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
        guard word.count < Self.longestChecked else { return true }
        var padded = Array(word)
        while padded.last == UInt8(ascii: "=") { padded.removeLast() }
        while padded.count % 4 != 0 { padded.append(UInt8(ascii: "=")) }
        guard let bytes = Base64.decode(padded) else { return false }
        return bytes.contains(UInt8(ascii: ":")) && bytes.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
    }

    /// Whether the word has a digit, or upper case after lower case, unlike words of a language.
    private func isRandom(_ word: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
        if word.contains(where: \.isDigit) { return true }
        return zip(word, word.dropFirst()).contains { !$0.isUppercase && $1.isUppercase }
    }
}

// MARK: - Passwords of commands and statements

extension SecretScanner {
    private static let longestUser = 64

    /// The end of the word at `start` that precedes a password in SQL and netrc.
    private func passwordWord(at start: Int) -> Int? {
        for word in SecretShapes.passwordWords where matchesWord(word, at: start) { return start + word.count }
        return matchesWord(SecretShapes.pluginWord, at: start)
            ? authenticationPlugin(after: start + SecretShapes.pluginWord.count) : nil
    }

    /// The end of `caching_sha2_password BY` after `IDENTIFIED WITH`. The name of MySQL's authentication plugin
    /// has quotation marks, a digit or an underscore, unlike words of a sentence.
    private func authenticationPlugin(after end: Int) -> Int? {
        var start = self.end(from: end) { $0 > 0x20 }
        let quote = quote(startingAt: start)
        if let quote { start = quote.range.upperBound }
        let limit = min(text.count, start + Self.longestUser)
        var end = start
        while end < limit, Self.wordOfToken.contains(text[end]) { end += 1 }
        guard quote != nil || text[start..<end].contains(where: { $0.isDigit || $0 == UInt8(ascii: "_") }) else {
            return nil
        }
        if let quote = self.quote(startingAt: end) { end = quote.range.upperBound }
        let keyword = self.end(from: end) { $0 > 0x20 }
        return ["by", "as"].contains { matchesWord(Array($0.utf8), at: keyword) } ? keyword + 2 : nil
    }

    /// Hides `PASSWORD 'secret'` and `IDENTIFIED BY 'secret'` of SQL, and `login anna password secret` of netrc.
    private mutating func password(after end: Int) -> Bool {
        let start = self.end(from: end) { $0 > 0x20 }
        guard start > end, start < text.count, !isMarked(start) else { return false }
        if let quote = quote(startingAt: start) {
            guard quote.range.upperBound < text.count, !isEnd(quote, around: position) else { return false }
            let content = quote.range.upperBound..<max(quote.range.upperBound, endOfString(quote))
            guard !content.isEmpty, !isMarked(content.lowerBound) else { return false }
            hide(content)
            return true
        }
        if matchesWord(Array("for".utf8), at: start),
            matchesWord(Array("set".utf8), at: startOfRun(before: position) { $0 <= 0x20 } - 3)
        {
            return passwordOfUser(from: start)
        }
        guard followsLogin(end) || followsUser(position) && passwordWord(at: start) == nil else { return false }
        hide(start..<self.end(from: start) { $0 <= 0x20 || "\"\\".utf8.contains($0) })
        return true
    }

    /// Hides `SET PASSWORD FOR 'anna'@'h' = 'secret'`.
    private mutating func passwordOfUser(from start: Int) -> Bool {
        let limit = min(text.count, start + 2 * Self.longestUser)
        var sign = start
        while sign < limit, !text[sign].isLineEnd, text[sign] != UInt8(ascii: "=") { sign += 1 }
        guard byte(sign) == UInt8(ascii: "=") else { return false }
        guard let quote = quote(startingAt: valueStart(end(from: sign + 1) { !$0.isBlank })) else { return false }
        let content = quote.range.upperBound..<max(quote.range.upperBound, endOfString(quote))
        guard !content.isEmpty, !isMarked(content.lowerBound) else { return false }
        hide(content)
        return true
    }

    /// Whether `CREATE USER` or `ALTER USER` with a name precedes the word at `start`. Oracle accepts an unquoted
    /// password there.
    private func followsUser(_ start: Int) -> Bool {
        let user = startOfRun(before: startOfRun(before: start) { $0 <= 0x20 }) { $0 > 0x20 }
        let word = startOfRun(before: user) { $0 <= 0x20 }
        let statement = startOfRun(before: startOfRun(before: word) { $0.isASCIILetter }) { $0 <= 0x20 }
        guard user < start, word < user, matchesWord(Array("user".utf8), at: word - 4) else { return false }
        return matchesWord(Array("create".utf8), at: statement - 6)
            || matchesWord(Array("alter".utf8), at: statement - 5)
    }

    private func startOfRun(before place: Int, _ isPart: (UInt8) -> Bool) -> Int {
        var start = place
        while start > 0, place - start < Self.longestUser, isPart(text[start - 1]) { start -= 1 }
        return start
    }

    /// Whether `login` with a name precedes the word that ends at `end`.
    private func followsLogin(_ end: Int) -> Bool {
        let word = startOfRun(before: end) { $0.isASCIILetter }
        let user = startOfRun(before: startOfRun(before: word) { $0 <= 0x20 }) { $0 > 0x20 }
        let login = startOfRun(before: user) { $0 <= 0x20 }
        return login < user && user < word && matches("login", at: login - 5)
    }

    /// At a hyphen: scans the credentials of curl, `-u anna:secret` or `"-u", "anna:secret"`.
    private mutating func user() {
        let dash = position
        var letter = position + 1
        position += 1
        // Options without a value may precede `u`, as in `curl -sSu anna:…`.
        let limit = min(text.count, letter + 8)
        while letter < limit, "sSfkLvigIN#j".utf8.contains(text[letter]) { letter += 1 }
        guard byte(letter) | 0x20 == UInt8(ascii: "u"), letter == dash + 1 || byte(letter) == UInt8(ascii: "u") else {
            return
        }
        if byte(dash - 1) <= 0x20 {
            userAndPassword(from: letter + 1)
        } else if quote(endingAt: dash) != nil, let close = quote(startingAt: letter + 1),
            let next = nextArgument(after: close)
        {
            userAndPassword(from: next)
        }
    }

    /// The start of the next argument after this closing mark, or `nil` if there is no comma between them.
    private func nextArgument(after close: SecretQuote) -> Int? {
        let comma = end(from: close.range.upperBound) { $0 > 0x20 }
        return byte(comma) == UInt8(ascii: ",") ? end(from: comma + 1) { $0 > 0x20 } : nil
    }

    /// Hides the password, the text after the first colon of the next word. A number there is a port or a group, not a
    /// password.
    private mutating func userAndPassword(from place: Int) {
        var start = end(from: place) { !$0.isBlank }
        let quote = quote(startingAt: start)
        if let quote { start = quote.range.upperBound }
        let limit = min(text.count, start + Self.longestUser)
        var colon = start
        while colon < limit, text[colon] > 0x20, !":\"'`<>\\/".utf8.contains(text[colon]) { colon += 1 }
        guard colon > start, byte(colon) == UInt8(ascii: ":"), !isMarked(colon + 1) else { return }
        let end = end(from: colon + 1) { $0 <= 0x20 || "\"'`<>\\".utf8.contains($0) }
        guard !matches("//", at: colon + 1), !text[colon + 1..<end].allSatisfy(\.isDigit) else { return }
        hide(colon + 1..<(quote.map { max(end, endOfString($0)) } ?? end))
    }
}

// MARK: - Signed and encoded data

extension SecretScanner {
    /// Scans base64 of a JSON object, such as a part of a JWS, or of a DER sequence of 128 bytes or more, such as a
    /// receipt or a private key.
    private mutating func encoded(atLeast least: Int, withDots: Bool) {
        let start = position
        let end = endOfBase64(from: start, withDots: withDots)
        if end - start >= least { hide(start..<end) } else { position = max(end, start + 1) }
    }

    /// The end of base64 in either alphabet, also with the escapes of JSON and forms. Base64 without dots may have
    /// several lines.
    private func endOfBase64(from start: Int, withDots: Bool) -> Int {
        var place = start
        while place < text.count {
            switch text[place] {
            case let byte where byte.isAlphanumeric: place += 1
            case UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "="):
                place += 1
            case UInt8(ascii: ".") where withDots: place += 1
            case 0x0A where !withDots, 0x0D where !withDots: place += 1
            case UInt8(ascii: "%") where ["%2B", "%2F", "%3D", "%2b", "%2f", "%3d"].contains { matches($0, at: place) }:
                place += 3
            case UInt8(ascii: "\\") where matches("\\/", at: place): place += 2
            case UInt8(ascii: "\\") where !withDots && (matches("\\n", at: place) || matches("\\r", at: place)):
                place += 2
            default: return place
            }
        }
        return place
    }

    /// At a hyphen: scans a private key in PEM, and options such as `--password …`.
    mutating func hyphens() {
        guard byte(position + 1) == UInt8(ascii: "-") else { return user() }
        guard matches("-----BEGIN ", at: position) else { return option() }
        var start = position + 11
        while start < text.count, start < position + 60, !matches("PRIVATE KEY", at: start) { start += 1 }
        guard matches("PRIVATE KEY", at: start) else { return position += 11 }
        start += 11
        while start < text.count, text[start] != UInt8(ascii: "-"), start < position + 90 { start += 1 }
        while byte(start) == UInt8(ascii: "-") { start += 1 }
        var end = start
        while end < text.count, !matches("-----END", at: end) { end += 1 }
        hide(start..<end)
    }

    private mutating func option() {
        let start = end(from: position) { $0 != UInt8(ascii: "-") }
        position = start
        let limit = min(text.count, start + Self.longestName)
        var end = start
        while end < limit, text[end].isAlphanumeric || text[end] == UInt8(ascii: "-") || text[end] == UInt8(ascii: "_")
        {
            end += 1
        }
        if matches("user", at: end - 4), byte(end).isBlank || byte(end) == UInt8(ascii: "=") {
            return userAndPassword(from: end + 1)
        }
        if let close = quote(startingAt: end) {
            guard let next = nextArgument(after: close) else { return }
            return matches("user", at: end - 4)
                ? userAndPassword(from: next) : argument(after: start..<end, from: next)
        }
        guard rules.meaning(of: text, start..<end).contains(.member) else { return }
        let next = byte(end).isLineEnd ? nextItem(after: end, ofOptionAt: start) : self.end(from: end) { !$0.isBlank }
        guard let value = next, value > end else { return }
        guard value < text.count, byte(value) != UInt8(ascii: "-"), !isMarked(value) else { return }
        if let quote = quote(startingAt: value) {
            return hide(quote.range.upperBound..<max(quote.range.upperBound, endOfString(quote)))
        }
        hide(value..<self.end(from: value) { $0 <= 0x20 || "\"'`<>\\".utf8.contains($0) })
    }
}

extension SecretScanner {
    /// The start of the next YAML list item after an option that is an item: `- --password`, and `- …` below it.
    private func nextItem(after end: Int, ofOptionAt name: Int) -> Int? {
        var item = name
        while byte(item - 1) == UInt8(ascii: "-") { item -= 1 }
        guard beforeSpace(item) == UInt8(ascii: "-"), byte(item - 1).isBlank else { return nil }
        let next = self.end(from: end) { $0 > 0x20 }
        return byte(next) == UInt8(ascii: "-") && byte(next + 1).isBlank
            ? self.end(from: next + 1) { !$0.isBlank } : nil
    }

    /// Hides the next string of a list of arguments: `["--password", "…"]`.
    private mutating func argument(after name: Range<Int>, from place: Int) {
        guard rules.meaning(of: text, name).contains(.member),
            let quote = quote(startingAt: end(from: place) { $0 > 0x20 })
        else { return }
        let content = quote.range.upperBound..<max(quote.range.upperBound, endOfString(quote))
        guard !content.isEmpty, !isMarked(content.lowerBound), byte(content.lowerBound) != UInt8(ascii: "-") else {
            return
        }
        hide(content)
    }
}

// MARK: - Payment cards

extension SecretScanner {
    /// At a digit: scans the number of a payment card, as one word or in groups. Ignores longer numbers and numbers
    /// with a fraction. Ignores ids, except a string of 16 digits.
    private mutating func card() {
        let start = position
        var digits: [UInt8] = []
        var separators: [Int] = []
        var separator: UInt8?
        var place = start
        while place < text.count {
            let byte = text[place]
            if byte.isDigit {
                digits.append(byte - 0x30)
                guard digits.count <= 19 else { break }
            } else if byte == separator ?? byte, " -+".utf8.contains(byte),
                self.byte(place + 1).isDigit,
                Self.endsGroup(digits.count, after: separators)
            {
                separator = byte
                separators.append(digits.count)
            } else {
                break
            }
            place += 1
        }
        position = max(place, start + 1)
        guard digits.count <= 19, !byte(place).isAlphanumeric, !"._-/".utf8.contains(byte(start - 1)) else {
            return position = end(from: position) { !$0.isDigit }
        }
        let isGrouped =
            digits.count == 16 && separators == [4, 8, 12] || digits.count <= 15 && separators == [4, 10]
        guard separators.isEmpty || isGrouped, Self.isIssued(digits), Self.isLuhn(digits) else { return }
        let isNumber = separators.isEmpty && isNumberOfJSON(start..<place)
        if separators.isEmpty, byte(place) == UInt8(ascii: "."), byte(place + 1).isDigit { return }
        if separators.isEmpty, isNumber || digits.count != 16, isIdentifier(at: start) { return }
        guard isNumber, byte(place).isBlank || ",]}\r\n\0".utf8.contains(byte(place)) else {
            return hide(start..<place)
        }
        hide(start..<place, quoteOfNumber(at: start) + Self.mark + quoteOfNumber(at: start))
    }

    /// Whether a group of a card number may end after this number of digits: 4-4-4-4, 4-6-5 and 4-6-4.
    private static func endsGroup(_ count: Int, after separators: [Int]) -> Bool {
        switch separators.count {
        case 0: count == 4
        case 1: count == 8 || count == 10
        case 2: count == 12
        default: false
        }
    }

    /// The quotation mark for the string that replaces a JSON number: the mark around the name of the number or
    /// of its list. Empty if the list is in a string: `"[1,2]"`.
    private func quoteOfNumber(at start: Int) -> [UInt8] {
        let limit = max(0, start - Self.nearby)
        var place = start
        while place > limit, text[place - 1] <= 0x20 || text[place - 1].isDigit || ",[".utf8.contains(text[place - 1]) {
            place -= 1
        }
        let isList = byte(end(from: place) { $0 > 0x20 }) == UInt8(ascii: "[")
        if byte(place - 1) == UInt8(ascii: ":") {
            if let quote = name(before: place - 1)?.quote { return Array(text[quote.range]) }
        } else if let quote = quote(endingAt: place) {
            return isList ? [] : Array(text[quote.range])
        }
        return [UInt8(ascii: "\"")]
    }

    /// Whether the name of the number, or of its list, is the name of an id, such as `transactionId`.
    private func isIdentifier(at start: Int) -> Bool {
        let limit = max(0, start - Self.nearby)
        var sign = start
        while sign > limit, text[sign - 1] <= 0x20 || text[sign - 1].isDigit || ",[\"'\\".utf8.contains(text[sign - 1])
        {
            sign -= 1
        }
        guard sign > limit else { return false }
        sign -= 1
        switch text[sign] {
        case UInt8(ascii: ":"), UInt8(ascii: "="):
            return name(before: sign).map { rules.isIdentifier(text, $0.range) } ?? false
        case UInt8(ascii: ">"):
            var open = sign
            while open > max(0, sign - Self.longestName), text[open] != UInt8(ascii: "<") { open -= 1 }
            let end = end(from: open + 1) { $0 <= 0x20 || ">/".utf8.contains($0) }
            return open < end && rules.isIdentifier(text, open + 1..<end)
        default: return false
        }
    }

    /// Whether this is a JSON number.
    private func isNumberOfJSON(_ number: Range<Int>) -> Bool {
        var place = number.lowerBound
        while place > 0, text[place - 1] <= 0x20, number.lowerBound - place < 8 { place -= 1 }
        switch byte(place - 1) {
        case UInt8(ascii: ":"): return byte(place - 2) == UInt8(ascii: "\"")
        case UInt8(ascii: ","), UInt8(ascii: "["): return ",]\n".utf8.contains(byte(number.upperBound))
        default: return false
        }
    }

    /// Whether an issuer uses this prefix and length. Visa's old numbers with 13 digits are excluded, because article
    /// numbers (EAN-13) look like them.
    private static func isIssued(_ digits: [UInt8]) -> Bool {
        let four = digits.prefix(4).reduce(0) { $0 * 10 + Int($1) }
        switch four {
        case 4000...4999, 6011, 6440...6599: return digits.count == 16 || digits.count == 19
        case 5100...5599, 2221...2720, 3528...3589: return digits.count == 16
        case 6200...6299: return (16...19).contains(digits.count)
        case 3400...3499, 3700...3799: return digits.count == 15
        case 3000...3059, 3095, 3600...3699, 3800...3999: return digits.count == 14
        default: return false
        }
    }

    private static func isLuhn(_ digits: [UInt8]) -> Bool {
        let sum = digits.reversed().enumerated().reduce(0) { sum, digit in
            let value = Int(digit.element) * (digit.offset % 2 == 1 ? 2 : 1)
            return sum + (value > 9 ? value - 9 : value)
        }
        return sum % 10 == 0
    }
}
