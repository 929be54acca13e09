extension String {
    /// Decodes UTF-8. Returns `nil` when the bytes are not valid UTF-8.
    ///
    /// This is `String(validating:as:)`, which iOS 17 and macOS 14 do not have.
    package init?(utf8 bytes: some Collection<UInt8>) {
        guard #available(iOS 18, macOS 15, visionOS 2, *) else {
            guard let text = Self.comparing(bytes) else { return nil }
            self = text
            return
        }
        guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
        self = text
    }

    /// Decodes with repairs, and returns `nil` when the result has different bytes.
    static func comparing(_ bytes: some Collection<UInt8>) -> String? {
        let text = String(decoding: bytes, as: UTF8.self)
        return text.utf8.elementsEqual(bytes) ? text : nil
    }
}
