extension String {
    /// Whether every byte is a character of ASCII, and none is a control character. True for the empty string.
    ///
    /// Most identifiers have this form. Reading all bytes, without a branch for each, is faster than stopping early.
    package var isPrintableASCII: Bool {
        let isPlain = utf8.withContiguousStorageIfAvailable { bytes in
            var others: UInt8 = 0
            for byte in bytes { others |= byte &- 0x20 > 0x5E ? 1 : 0 }
            return others == 0
        }
        return isPlain ?? utf8.allSatisfy { (0x20..<0x7F).contains($0) }
    }
}
