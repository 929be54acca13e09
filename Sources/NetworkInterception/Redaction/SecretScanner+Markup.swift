/// A start tag whose content is a secret.
struct SecretTag {
    let name: Range<Int>
    /// The position of its `>`.
    let close: Int
    let meaning: SecretMeaning
}

/// An element in which the text of `value` and similar elements is a secret.
struct SecretElement {
    let limit: Int
    let meaning: SecretMeaning
    /// The nesting depth of the current position.
    var level = 0
}

/// Elements of XML and HTML.
extension SecretScanner {
    /// The number of missing end tags after which the scanner no longer searches for them.
    private static let maximumMissingEndTags = 16
    private static let afterTagName = ASCIISet.blank.union("/><\"'=&")

    /// At `<`: scans an element with the name of a secret, such as `<pin>` or `<password value="…"/>`, or an element
    /// that contains such a name and the next element, as in `<key>pin</key><string>…</string>`.
    mutating func startTag() {
        let open = position
        position += 1
        guard byte(open + 1).isASCIILetter || byte(open + 1) == UInt8(ascii: "_") else {
            if byte(open + 1) == UInt8(ascii: "/") { endTag() }
            return currentTag = nil
        }
        let limit = min(text.count, open + Self.longestName)
        var end = open + 1
        while end < limit, !Self.afterTagName.contains(text[end]) { end += 1 }
        let name = open + 1..<end
        currentTag = name
        if let secretTag, secretTag.close < open { self.secretTag = nil }
        if let secretTag, secretTag.name.isEmpty, secretTag.close == open {
            guard rules.isValueElement(text, name) else { return self.secretTag = nil }
            self.secretTag = closingBracket(of: name).map { SecretTag(name: name, close: $0, meaning: .everything) }
            return
        }
        let local = (text[name].lastIndex(of: UInt8(ascii: ":")).map { $0 + 1 } ?? name.lowerBound)..<name.upperBound
        let meaning = rules.meaning(of: text, local)
        let held = meaningInElement(local, at: open)
        if let held {
            secretTag = closingBracket(of: name).map { SecretTag(name: name, close: $0, meaning: held) }
        } else if meaning.contains(.member) {
            secretTag = closingBracket(of: name).map { SecretTag(name: name, close: $0, meaning: meaning) }
            if byte(name.upperBound) <= 0x20 {
                named = SecretScope(
                    start: name.upperBound, limit: endOfStartTag(name), name: nil, tag: name, meaning: meaning)
            }
        } else if rules.mayElementContainSecretName(text, local), let close = closingBracket(of: name) {
            elementAfterSecretName(from: close + 1)
        }
    }

    /// Counts the element at `open` if it is inside a secret element such as `<pin>`. Returns the meaning of the
    /// element's text, or `nil` if the text is not a secret.
    private mutating func meaningInElement(_ name: Range<Int>, at open: Int) -> SecretMeaning? {
        guard let element = secretElement else { return nil }
        guard open < element.limit else {
            secretElement = nil
            return nil
        }
        guard closingBracket(of: name) != nil else { return nil }
        secretElement?.level += 1
        return element.level == 0 && rules.isValueInSecretObject(text, name) ? element.meaning : nil
    }

    /// At an end tag: ends the current element such as `<pin>`.
    private mutating func endTag() {
        guard let element = secretElement else { return }
        if element.level == 0 { secretElement = nil } else { secretElement?.level -= 1 }
    }

    /// The position of the `>` of a start tag with this name. `nil` if the element has no content, or the `>` is not
    /// found nearby.
    private func closingBracket(of name: Range<Int>) -> Int? {
        let limit = min(text.count, name.upperBound + 2048)
        var place = name.upperBound
        while place < limit, text[place] != UInt8(ascii: ">"), text[place] != UInt8(ascii: "<") { place += 1 }
        guard place < limit, text[place] == UInt8(ascii: ">"), text[place - 1] != UInt8(ascii: "/") else { return nil }
        return place
    }

    /// The end of the attributes of a start tag with this name.
    private func endOfStartTag(_ name: Range<Int>) -> Int {
        let limit = min(text.count, name.upperBound + Self.nearby)
        var quote: UInt8?
        var place = name.upperBound
        while place < limit, quote != nil || text[place] != UInt8(ascii: ">") {
            if text[place] == quote {
                quote = nil
            } else if quote == nil, "\"'".utf8.contains(text[place]) {
                quote = text[place]
            }
            place += 1
        }
        return place
    }

    /// Scans `<key>password</key><string>…</string>`.
    private mutating func elementAfterSecretName(from start: Int) {
        let limit = min(text.count, start + Self.longestName)
        var end = start
        while end < limit, text[end] != UInt8(ascii: "<") { end += 1 }
        guard matches("</", at: end), rules.meaning(of: text, start..<end).contains(.member) else { return }
        var next = end
        while next < limit, text[next] != UInt8(ascii: ">") { next += 1 }
        next = self.end(from: next + 1) { $0 > 0x20 }
        if matches("<!--", at: next) {
            let limit = min(text.count, next + Self.longestName)
            while next < limit, !matches("-->", at: next) { next += 1 }
            next = self.end(from: next + 3) { $0 > 0x20 }
        }
        guard byte(next) == UInt8(ascii: "<"), byte(next + 1) != UInt8(ascii: "/") else { return }
        secretTag = SecretTag(name: next..<next, close: next, meaning: .everything)
        position = next
    }

    /// At `>`: hides the content of a secret element. In `<Attribute Name="otp"><AttributeValue>`, that is the content
    /// of the inner element.
    mutating func endOfTag() {
        let close = position
        position += 1
        currentTag = nil
        guard let tag = secretTag, tag.close == close else { return }
        secretTag = nil
        let start = end(from: close + 1) { $0 > 0x20 }
        guard start < text.count, !isMarked(start), !matches("</", at: start) else { return }
        let content = start..<endOfContent(of: tag, from: start)
        let isCharacterData = matches("<![CDATA[", at: start)
        if text[start] == UInt8(ascii: "<"), !tag.meaning.contains(.object), !isCharacterData {
            secretElement = SecretElement(limit: start + Self.nearby, meaning: tag.meaning)
            if rules.isValueElement(text, tag.name) {
                secretTag = SecretTag(name: start..<start, close: start, meaning: .everything)
            }
            return
        }
        if !tag.meaning.contains(.number), content.count <= 3, text[content].allSatisfy(\.isDigit) { return }
        var end = content.upperBound
        while end > start, text[end - 1] <= 0x20 { end -= 1 }
        hide(start..<end)
    }

    /// The end of an element's content, or `start` if this is not an element. In decoded text, a placeholder as in
    /// `login &lt;token&gt;` looks like a tag. A tag that occurs again before its end tag is such a placeholder.
    private mutating func endOfContent(of tag: SecretTag, from start: Int) -> Int {
        let name = Array(text[tag.name])
        if missingEndTags < Self.maximumMissingEndTags {
            var place = start
            while place + name.count + 2 <= text.count {
                if text[place] == UInt8(ascii: "<"), text[place + 1] == UInt8(ascii: "/"), matches(name, at: place + 2),
                    !Self.isNameByte(byte(place + 2 + name.count))
                {
                    return place
                }
                if isUnescaped, text[place] == UInt8(ascii: "<"), matches(name, at: place + 1) { return start }
                place += 1
            }
            missingEndTags += 1
        }
        // No end tag: the document was truncated, or this is not an element, as in `login <token> now`.
        if !isUnescaped, byte(end(from: 0) { $0 > 0x20 && $0 < 0x80 }) == UInt8(ascii: "<") { return text.count }
        guard start == tag.close + 1 else { return start }
        let end = endOfLine(from: start) { "<\"'".utf8.contains($0) }
        return isUnescaped && end < text.count ? start : end
    }

    private static func isNameByte(_ byte: UInt8) -> Bool { byte.isAlphanumeric || "-_.:".utf8.contains(byte) }
}
