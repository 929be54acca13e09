/// YAML blocks and lists whose name is in a line above them.
extension SecretScanner {
    /// The greatest length of a multi-line string in quotation marks.
    private static let longestScalar = 4096
    /// The longest block that can be a reference to a secret. A longer block is treated as the secret.
    private static let longestReference = 4096

    /// Whether a block scalar follows: `|`, `>-`, `|2 # comment`.
    func beginsBlock(_ start: Int) -> Bool {
        guard byte(start) == UInt8(ascii: "|") || byte(start) == UInt8(ascii: ">") else { return false }
        let indicators = end(from: start + 1) { !$0.isDigit && !"+-".utf8.contains($0) }
        let rest = end(from: indicators) { !$0.isBlank }
        guard indicators - start <= 3, rest < text.count, !endsLine(rest) else { return indicators - start <= 3 }
        return rest > indicators && text[rest] == UInt8(ascii: "#")
    }

    /// Whether a comment follows the name, so that the value is below it.
    func isComment(_ start: Int, after name: SecretName) -> Bool {
        text[start] == UInt8(ascii: "#") && text[start - 1].isBlank && beginsLine(name)
    }

    func endOfBlockHeader(_ start: Int) -> Int {
        min(text.count - 1, beginsBlock(start) ? endOfLine(from: start) : start)
    }

    /// Hides the lines that are indented more than the name, in a string whose line ends are written as `\n`.
    mutating func escapedBlock(below name: SecretName, from start: Int, isText: Bool) {
        let nameStart = name.range.lowerBound - (name.quote?.range.count ?? 0)
        var lineStart = nameStart
        while byte(lineStart - 1).isBlank || byte(lineStart - 1) == UInt8(ascii: "-") { lineStart -= 1 }
        var first: Int?
        var end = start
        while matches("\\n", at: end) {
            let begin = self.end(from: end + 2) { !$0.isBlank }
            guard begin - (end + 2) > nameStart - lineStart, begin < text.count, !endsLine(begin) else { break }
            let next = endOfLine(from: begin) { $0 == UInt8(ascii: "\"") }
            if first == nil, !isText, text[begin..<next].contains(UInt8(ascii: ":")) { return }
            first = first ?? begin
            end = next
        }
        if let first { hide(first..<end) }
    }

    /// Hides the lines that are indented more than the name, and the items of its list. A comment does not end the
    /// block. Hides nothing if the lines only refer to secrets.
    mutating func block(below name: SecretName, _ meaning: SecretMeaning, from start: Int) {
        let isText = beginsBlock(start)
        let nameIndent = indent(ofLineWith: name.range.lowerBound)
        var first: Int?
        var comment: Int?
        // Whether the lines only refer to secrets: `- name: a`, `cert:` and `file: b`.
        var isReference = false
        // The indentation of names that users chose, as in a mapping below `passwords`.
        var labelIndent: Int?
        var last = start
        var line = nextLine(after: endOfLine(from: start))
        while line < text.count {
            let begin = end(from: line) { !$0.isBlank }
            let end = self.end(from: begin) { $0.isLineEnd }
            if begin < end {
                let isItem = text[begin] == UInt8(ascii: "-") && byte(begin + 1).isBlank
                let isComment = !isText && text[begin] == UInt8(ascii: "#")
                guard begin - line > nameIndent || isItem && !isText && begin - line == nameIndent || isComment else {
                    break
                }
                if isComment {
                    if begin - line > nameIndent { (comment, last) = (comment ?? begin, end) }
                } else {
                    if first == nil {
                        isReference = !isText && colon(in: begin..<end) != nil
                        if isItem, !isText {
                            guard meaning.contains(.list) else { return }
                        } else if isReference {
                            // As in JSON, below a name such as `pin` only `value` and similar names have secret values.
                            guard meaning.contains(.object) else {
                                return secretMapping = (nameIndent, begin - line, meaning)
                            }
                            labelIndent = begin - line
                        }
                        first = comment ?? begin
                    }
                    isReference =
                        isReference && end - start < Self.longestReference
                        && isReferring(begin..<end, isLabel: begin - line == labelIndent)
                    last = end
                }
            }
            line = nextLine(after: end)
        }
        if let first = first ?? comment, !isReference { hide(first..<last) }
    }

    /// Whether the line only gives the location, name or type of a secret. With `isLabel`, the user chose the name in
    /// the line, and its value is the secret.
    private func isReferring(_ line: Range<Int>, isLabel: Bool) -> Bool {
        guard let colon = colon(in: line) else { return false }
        let value = end(from: colon + 1) { !$0.isBlank }..<line.upperBound
        if value.isEmpty || isLiteral(value) { return true }
        let start = end(from: line.lowerBound) { !$0.isBlank && $0 != UInt8(ascii: "-") }
        return !isLabel && end(from: start) { !$0.isAlphanumeric } == colon && rules.isReference(text, start..<colon)
    }

    /// The colon after the name at the start of a line or a list item: `a: b`, `- "a": b`.
    private func colon(in line: Range<Int>) -> Int? {
        var start = line.lowerBound
        while start < line.upperBound, text[start] == UInt8(ascii: "-"), byte(start + 1).isBlank {
            start = end(from: start + 1) { !$0.isBlank }
        }
        if start < line.upperBound, "\"'".utf8.contains(text[start]) {
            let quote = text[start]
            start += 1
            while start < line.upperBound, text[start] != quote { start += text[start] == UInt8(ascii: "\\") ? 2 : 1 }
            start = end(from: start + 1) { !$0.isBlank }
            return start < line.upperBound && text[start] == UInt8(ascii: ":") ? start : nil
        }
        guard start < line.upperBound else { return nil }
        return text[start..<line.upperBound].indices.first { place in
            text[place] == UInt8(ascii: ":") && (place + 1 == line.upperBound || text[place + 1].isBlank)
        }
    }

    /// The end of the line of a quoted name, if the next line has YAML syntax that JSON lacks: a list, a mapping or a
    /// comment.
    func endOfLine(beforeYAMLAt start: Int, after place: Int) -> Int? {
        let end = end(from: place) { !$0.isBlank }
        guard end < start, byte(end).isLineEnd else { return nil }
        let isItem = byte(start) == UInt8(ascii: "-") && byte(start + 1).isBlank
        return isItem || byte(start) == UInt8(ascii: "#") || beginsMapping(start) ? end : nil
    }

    private func beginsMapping(_ start: Int) -> Bool {
        guard byte(start).isAlphanumeric || "_\"'".utf8.contains(byte(start)), valueStart(start) == start else {
            return false
        }
        return colon(in: start..<end(from: start) { $0.isLineEnd }) != nil
    }

    /// Skips the anchor and the tag of a block: `&a`, `!!seq`. Returns `start` if a value follows in the line.
    func afterProperties(_ start: Int) -> Int {
        var place = start
        while "&!".utf8.contains(byte(place)) {
            place = end(from: place) { $0 <= 0x20 || $0 == UInt8(ascii: "\\") }
            place = end(from: place) { !$0.isBlank }
        }
        guard place < text.count, place > start else { return start }
        let isAlone = text[place].isLineEnd || text[place] == UInt8(ascii: "#") || isMarked(place)
        return isAlone || beginsBlock(place) ? place : start
    }

    /// Returns the meaning of this name's value below a name such as `pin`, or `nil` if the value is not a secret.
    mutating func meaningInSecretMapping(_ name: SecretName) -> SecretMeaning? {
        guard let mapping = secretMapping, beginsLine(name) else { return nil }
        let indent = indent(ofLineWith: name.range.lowerBound)
        if indent <= mapping.name { secretMapping = nil }
        return indent == mapping.values && rules.isValueInSecretObject(text, name.range) ? mapping.meaning : nil
    }

    /// The end of a scalar that continues in lines with more indentation: at the quotation mark, or before a line with
    /// a name or a list item. `nil` if the scalar does not continue.
    func endOfScalar(of name: SecretName, from start: Int, closedBy quote: UInt8?) -> Int? {
        guard byte(start).isLineEnd, beginsLine(name) else { return nil }
        let nameIndent = indent(ofLineWith: name.range.lowerBound)
        let limit = min(text.count, quote == nil ? text.count : start + Self.longestScalar)
        var last: Int?
        var line = nextLine(after: start)
        while line < limit {
            let begin = end(from: line) { !$0.isBlank }
            let end = end(from: begin) { $0.isLineEnd || $0 == quote }
            if begin < end || quote != nil && byte(end) == quote {
                guard begin - line > nameIndent else { return quote == nil ? last : nil }
                if byte(end) == quote { return end }
                if quote == nil,
                    "-*>|#".utf8.contains(text[begin]) || text[begin..<end].contains(where: Self.isSeparator)
                {
                    return last
                }
                last = end
            }
            line = nextLine(after: end)
        }
        return last
    }

    private static func isSeparator(_ byte: UInt8) -> Bool { byte == UInt8(ascii: ":") || byte == UInt8(ascii: "=") }

    private func nextLine(after end: Int) -> Int {
        guard end < text.count else { return end }
        return end + (matches("\r\n", at: end) ? 2 : 1)
    }

    private func indent(ofLineWith place: Int) -> Int {
        var start = place
        let limit = max(0, place - 2 * Self.longestName)
        while start > limit, !text[start - 1].isLineEnd { start -= 1 }
        return end(from: start) { !$0.isBlank && $0 != UInt8(ascii: "-") } - start
    }
}
