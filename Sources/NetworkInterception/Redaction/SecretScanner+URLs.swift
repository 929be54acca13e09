import HTTPCore

/// URLs and what is percent-encoded.
extension SecretScanner {
    private static let afterAuthority = ASCIISet.blank.union("/?#\\\"'<>")
    private static let aroundEncoded = ASCIISet.blank.union("&#?=/\"'`<>\\{}()|")

    /// At a colon: user information after `://`? Returns whether a URL's authority begins here.
    mutating func authority(at colon: Int) -> Bool {
        let start = stands("://", at: colon) ? colon + 3 : stands(":\\/\\/", at: colon) ? colon + 5 : text.count
        guard start < text.count else { return stands("://", at: colon) }
        position = start
        let end = end(from: start) { Self.afterAuthority.contains($0) }
        if let at = text[start..<end].lastIndex(of: UInt8(ascii: "@")) {
            hide(start..<at, Self.markOfUser)
        } else if end == text.count, text[start] != UInt8(ascii: "["),
            let port = text[start..<end].firstIndex(of: UInt8(ascii: ":")),
            !text[(port + 1)..<end].allSatisfy(\.isDigit)
        {
            // Cut before the @ came.
            hide(start..<end, Self.markOfUser)
        }
        return true
    }

    /// At a percent sign: what is written with escapes is looked through as what it means.
    mutating func percentEncoded() {
        let place = position
        position += 1
        guard byte(place + 1).hexValue != nil, byte(place + 2).hexValue != nil else { return }
        var start = place
        let limit = max(lastHidden, place - Self.longestName)
        while start > limit, !Self.aroundEncoded.contains(text[start - 1]) { start -= 1 }
        let end = end(from: place) { Self.aroundEncoded.contains($0) }
        position = end
        guard depth < Self.deepest else { return }
        let inner = Self.decoded(text[start..<end])
        let change = inner.withUnsafeBufferPointer { rules.scanned($0, .text, depth: depth + 1) }
        if let change { hide(start..<end, Array(PercentEncoding.encode(String(decoding: change, as: UTF8.self)).utf8)) }
    }
}
