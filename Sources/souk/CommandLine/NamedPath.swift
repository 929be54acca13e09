import Foundation

extension Misuse {
    /// Refuses a file that was named on the command line or in the environment, and was not read.
    ///
    /// A key may have been given where the path of its file belongs. What looks like one is not printed.
    ///
    /// - Parameters:
    ///   - path: the value that should be a path.
    ///   - complaint: what is wrong with the file, such as "there is no such file".
    init(path: String, _ complaint: String) {
        self.init(
            path.isPlausiblePath
                ? "\(path): \(complaint)"
                : "this takes the path of a file, not what is in the file; the value that was given is not shown")
    }
}

extension String {
    private static let beginningsOfKeys = ["{", "[", "whsec_", "sk_", "souk_secret_", "souk_public_", "eyJ"]
    private static let longestName = 255

    /// Whether this may be the path of a file. Keys, PEM and JSON are none, unless there is such a file.
    var isPlausiblePath: Bool {
        if !isEmpty, FileManager.default.fileExists(atPath: self) { return true }
        return !contains(where: \.isNewline) && !contains("-----BEGIN")
            && !Self.beginningsOfKeys.contains(where: hasPrefix) && !isRandom
            && (utf8.count <= Self.longestName || contains("/"))
    }

    /// The string in quotes, as messages repeat what was typed. What looks like a key, and what is too long to be read, is
    /// not repeated.
    var quoted: String {
        guard utf8.count <= Self.longestName else { return "a value of \(count) characters" }
        // Several words may have been typed.
        let isKey = contains("-----BEGIN") || split(separator: " ").contains { String($0).looksLikeKey }
        return isKey ? "what was given, which looks like a key and is not shown" : "\"\(self)\""
    }

    private var looksLikeKey: Bool {
        Self.beginningsOfKeys.contains { $0.count > 1 && hasPrefix($0) } || isRandom
    }

    /// Whether this is one word, as long as a key, in which digits and letters of either case follow one another often.
    /// Names of files have an extension or words.
    private var isRandom: Bool {
        guard utf8.count >= 20, contains(where: \.isNumber), contains(where: \.isLetter) else { return false }
        // A separator of base64 can be in a path too; the sign at its end cannot.
        let word = hasSuffix("=") ? filter { $0 != "/" } : self
        guard word.allSatisfy(\.isOfBase64) else { return false }
        let pieces = word.split { "-_".contains($0) }
        // Base64 for URLs has hyphens and underscores at random places; names have words between them.
        if word.utf8.count >= 40, word.contains(where: \.isUppercase), word.contains(where: \.isLowercase) {
            return true
        }
        return pieces.contains { $0.count >= 20 && $0.contains(where: \.isNumber) && Self.changes(in: $0) >= 5 }
    }

    /// How often a digit, a small letter or a capital follows one of another kind.
    private static func changes(in word: Substring) -> Int {
        func kind(_ character: Character) -> Int { character.isNumber ? 0 : character.isUppercase ? 1 : 2 }
        return zip(word, word.dropFirst()).count { kind($0) != kind($1) }
    }
}

extension Character {
    /// Whether base64, also that for URLs, has this character, apart from the slash.
    fileprivate var isOfBase64: Bool { isASCII && (isLetter || isNumber || "-_+=".contains(self)) }
}
