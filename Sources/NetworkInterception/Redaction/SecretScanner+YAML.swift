/// Blocks and lists of YAML, below the name that they belong to.
extension SecretScanner {
    /// Whether a block follows: `|`, `>-`, `|2`.
    func beginsBlock(_ start: Int) -> Bool {
        guard text[start] == UInt8(ascii: "|") || text[start] == UInt8(ascii: ">") else { return false }
        let end = endOfLine(from: start)
        return end - start <= 3
    }

    func endOfBlockSign(_ start: Int) -> Int {
        min(text.count - 1, beginsBlock(start) ? endOfLine(from: start) : start)
    }

    /// The indented lines below a name, in a string where line ends are written as `\n`.
    mutating func escapedBlock(from start: Int, isText: Bool) {
        var first: Int?
        var end = start
        while stands("\\n", at: end) {
            let begin = self.end(from: end + 2) { !$0.isBlank }
            guard begin > end + 2, begin < text.count, !endsLine(begin) else { break }
            let next = endOfLine(from: begin) { $0 == UInt8(ascii: "\"") }
            // A mapping has names of its own.
            if first == nil, !isText, text[begin..<next].contains(UInt8(ascii: ":")) { return }
            first = first ?? begin
            end = next
        }
        if let first { hide(first..<end) }
    }

    /// The lines below a name that are indented more than it is.
    mutating func block(below name: SecretName, _ meaning: SecretMeaning, from start: Int) {
        let isText = beginsBlock(start)
        let nameIndent = indent(ofLineWith: name.range.lowerBound)
        var first: Int?
        var last = start
        var line = nextLine(after: endOfLine(from: start))
        while line < text.count {
            let begin = end(from: line) { !$0.isBlank }
            let end = self.end(from: begin) { $0.isLineEnd }
            if begin < end {
                let isItem = text[begin] == UInt8(ascii: "-") && byte(begin + 1).isBlank
                guard begin - line > nameIndent || isItem && !isText && begin - line == nameIndent else { break }
                if first == nil {
                    // A mapping has names of its own.
                    if !isText, !isItem, text[begin..<end].contains(UInt8(ascii: ":")) { return }
                    if isItem, !meaning.contains(.list) || text[begin..<end].contains(UInt8(ascii: ":")) { return }
                    first = begin
                }
                last = end
            }
            line = nextLine(after: end)
        }
        if let first { hide(first..<last) }
    }

    private func nextLine(after end: Int) -> Int {
        guard end < text.count else { return end }
        return end + (stands("\r\n", at: end) ? 2 : 1)
    }

    private func indent(ofLineWith place: Int) -> Int {
        var start = place
        let limit = max(0, place - 2 * Self.longestName)
        while start > limit, !text[start - 1].isLineEnd { start -= 1 }
        return end(from: start) { !$0.isBlank && $0 != UInt8(ascii: "-") } - start
    }
}
