import Foundation

extension [UInt8] {
    /// Returns the index of the first `byte` at or after `start`, with the system's search.
    package func index(ofByte byte: UInt8, from start: Int = 0) -> Int? {
        withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress, start < bytes.count,
                let found = memchr(base + start, Int32(byte), bytes.count - start)
            else { return nil }
            return UnsafeRawPointer(found) - base
        }
    }
}
