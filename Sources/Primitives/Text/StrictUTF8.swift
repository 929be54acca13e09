extension String {
    /// Decodes UTF-8. Returns `nil` when the bytes are not valid UTF-8.
    ///
    /// This is `String(validating:as:)`, which iOS 17 and macOS 14 do not have.
    package init?(utf8 bytes: some Collection<UInt8>) {
        if let text = bytes.withContiguousStorageIfAvailable(Self.ascii).flatMap(\.self) {
            self = text
            return
        }
        guard #available(iOS 18, macOS 15, visionOS 2, *) else {
            guard let text = Self.comparing(bytes) else { return nil }
            self = text
            return
        }
        guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
        self = text
    }

    /// Decodes ASCII, as most texts are. Returns `nil` when there are other bytes.
    ///
    /// Unlike the generic decoding, this is one pass over the bytes in the memory of the collection.
    private static func ascii(_ bytes: UnsafeBufferPointer<UInt8>) -> String? {
        guard bytes.reduce(0, |) < 0x80 else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Decodes with repairs, and returns `nil` when the result has different bytes.
    static func comparing(_ bytes: some Collection<UInt8>) -> String? {
        let text = String(decoding: bytes, as: UTF8.self)
        return text.utf8.elementsEqual(bytes) ? text : nil
    }
}
