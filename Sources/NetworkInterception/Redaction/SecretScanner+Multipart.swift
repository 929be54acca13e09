import Foundation

/// Parts of multipart forms.
extension SecretScanner {
    /// The longest distance from the start of a part's head to its name.
    private static let longestHead = 2048

    /// The start of the `Content-Disposition` line that contains this name. Lines that begin with a blank continue a
    /// header line.
    func headOfPart(_ name: SecretName) -> Int? {
        let limit = max(0, name.range.lowerBound - Self.longestHead)
        var start = name.range.lowerBound
        while start > limit, !text[start - 1].isLineEnd || text[start] <= 0x20 { start -= 1 }
        let word = text[start..<min(start + 19, text.count)]
        guard String(decoding: word, as: UTF8.self).lowercased() == "content-disposition" else { return nil }
        return byte(end(from: word.endIndex) { !$0.isBlank }) == UInt8(ascii: ":") ? start : nil
    }

    /// Hides the content of the part whose head contains `place`.
    mutating func part(withHeadAt start: Int, from place: Int) {
        var head = place
        while head < text.count, !matches("\r\n\r\n", at: head), !matches("\n\n", at: head) { head += 1 }
        let content = min(head + (matches("\r", at: head) ? 4 : 2), text.count)
        let delimiter = delimiter(before: start)
        var end = content
        while end < text.count, text[end] != 0x0A || !isDelimiter(delimiter, at: end + 1) { end += 1 }
        hide(content..<(end < text.count && byte(end - 1) == 0x0D ? max(content, end - 1) : end))
    }

    /// The delimiter line before a head.
    private func delimiter(before head: Int) -> [UInt8] {
        let limit = max(0, head - Self.longestHead)
        var start = head
        while start > limit {
            start -= 1
            if matches("--", at: start), start == 0 || text[start - 1].isLineEnd {
                return Array(text[start..<end(from: start) { $0 <= 0x20 }])
            }
        }
        return Array("--".utf8)
    }

    /// Whether the delimiter is at `start`. The last delimiter of a body is followed by two hyphens.
    private func isDelimiter(_ delimiter: [UInt8], at start: Int) -> Bool {
        guard matches(delimiter, at: start) else { return false }
        let end = start + delimiter.count
        return end == text.count || text[end] <= 0x20 || delimiter.count == 2 || matches("--", at: end)
    }

    /// The contents of the parts of a body, each with its `Content-Type` line. Empty if the body has no zero byte,
    /// because then no part is in UTF-16 or UTF-32.
    static func parts(of body: [UInt8]) -> [(content: Range<Int>, type: String?)] {
        guard body.withUnsafeBytes({ memchr($0.baseAddress!, 0, $0.count) }) != nil else { return [] }
        let beginning = body.prefix(longestHead)
        guard
            let start = beginning.indices.first(where: { place in
                (place == 0 || body[place - 1] == 0x0A) && beginning[place...].starts(with: "--".utf8)
            })
        else { return [] }
        let delimiter = Array("\n".utf8 + beginning[start...].prefix { $0 > 0x20 })
        var parts: [(Range<Int>, String?)] = []
        var place = start + delimiter.count - 1
        while place < body.count {
            let end = find(delimiter, in: body, from: place) ?? body.count
            let head = place..<min(place + longestHead, end)
            let blank = [Array("\r\n\r\n".utf8), Array("\n\n".utf8)].compactMap { line in
                find(line, in: body, from: head.lowerBound, to: head.upperBound).map { $0 + line.count }
            }.min()
            if let content = blank, content < end {
                let lines = String(decoding: body[place..<content], as: UTF8.self).split(whereSeparator: \.isNewline)
                let type = lines.first { $0.lowercased().hasPrefix("content-type") }
                parts.append((content..<end, type.map(String.init)))
            }
            place = end + delimiter.count
        }
        return parts
    }

    /// The next position of a word.
    private static func find(_ word: [UInt8], in body: [UInt8], from start: Int, to end: Int? = nil) -> Int? {
        body.withUnsafeBufferPointer { body in
            let end = end ?? body.count
            var place = start
            while place + word.count <= end {
                if body[place] == word[0], word.indices.allSatisfy({ body[place + $0] == word[$0] }) { return place }
                place += 1
            }
            return nil
        }
    }
}
