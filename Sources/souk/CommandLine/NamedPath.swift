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

    /// Whether this may be the path of a file. Keys, PEM and JSON are none.
    var isPlausiblePath: Bool {
        !contains(where: \.isNewline) && !contains("-----BEGIN")
            && !Self.beginningsOfKeys.contains(where: hasPrefix)
            && (utf8.count <= Self.longestName || contains("/"))
    }
}
