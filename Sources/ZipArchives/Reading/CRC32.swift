/// The checksum of a file in a zip archive (APPNOTE.TXT 4.4.7), computed block by block.
struct CRC32 {
    private var remainder = ~UInt32(0)

    var value: Int { Int(~remainder) }

    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        var remainder = remainder
        Self.table.withUnsafeBufferPointer { table in
            for byte in bytes {
                remainder = table[Int(UInt8(truncatingIfNeeded: remainder) ^ byte)] ^ (remainder >> 8)
            }
        }
        self.remainder = remainder
    }

    private static let table: [UInt32] = (0..<256).map { byte in
        (0..<8).reduce(UInt32(byte)) { value, _ in value & 1 == 0 ? value >> 1 : value >> 1 ^ 0xEDB8_8320 }
    }
}
