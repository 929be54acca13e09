extension String {
    /// The text that these bytes are in UTF-8; `nil` when they are not.
    ///
    /// `String(validating:as:)` on systems that have it; iOS 17 and macOS 14 do not.
    package init?(utf8 bytes: some Collection<UInt8>) {
        guard #available(iOS 18, macOS 15, visionOS 2, *) else {
            guard let text = Self.comparing(bytes) else { return nil }
            self = text
            return
        }
        guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
        self = text
    }

    /// Decodes with repairs and looks whether there were any: what is put in the place of a wrong byte differs from it.
    static func comparing(_ bytes: some Collection<UInt8>) -> String? {
        let text = String(decoding: bytes, as: UTF8.self)
        return text.utf8.elementsEqual(bytes) ? text : nil
    }
}
