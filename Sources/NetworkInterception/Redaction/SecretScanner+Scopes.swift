/// A range in which an earlier name makes a value a secret: `{"name": "password", "value": "…"}`.
struct SecretScope {
    /// The start of the range, behind the text that makes a value a secret.
    let start: Int
    let limit: Int
    /// The name whose value is the name of a secret, or the name of an object with a secret. `nil` in a start tag.
    let name: SecretName?
    /// The name of the start tag that contains the earlier name.
    let tag: Range<Int>?
    /// The kinds of values that are secrets.
    let meaning: SecretMeaning
    /// Whether the value of `name` is a path, as in JSON Patch.
    var isPath = false
    /// Whether only `value` and similar names in the same object or tag count. Set for a path, and after the first such
    /// value.
    var isStrict = false
}

/// Values that an earlier name makes secrets.
extension SecretScanner {
    /// At the value of a name such as `name`. If the value is the name of a secret, a `value` nearby is a secret.
    mutating func valueThatNames(_ name: SecretName, at place: Int) {
        let start = end(from: place) { !$0.isBlank }
        guard start < text.count else { return }
        let limit = min(text.count, start + Self.longestName)
        let content: Range<Int>
        var next: Int
        if let quote = quote(startingAt: start) {
            var end = quote.range.upperBound
            while end < limit, text[end] != text[quote.range.upperBound - 1], text[end] != UInt8(ascii: "\\") {
                end += 1
            }
            content = quote.range.upperBound..<max(end, quote.range.upperBound)
            next = content.upperBound + quote.range.count
        } else {
            var end = start
            while end < limit, text[end] > 0x20, !"\"'<>,;&}".utf8.contains(text[end]) { end += 1 }
            content = start..<end
            next = end
        }
        next = min(next, text.count)
        let meaning = rules.meaning(of: text, content)
        let isPath = rules.mayContainSecretPath(text, name.range)
        guard meaning.contains(.member) || meaning.contains(.header) else {
            // A member such as `type` does not end the scope, and neither does another name in the same object.
            if !isPath, text[name.range.lowerBound] | 0x20 != UInt8(ascii: "t"), let named, !isBeside(name, named) {
                self.named = nil
            }
            return
        }
        if kind == .multipart || matches("--", at: 0), let head = headOfPart(name) {
            return part(withHeadAt: head, from: content.upperBound)
        }
        let end = content.upperBound + Self.nearby
        if isPath {
            if let named, !named.isPath, isBeside(name, named) { return }
            named = SecretScope(
                start: next, limit: end, name: name, tag: currentTag, meaning: meaning.union(.member), isPath: true,
                isStrict: true)
            return
        }
        named = SecretScope(
            start: next, limit: end, name: name, tag: currentTag, meaning: [.member, .number, .list, .object])
        if let currentTag, rules.isValueElement(text, currentTag), secretTag == nil {
            var close = content.upperBound
            while close < min(end, text.count), !"<>".utf8.contains(text[close]) { close += 1 }
            if byte(close) == UInt8(ascii: ">") {
                secretTag = SecretTag(name: currentTag, close: close, meaning: meaning)
            }
        }
    }

    /// Returns the meaning that an earlier name gives to this name's value, or `nil` if the value is not a secret.
    mutating func meaningBeside(_ name: SecretName) -> SecretMeaning? {
        if let named, name.range.upperBound < named.limit, rules.isValueBesideName(text, name.range),
            !named.isStrict || rules.isValueInSecretObject(text, name.range) && isBeside(name, named)
        {
            // Without quotation marks the end of an object is unknown.
            if name.quote == nil, currentTag == nil { self.named = nil } else { self.named?.isStrict = true }
            return named.meaning
        }
        if let secretObject, name.range.upperBound < secretObject.limit, rules.isValueInSecretObject(text, name.range),
            level(at: name.range.lowerBound, in: secretObject) == 0
        {
            return secretObject.meaning
        }
        return nil
    }

    /// At the start of an object that is not a secret as a whole: `"session": {"id": …, "value": "…"}`.
    mutating func object(of name: SecretName, _ meaning: SecretMeaning, from start: Int) {
        position = start + 1
        secretObject = SecretScope(
            start: position, limit: position + Self.nearby, name: name, tag: nil, meaning: meaning)
    }

    /// Whether the name is in the object, tag or list item in which the scope begins. A repeated unquoted name, as in
    /// YAML, begins another object.
    private func isBeside(_ name: SecretName, _ scope: SecretScope) -> Bool {
        guard name.range.upperBound < scope.limit else { return false }
        if let tag = scope.tag {
            guard tag == currentTag else { return false }
            if name.quote == nil { return true }
        }
        guard let other = scope.name, (other.quote == nil) == (name.quote == nil) else { return false }
        if name.quote == nil, text[name.range].elementsEqual(text[other.range]) { return false }
        return level(at: name.range.lowerBound, in: scope) != nil
    }

    /// The nesting depth of `place` in a scope, or `nil` if the object of the scope has ended. Brackets in strings do
    /// not count.
    private func level(at place: Int, in scope: SecretScope) -> Int? {
        let mark: UInt8 = scope.name?.quote?.mark == .single ? UInt8(ascii: "'") : UInt8(ascii: "\"")
        let escapes = scope.name?.quote?.escapes ?? 0
        var level = 0
        var backslashes = 0
        var isInString = false
        for next in scope.start..<max(place, scope.start) {
            let byte = text[next]
            if byte == mark {
                if !isInString || backslashes % (2 * (escapes + 1)) == escapes { isInString.toggle() }
            } else if isInString {
            } else if byte == UInt8(ascii: "{") || byte == UInt8(ascii: "[") {
                level += 1
            } else if byte == UInt8(ascii: "}") || byte == UInt8(ascii: "]") {
                level -= 1
                if level < 0 { return nil }
            } else if byte == UInt8(ascii: "-"), scope.name?.quote == nil, beginsLine(at: next) {
                return nil
            }
            backslashes = byte == UInt8(ascii: "\\") ? backslashes + 1 : 0
        }
        return level
    }

    /// At a bracket before a quotation mark: scans `define('DB_PASSWORD', '…')` and pairs such as `["X-Api-Key", "…"]`.
    mutating func arguments() {
        let bracket = position
        position += 1
        guard let quote = quote(startingAt: end(from: position) { !$0.isBlank }) else { return }
        let limit = min(text.count, quote.range.upperBound + Self.longestName)
        var end = quote.range.upperBound
        while end < limit, text[end].isAlphanumeric || "_-.".utf8.contains(text[end]) { end += 1 }
        let name = quote.range.upperBound..<end
        let meaning = rules.meaning(of: text, name)
        guard let close = self.quote(startingAt: end), close.range.count == quote.range.count else { return }
        let comma = self.end(from: close.range.upperBound) { !$0.isBlank }
        guard byte(comma) == UInt8(ascii: ","), !meaning.isDisjoint(with: [.member, .header]),
            let value = self.quote(startingAt: valueStart(self.end(from: comma + 1) { $0 > 0x20 }))
        else { return }
        let content = value.range.upperBound..<max(value.range.upperBound, endOfString(value))
        guard !content.isEmpty, !isMarked(content.lowerBound) else { return }
        if text[bracket] == UInt8(ascii: "[") {
            // Two strings in brackets may also be a list of names.
            let after = self.end(from: content.upperBound + value.range.count) { $0 > 0x20 }
            let isHeader =
                meaning.contains(.line) || text[name].contains(UInt8(ascii: "-")) && text[name.lowerBound].isASCIILetter
            if isHeader, byte(after) == UInt8(ascii: "]") { hide(content) }
            return
        }
        var open = bracket
        while open > 0, text[open - 1].isBlank { open -= 1 }
        var function = open
        while function > max(0, open - Self.longestName),
            byte(function - 1).isAlphanumeric || byte(function - 1) == UInt8(ascii: "_")
        {
            function -= 1
        }
        if rules.isSetter(text, function..<open) { hide(content) }
    }
}
