import HTTPCore

/// URLs and percent-encoded text.
extension SecretScanner {
    private static let longestSegment = 64
    private static let segment = ASCIISet.alphanumeric.union("-_=%")
    private static let token = ASCIISet.alphanumeric.union("-_.~=+!$*%")
    private static let afterAuthority = ASCIISet.blank.union("/?#\\\"'<>")
    private static let aroundEncoded = ASCIISet.blank.union("&#?=/\"'`<>\\{}()|")

    /// At a colon: hides user information after `://`, also in a text that is cut before the `@`. Returns whether the
    /// authority of a URL begins here.
    mutating func authority(at colon: Int) -> Bool {
        let start = matches("://", at: colon) ? colon + 3 : matches(":\\/\\/", at: colon) ? colon + 5 : text.count
        guard start < text.count else { return matches("://", at: colon) }
        position = start
        let end = end(from: start) { Self.afterAuthority.contains($0) }
        if let atSign = text[start..<end].lastIndex(of: UInt8(ascii: "@")) {
            hide(start..<atSign, Self.markOfUser)
        } else if end == text.count, text[start] != UInt8(ascii: "["),
            let port = text[start..<end].firstIndex(of: UInt8(ascii: ":")),
            !text[(port + 1)..<end].allSatisfy(\.isDigit)
        {
            hide(start..<end, Self.markOfUser)
        }
        return true
    }

    /// At a slash: hides a random path segment after a segment that names a secret.
    mutating func pathSegment() {
        let slash = position
        position += 1
        if byte(slash + 1) == UInt8(ascii: "/"), userInfo(from: slash + 2) { return }
        guard !isMarked(slash + 1), let least = leastLength(before: slash) else { return }
        let end = end(from: slash + 1) { !Self.token.contains($0) }
        let sample = slash + 1..<min(end, slash + 1 + Self.longestSegment)
        // A segment with blanks or letters outside of ASCII is a title or a name, not a secret.
        let decoded = EscapedText(percentEncoded: text, sample).bytes
        let blanks = decoded.count { $0 <= 0x20 } - text[sample].count { $0 == UInt8(ascii: "+") }
        guard decoded.count >= least, blanks == 0, decoded.allSatisfy({ $0 < 0x80 }),
            decoded.contains(where: \.isDigit), decoded.contains(where: \.isASCIILetter)
        else { return }
        hide(slash + 1..<end, Self.markInQuery)
    }

    /// Hides user information, as in `//anna:secret@host` without a scheme. Returns whether user information begins
    /// here.
    private mutating func userInfo(from start: Int) -> Bool {
        let end = end(from: start) { Self.afterAuthority.contains($0) }
        guard let atSign = text[start..<end].lastIndex(of: UInt8(ascii: "@")),
            text[start..<atSign].contains(UInt8(ascii: ":"))
        else { return false }
        hide(start..<atSign, Self.markOfUser)
        return true
    }

    /// The length from which a random segment after this slash is a secret, or `nil` if a segment of any length is
    /// harmless. Between the slash and the segment that names a secret, up to two segments may identify a customer:
    /// `/reset/MQ/…`, `/verify/17/…`.
    private func leastLength(before slash: Int) -> Int? {
        var end = slash
        for isDirect in [true, false, false] {
            guard let segment = segment(before: end) else { return nil }
            if let least = rules.leastLength(after: segment, of: text) {
                return isDirect || rules.isConfirmationSegment(text, segment) ? max(least, isDirect ? 0 : 20) : nil
            }
            guard mayIdentifyCustomer(segment) else { return nil }
            end = segment.lowerBound - 1
        }
        return nil
    }

    /// The segment that ends at `slash`.
    private func segment(before slash: Int) -> Range<Int>? {
        let limit = max(0, slash - Self.longestSegment)
        var start = slash
        while start > limit, Self.segment.contains(text[start - 1]) { start -= 1 }
        return start < slash && byte(start - 1) == UInt8(ascii: "/") ? start..<slash : nil
    }

    /// Whether the segment may be the number of a customer, also in base64, or a time. A version such as `v2` does not
    /// count.
    private func mayIdentifyCustomer(_ segment: Range<Int>) -> Bool {
        let bytes = text[segment]
        guard bytes.count <= 10, !(bytes.first == UInt8(ascii: "v") && bytes.dropFirst().allSatisfy(\.isDigit)) else {
            return false
        }
        return bytes.contains { $0.isDigit || $0.isUppercase }
    }

    /// At a percent sign: scans the decoded text.
    mutating func percentEncoded() {
        let place = position
        position += 1
        guard byte(place + 1).hexValue != nil, byte(place + 2).hexValue != nil else { return }
        let limit = max(lastHidden, place - Self.longestName)
        var start = place
        while start > limit, !Self.aroundEncoded.contains(text[start - 1]) { start -= 1 }
        // A value may contain slashes; a path segment may not.
        var value = start
        while value > limit, text[value - 1] == UInt8(ascii: "/") || !Self.aroundEncoded.contains(text[value - 1]) {
            value -= 1
        }
        let isValue = byte(value - 1) == UInt8(ascii: "=") || matches("-----BEGIN", at: value)
        if isValue { start = value }
        let end = end(from: place) { Self.aroundEncoded.contains($0) && !(isValue && $0 == UInt8(ascii: "/")) }
        defer { position = end }
        guard depth < Self.maximumDepth else { return }
        let inner = EscapedText(percentEncoded: text, start..<end)
        for (range, replacement) in inner.bytes.withUnsafeBufferPointer({ rules.found(in: $0, depth: depth + 1) }) {
            let encoded = PercentEncoding.encode(String(decoding: replacement, as: UTF8.self))
            hide(inner.original(range), Array(encoded.utf8))
        }
    }
}
