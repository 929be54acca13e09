import HTTPCore

/// The rules of a `Redaction` in a form for fast search in bytes.
final class SecretRules: Sendable {
    private static let standardWords = SecretTable(SecretWords.standard)
    private static let confirmationWords = SecretTable(SecretWords.confirmationSegments)
    private static let nameMemberWords = SecretTable([SecretWords.nameMembers])
    private static let valueBesideNameWords = SecretTable([SecretWords.valuesBesideName])
    private static let pathMemberWords = SecretTable([SecretWords.pathMembers])
    private static let setterWords = SecretTable([SecretWords.setters])
    private static let valueInSecretObjectWords = SecretTable([SecretWords.valuesInSecretObject])
    private static let identifierWords = SecretTable([SecretWords.identifiers])
    private static let referenceWords = SecretTable([SecretWords.references])
    private static let valueElementWords = SecretTable([SecretWords.valueElements])

    private let members: SecretNames
    private let queryItems: SecretNames
    let hasStandardWords: Bool
    private let pointers: PointerTree?
    let shapes = SecretShapes.standard
    /// The header fields without secrets, according to these rules and to the headers of their `Redaction`.
    let harmlessFields = HarmlessTexts()
    private let harmlessURLs = HarmlessTexts()

    /// - Parameter hasStandardWords: Whether a name that matches `SecretWords.standard` is the name of a secret.
    init(members: Set<String>, queryItems: Set<String>, pointers: [String], hasStandardWords: Bool) {
        self.members = SecretNames(members)
        self.queryItems = SecretNames(queryItems)
        self.hasStandardWords = hasStandardWords
        self.pointers = pointers.isEmpty ? nil : PointerTree(pointers)
    }

    /// Whether the name of this header makes its value a secret, unless the value is `true` or `false`.
    func hides(_ field: HTTPHeaders.Field) -> Bool {
        guard hasStandardWords else { return false }
        var name = field.name
        let isSecret = name.withUTF8 { Self.standardWords.meaning(of: $0, 0..<$0.count).contains(.header) }
        return isSecret && !["true", "false"].contains(field.value)
    }

    func redacted(_ text: String) -> String { redactedIfChanged(text) ?? text }

    /// Returns the URL without its secrets.
    func redacted(url: String) -> String {
        if harmlessURLs.contains(url: url) { return url }
        if let redacted = redactedIfChanged(url, .url) { return redacted }
        harmlessURLs.insert(url: url)
        return url
    }

    /// Returns the text without its secrets, or `nil` if it has none.
    func redactedIfChanged(_ text: String, _ kind: BodyKind = .text) -> String? {
        var text = text
        return text.withUTF8 { scanned($0, kind) }.map { String(decoding: $0, as: UTF8.self) }
    }

    /// Returns the body without its secrets, or `nil` if it has none. `type` is its media type. JSON pointers read the
    /// whole body in one encoding: as it is or, if they find nothing, as UTF-16 or UTF-32. The other rules also apply
    /// to parts of the body in UTF-16 or UTF-32.
    func redactedIfChanged(_ body: [UInt8], _ kind: BodyKind, type: @autoclosure () -> String? = nil) -> [UInt8]? {
        if body.beginsSignedDER { return Array(SensitiveHeaders.replacement.utf8) }
        var body = body
        var isChangedByPointers = false
        if let pointers {
            let wide = WideText.readings(of: body, type: type())
            let pointed =
                pointers.redacted(body)
                ?? wide.lazy.compactMap { text in pointers.redacted(text.narrow).map(text.whole) }.first
            if let pointed { (body, isChangedByPointers) = (pointed, true) }
        }
        var wide = self.found(inWide: body, kind, type: type())
        if kind == .multipart || body.starts(with: "--".utf8) {
            for part in SecretScanner.parts(of: body) {
                let found = self.found(inWide: Array(body[part.content]), .body, type: part.type)
                let start = part.content.lowerBound
                wide += found.map { ($0.range.lowerBound + start..<$0.range.upperBound + start, $0.replacement) }
            }
        }
        let changed = body.withUnsafeBufferPointer { body in
            var scanner = scanner(of: body, kind, depth: 0, decodings: 0)
            if !wide.isEmpty { scanner.add(wide) }
            return scanner.result
        }
        return changed ?? (isChangedByPointers ? body : nil)
    }

    /// The secrets of bytes in UTF-16 or UTF-32. The caller also scans the bytes without conversion, because perhaps
    /// only a part of them has such an encoding.
    private func found(
        inWide bytes: [UInt8], _ kind: BodyKind, type: @autoclosure () -> String?
    ) -> [(range: Range<Int>, replacement: [UInt8])] {
        WideText.readings(of: bytes, type: type()).flatMap { text in
            let found = text.narrow.withUnsafeBufferPointer { scanner(of: $0, kind, depth: 0, decodings: 0).found }
            return found.map { (text.original($0.range), text.encoded($0.replacement)) }
        }
    }

    /// The secrets of a text that is nested in other texts at this depth.
    func found(in text: UnsafeBufferPointer<UInt8>, depth: Int) -> [(range: Range<Int>, replacement: [UInt8])] {
        scanner(of: text, .text, depth: depth, decodings: 0).found
    }

    private func scanned(_ text: UnsafeBufferPointer<UInt8>, _ kind: BodyKind) -> [UInt8]? {
        scanner(of: text, kind, depth: 0, decodings: 0).result
    }

    /// Returns a scanner with the secrets of the text. Each multi-line string in it is also scanned as a separate text,
    /// and the text is scanned again with its escape sequences decoded. `decodings` is the number of decodings so far.
    private func scanner(
        of text: UnsafeBufferPointer<UInt8>, _ kind: BodyKind, depth: Int, decodings: Int
    ) -> SecretScanner {
        var scanner = SecretScanner(text, self, kind, depth: depth, isUnescaped: decodings > 0)
        scanner.scan()
        if decodings == 0, depth < SecretScanner.maximumDepth {
            scanner.add(
                EscapedText.stringsWithEscapedLineEnds(in: text).flatMap { range in
                    let string = EscapedText(string: text, range)
                    let inner = string.bytes.withUnsafeBufferPointer { found(in: $0, depth: depth + 1) }
                    return inner.map { (string.original($0.range), EscapedText.escaped($0.replacement)) }
                })
        }
        if decodings < SecretScanner.maximumDepth, let decoded = EscapedText(text) {
            let inner = decoded.bytes.withUnsafeBufferPointer {
                self.scanner(of: $0, kind, depth: depth, decodings: decodings + 1).found
            }
            scanner.add(inner.map { (decoded.original($0.range), $0.replacement) })
        }
        return scanner
    }
}

extension SecretRules {
    /// The meaning of a name in a text.
    func meaning(of text: UnsafeBufferPointer<UInt8>, _ name: Range<Int>) -> SecretMeaning {
        if members.contains(text, name) { return [.item, .member, .number, .list, .object] }
        let named: SecretMeaning = queryItems.contains(text, name) ? .item : []
        return hasStandardWords ? Self.standardWords.meaning(of: text, name).union(named) : named
    }

    /// The length from which a random path segment after `segment` is a secret; `nil` if a segment of any length is
    /// harmless.
    func leastLength(after segment: Range<Int>, of text: UnsafeBufferPointer<UInt8>) -> Int? {
        if meaning(of: text, segment).contains(.member) { return 12 }
        return hasStandardWords && !Self.confirmationWords.meaning(of: text, segment).isEmpty ? 20 : nil
    }

    /// Whether the segment names a confirmation, after which a token may follow later in the path.
    func isConfirmationSegment(_ text: UnsafeBufferPointer<UInt8>, _ segment: Range<Int>) -> Bool {
        hasStandardWords && !Self.confirmationWords.meaning(of: text, segment).isEmpty
    }

    /// Whether the value of this name may be the name of a secret.
    func mayContainSecretName(_ text: UnsafeBufferPointer<UInt8>, _ name: Range<Int>) -> Bool {
        name.count <= 14 && !Self.nameMemberWords.meaning(of: text, name).isEmpty
    }

    /// Whether the value of this name may be the path of a secret.
    func mayContainSecretPath(_ text: UnsafeBufferPointer<UInt8>, _ name: Range<Int>) -> Bool {
        name.count <= 6 && !Self.pathMemberWords.meaning(of: text, name).isEmpty
    }

    /// Whether the value of this name is a secret if a member before it names a secret, as in
    /// `"name": "password", "value": "…"`.
    func isValueBesideName(_ text: UnsafeBufferPointer<UInt8>, _ name: Range<Int>) -> Bool {
        name.count <= 15 && !Self.valueBesideNameWords.meaning(of: text, name).isEmpty
    }

    /// Whether the value of this name is a secret in an object with the name of a secret.
    func isValueInSecretObject(_ text: UnsafeBufferPointer<UInt8>, _ name: Range<Int>) -> Bool {
        name.count <= 12 && !Self.valueInSecretObjectWords.meaning(of: text, name).isEmpty
    }

    /// Whether a function of this name takes a name and its value.
    func isSetter(_ text: UnsafeBufferPointer<UInt8>, _ name: Range<Int>) -> Bool {
        name.count <= 24 && !Self.setterWords.meaning(of: text, name).isEmpty
    }

    /// Whether this is the name of an id.
    func isIdentifier(_ text: UnsafeBufferPointer<UInt8>, _ name: Range<Int>) -> Bool {
        !Self.identifierWords.meaning(of: text, name).isEmpty
    }

    /// Whether the value of this name in YAML describes a secret, such as its location or its name, but is not the
    /// secret.
    func isReference(_ text: UnsafeBufferPointer<UInt8>, _ name: Range<Int>) -> Bool {
        name.count <= 11 && !Self.referenceWords.meaning(of: text, name).isEmpty
    }

    /// Whether the text of an element with this name may be the name of a secret, such as `param-name`. A namespace is
    /// ignored.
    func mayElementContainSecretName(_ text: UnsafeBufferPointer<UInt8>, _ name: Range<Int>) -> Bool {
        mayContainSecretName(text, Self.lastWord(of: text, name))
    }

    /// Whether the text of an element with this name is a secret if its attribute or the element before it names a
    /// secret.
    func isValueElement(_ text: UnsafeBufferPointer<UInt8>, _ name: Range<Int>) -> Bool {
        let word = Self.lastWord(of: text, name)
        return word.count <= 14 && !Self.valueElementWords.meaning(of: text, word).isEmpty
    }

    private static func lastWord(of text: UnsafeBufferPointer<UInt8>, _ name: Range<Int>) -> Range<Int> {
        (text[name].lastIndex { "-_.:".utf8.contains($0) }.map { $0 + 1 } ?? name.lowerBound)..<name.upperBound
    }
}

extension [UInt8] {
    /// Whether the bytes begin with PKCS #7 signed data in DER, as an app receipt does: a sequence with the object
    /// identifier 1.2.840.113549.1.7.2.
    fileprivate var beginsSignedDER: Bool {
        let identifier: [UInt8] = [0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x02]
        guard first == 0x30, count > identifier.count else { return false }
        return (2...6).contains { dropFirst($0).starts(with: identifier) }
    }
}

/// A set of names for search in bytes, compared without case, hyphens and underscores.
final class SecretNames: Sendable {
    private let names: Set<[UInt8]>
    /// For each first letter, the last letters of the names that begin with it, as a bit set. Most other texts are
    /// excluded without a look at `names`.
    // Unsafe: only `init` writes it, before other code can reach it.
    nonisolated(unsafe) private let ends: UnsafeMutablePointer<UInt32>

    init(_ names: Set<String>) {
        self.names = Set(names.map { Self.normal($0.utf8) }).subtracting([[]])
        ends = .allocate(capacity: 32)
        ends.initialize(repeating: 0, count: 32)
        for name in self.names { ends[Int(name[0] & 31)] |= 1 << UInt32(name[name.count - 1] & 31) }
    }

    deinit { ends.deallocate() }

    func contains(_ text: UnsafeBufferPointer<UInt8>, _ name: Range<Int>) -> Bool {
        if names.isEmpty { return false }
        var (start, end) = (name.lowerBound, name.upperBound)
        while start < end, Self.isSeparator(text[start]) { start += 1 }
        while start < end, Self.isSeparator(text[end - 1]) { end -= 1 }
        guard start < end, ends[Int(text[start] & 31)] & (1 << UInt32(text[end - 1] & 31)) != 0 else { return false }
        return names.contains(Self.normal(text[name]))
    }

    private static func isSeparator(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_") }

    private static func normal(_ name: some Sequence<UInt8>) -> [UInt8] {
        name.filter { !isSeparator($0) }.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
    }
}
