import Foundation

extension UsageError {
    /// An error about a file that was named on the command line or in the environment, and cannot be read.
    ///
    /// The value may be a key instead of the path of its file. A value that looks like a key is not printed.
    ///
    /// - Parameters:
    ///   - path: the value that should be a path.
    ///   - complaint: the reason, such as "there is no such file".
    init(path: String, _ complaint: String) {
        self.init(
            path.isPlausiblePath
                ? "\(path): \(complaint)"
                : "this takes the path of a file, not its content; the value is not shown")
    }
}

extension String {
    private static let beginningsOfKeys = ["{", "[", "whsec_", "sk_", "souk_secret_", "souk_public_", "eyJ"]
    private static let longestName = 255

    /// Whether this can be the path of a file. A string that looks like a key, PEM or JSON can only be the path of a
    /// file that exists.
    var isPlausiblePath: Bool {
        if !isEmpty, FileManager.default.fileExists(atPath: self) { return true }
        return !contains(where: \.isNewline) && !contains("-----BEGIN")
            && !Self.beginningsOfKeys.contains(where: hasPrefix) && !isRandom
            && (utf8.count <= Self.longestName || contains("/"))
    }

    /// The string in quotes, for messages that repeat an argument. A string that looks like a key or is too long is not
    /// repeated.
    var quoted: String {
        guard utf8.count <= Self.longestName else { return "a value of \(count) characters" }
        let isKey = contains("-----BEGIN") || split(separator: " ").contains { String($0).looksLikeKey }
        return isKey ? "a value that looks like a key and is not shown" : "\"\(self)\""
    }

    private var looksLikeKey: Bool {
        Self.beginningsOfKeys.contains { $0.count > 1 && hasPrefix($0) } || isRandom
    }

    /// Whether this looks like a random key: one word of at least 20 characters, with frequent changes between digits,
    /// small letters and capitals. File names have an extension or several words.
    private var isRandom: Bool {
        guard utf8.count >= 20, contains(where: \.isNumber), contains(where: \.isLetter) else { return false }
        // The slash of base64 can be in a path too; the padding at its end cannot.
        let word = hasSuffix("=") ? filter { $0 != "/" } : self
        guard word.allSatisfy(\.isOfBase64) else { return false }
        let pieces = word.split { "-_".contains($0) }
        // Base64 for URLs has hyphens and underscores at random positions; file names have words between them.
        if word.utf8.count >= 40, word.contains(where: \.isUppercase), word.contains(where: \.isLowercase) {
            return true
        }
        return pieces.contains { $0.count >= 20 && $0.contains(where: \.isNumber) && Self.changes(in: $0) >= 5 }
    }

    /// Counts the places where a digit, a small letter or a capital follows a character of another kind.
    private static func changes(in word: Substring) -> Int {
        func kind(_ character: Character) -> Int { character.isNumber ? 0 : character.isUppercase ? 1 : 2 }
        return zip(word, word.dropFirst()).count { kind($0) != kind($1) }
    }
}

extension Character {
    /// Whether this is a character of base64 or base64url, apart from the slash.
    fileprivate var isOfBase64: Bool { isASCII && (isLetter || isNumber || "-_+=".contains(self)) }
}
