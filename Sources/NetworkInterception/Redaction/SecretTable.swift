/// A trie of words in reverse, which matches the end of a name in one pass.
final class SecretTable: Sendable {
    private static let columns = 36
    private static let reaches = 3
    // Unsafe: only `init` writes it, before other code can reach it.
    nonisolated(unsafe) private let children: UnsafeMutablePointer<UInt16>
    nonisolated(unsafe) private let meanings: UnsafeMutablePointer<SecretMeaning>

    init(_ groups: [SecretWords]) {
        var children = [UInt16](repeating: 0, count: Self.columns)
        var meanings = [SecretMeaning](repeating: [], count: Self.reaches)
        for group in groups {
            for word in group.words {
                var node = 0
                for column in word.utf8.reversed().compactMap(Self.column) {
                    let place = node * Self.columns + column
                    if children[place] == 0 {
                        children[place] = UInt16(meanings.count / Self.reaches)
                        children += [UInt16](repeating: 0, count: Self.columns)
                        meanings += [SecretMeaning](repeating: [], count: Self.reaches)
                    }
                    node = Int(children[place])
                }
                meanings[node * Self.reaches + group.reach.rawValue].formUnion(group.meaning)
            }
        }
        self.children = .allocate(capacity: children.count)
        self.children.initialize(from: children, count: children.count)
        self.meanings = .allocate(capacity: meanings.count)
        self.meanings.initialize(from: meanings, count: meanings.count)
    }

    deinit {
        children.deallocate()
        meanings.deallocate()
    }

    /// The meaning of the longest word with which the name ends. Ignores case and separators. Except for words of the
    /// reach `whole`, also ignores a version at the end, and digits at the end unless a word of the table has them.
    func meaning(of text: UnsafeBufferPointer<UInt8>, _ name: Range<Int>) -> SecretMeaning {
        if let found = longest(text, name, allowsWhole: true) { return found.contains(.harmless) ? [] : found }
        var end = name.upperBound
        while end > name.lowerBound, !text[end - 1].isASCIILetter { end -= 1 }
        guard end < name.upperBound else { return [] }
        var found = longest(text, name.lowerBound..<end, allowsWhole: false)
        // A version, as in `api_key_v2` and `apiKeyV2`, but not in `CVV2`.
        if found == nil, end > name.lowerBound, text[end].isDigit, text[end - 1] | 0x20 == UInt8(ascii: "v"),
            Self.beginsWord(text, end - 1, name)
        {
            found = longest(text, name.lowerBound..<end - 1, allowsWhole: false)
        }
        guard let found, !found.contains(.harmless) else { return [] }
        return found
    }

    private func longest(
        _ text: UnsafeBufferPointer<UInt8>, _ name: Range<Int>, allowsWhole: Bool
    ) -> SecretMeaning? {
        var node = 0
        var best: SecretMeaning?
        var place = name.upperBound
        while place > name.lowerBound {
            place -= 1
            guard let column = Self.column(text[place]) else {
                // A zero byte is half of a UTF-16 character, not a separator.
                if text[place] < 0x80, text[place] != 0 { continue }
                return best
            }
            node = Int(children[node * Self.columns + column])
            guard node != 0 else { return best }
            let ending = meanings[node * Self.reaches + SecretWords.Reach.ending.rawValue]
            if !ending.isEmpty { best = ending }
            let word = meanings[node * Self.reaches + SecretWords.Reach.word.rawValue]
            if !word.isEmpty, Self.beginsWord(text, place, name) { best = word.union(ending) }
        }
        let whole = meanings[node * Self.reaches + SecretWords.Reach.whole.rawValue]
        return allowsWhole && !whole.isEmpty ? whole : best
    }

    /// Whether a word of a name begins at `place`: at the start of the name, after a digit or a separator, or at `K` in
    /// `apiKey` or `APIKey`.
    private static func beginsWord(_ text: UnsafeBufferPointer<UInt8>, _ place: Int, _ name: Range<Int>) -> Bool {
        guard place > name.lowerBound else { return true }
        let (before, first) = (text[place - 1], text[place])
        guard before.isASCIILetter else { return before < 0x80 }
        guard first.isUppercase else { return false }
        return !before.isUppercase || place + 1 < name.upperBound && !text[place + 1].isUppercase
    }

    private static func column(_ byte: UInt8) -> Int? {
        switch byte {
        case 0x61...0x7A: Int(byte) - 0x61
        case 0x41...0x5A: Int(byte) - 0x41
        case 0x30...0x39: Int(byte) - 0x30 + 26
        default: nil
        }
    }
}

extension UInt8 {
    var isUppercase: Bool { (0x41...0x5A).contains(self) }
    var isDigit: Bool { (0x30...0x39).contains(self) }
    var isASCIILetter: Bool { (0x61...0x7A).contains(self | 0x20) }
    var isAlphanumeric: Bool { isDigit || isASCIILetter }
    var isBlank: Bool { self == 0x20 || self == 0x09 }
    var isLineEnd: Bool { self == 0x0A || self == 0x0D }
}
