/// Connection strings of databases and other services.
extension SecretScanner {
    /// Whether the name is part of a connection string: `Server=a;User Id=b;Password=…`. A value may contain equals
    /// signs.
    func isInPairs(_ name: SecretName) -> Bool {
        guard kind != .form, kind != .url, kind != .header else { return false }
        let limit = max(0, name.range.lowerBound - Self.nearby)
        var place = name.range.lowerBound
        while byte(place - 1) == UInt8(ascii: ";") {
            place -= 1
            var key: Int?
            while place > limit, !text[place - 1].isLineEnd, !";\"'<>".utf8.contains(text[place - 1]) {
                place -= 1
                if text[place] == UInt8(ascii: "=") { key = place }
                if text[place] == UInt8(ascii: "&") || key != nil && "/?".utf8.contains(text[place]) { return false }
            }
            guard let key, key > place else { return false }
        }
        return place < name.range.lowerBound
    }

    /// Hides the value of a pair. The value ends at a semicolon or at the end of the string.
    mutating func pair(from start: Int) {
        if let quote = quote(startingAt: start) {
            let content = quote.range.upperBound..<max(quote.range.upperBound, endOfString(quote))
            return isEnd(quote, around: start) ? () : hide(content)
        }
        var end = start
        while end < text.count, !endsLine(end), text[end] != UInt8(ascii: "<"), !endsPair(end),
            isInWord(end) || quote(startingAt: end) == nil
        {
            end += 1
        }
        hideTrimmed(start..<end, Self.markInQuery)
    }

    /// Whether a semicolon is at `place`, followed by nothing or by a name.
    private func endsPair(_ place: Int) -> Bool {
        guard text[place] == UInt8(ascii: ";") else { return false }
        let end = end(from: place + 1) { !$0.isAlphanumeric && !" _-.".utf8.contains($0) }
        return end == text.count || endsLine(end) || "=\"'\\&<".utf8.contains(text[end])
    }
}
