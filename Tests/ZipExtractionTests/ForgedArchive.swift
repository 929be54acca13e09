/// A zip archive with arbitrary values in every field of every record.
///
///     var archive = ForgedArchive([.file("a.txt", "text")])
///     archive.entries[0].local.size = 7
///     archive.bytes
struct ForgedArchive {
    /// The common fields of the central directory and the local header.
    struct Header {
        var name: [UInt8]
        /// Bit 11: the name is UTF-8.
        var flags = 1 << 11
        var method = 0
        var checksum: Int
        var compressedSize: Int
        var size: Int
        var extra: [UInt8] = []
    }

    struct Entry {
        var central: Header
        var local: Header
        var data: [UInt8]
        /// The descriptor after the data.
        var descriptor: [UInt8] = []
        var madeBy = 3 << 8 | 20
        var versionNeeded = 20
        var attributes = 0o100644 << 16
        var disk = 0
        /// The position of the local header in the directory; `nil` for the correct one.
        var offset: Int?

        static func file(_ name: String, _ content: String = "text") -> Entry { file(name, Array(content.utf8)) }

        static func file(_ name: String, _ content: [UInt8]) -> Entry { raw(Array(name.utf8), content) }

        static func raw(_ name: [UInt8], _ content: [UInt8] = [1]) -> Entry {
            let header = Header(
                name: name, checksum: CRC32.of(content), compressedSize: content.count, size: content.count)
            return Entry(central: header, local: header, data: content)
        }

        static func folder(_ name: String) -> Entry {
            var entry = file(name, [])
            entry.attributes = 0o040755 << 16 | 0x10
            return entry
        }

        /// A deflated file of stored blocks.
        static func deflated(_ name: String, _ content: [UInt8]) -> Entry {
            var entry = file(name, content)
            entry.data = Deflate.stored(content)
            let count = entry.data.count
            entry.changeHeaders { ($0.method, $0.compressedSize) = (8, count) }
            return entry
        }

        /// Changes both headers.
        mutating func changeHeaders(_ change: (inout Header) -> Void) {
            change(&central)
            change(&local)
        }

        func with(_ change: (inout Entry) -> Void) -> Entry {
            var copy = self
            change(&copy)
            return copy
        }

        func changingHeaders(_ change: (inout Header) -> Void) -> Entry { with { $0.changeHeaders(change) } }
    }

    /// The record at the end; `nil` for correct values.
    struct End {
        var disk = 0
        var count, countHere, size, offset: Int?
        var comment: [UInt8] = []
        var commentLength: Int?
    }

    var entries: [Entry]
    var prefix: [UInt8] = []
    /// Bytes between the data and the directory.
    var gap: [UInt8] = []
    var end = End()
    /// The zip64 record of the end, with its locator.
    var zip64: End?
    var suffix: [UInt8] = []

    init(_ entries: [Entry]) { self.entries = entries }

    var bytes: [UInt8] {
        var bytes = prefix
        var offsets: [Int] = []
        for entry in entries {
            offsets.append(bytes.count)
            bytes += entry.localHeader + entry.data + entry.descriptor
        }
        bytes += gap
        let start = bytes.count
        for (entry, offset) in zip(entries, offsets) { bytes += entry.directoryHeader(offset) }
        let size = bytes.count - start
        if let zip64 {
            let record = bytes.count
            bytes += le(0x0606_4B50, 4) + le(44, 8) + le(45, 2) + le(45, 2) + le(zip64.disk, 4) + le(0, 4)
            bytes += le(zip64.countHere ?? entries.count, 8) + le(zip64.count ?? entries.count, 8)
            bytes += le(zip64.size ?? size, 8) + le(zip64.offset ?? start, 8)
            bytes += le(0x0706_4B50, 4) + le(0, 4) + le(record, 8) + le(1, 4)
        }
        bytes += le(0x0605_4B50, 4) + le(end.disk, 2) + le(0, 2)
        bytes += le(end.countHere ?? end.count ?? entries.count, 2) + le(end.count ?? entries.count, 2)
        bytes += le(end.size ?? size, 4) + le(end.offset ?? start, 4)
        return bytes + le(end.commentLength ?? end.comment.count, 2) + end.comment + suffix
    }

    static func zip64Field(_ numbers: Int...) -> [UInt8] {
        le(1, 2) + le(numbers.count * 8, 2) + numbers.flatMap { le($0, 8) }
    }

    static func descriptor(_ header: Header, signed: Bool = true, width: Int = 4) -> [UInt8] {
        (signed ? le(0x0807_4B50, 4) : []) + le(header.checksum, 4) + le(header.compressedSize, width)
            + le(header.size, width)
    }
}

extension ForgedArchive.Entry {
    fileprivate var localHeader: [UInt8] {
        le(0x0403_4B50, 4) + le(20, 2) + local.middle + le(local.name.count, 2) + le(local.extra.count, 2) + local.name
            + local.extra
    }

    fileprivate func directoryHeader(_ place: Int) -> [UInt8] {
        le(0x0201_4B50, 4) + le(madeBy, 2) + le(versionNeeded, 2) + central.middle + le(central.name.count, 2)
            + le(central.extra.count, 2) + le(0, 2) + le(disk, 2) + le(0, 2) + le(attributes, 4)
            + le(offset ?? place, 4) + central.name + central.extra
    }
}

extension ForgedArchive.Header {
    /// The fields that both records have in the same order.
    fileprivate var middle: [UInt8] {
        le(flags, 2) + le(method, 2) + le(0, 2) + le(0x21, 2) + le(checksum, 4) + le(compressedSize, 4) + le(size, 4)
    }
}

/// A number in `width` bytes, in little-endian order.
func le(_ number: Int, _ width: Int) -> [UInt8] {
    (0..<width).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
}

enum Deflate {
    /// A stored block (RFC 1951 section 3.2.4).
    static func stored(_ content: [UInt8]) -> [UInt8] {
        let starts = content.isEmpty ? [0] : Array(stride(from: 0, to: content.count, by: 65535))
        return starts.flatMap { start in
            let block = content[start..<min(start + 65535, content.count)]
            let isLast = start == starts.last
            return [isLast ? 1 : 0] + le(block.count, 2) + le(~block.count, 2) + block
        }
    }
}

enum CRC32 {
    static func of(_ bytes: [UInt8]) -> Int {
        Int(~bytes.reduce(~UInt32(0)) { table[Int(UInt8(truncatingIfNeeded: $0) ^ $1)] ^ ($0 >> 8) })
    }

    private static let table: [UInt32] = (0..<256).map { byte in
        (0..<8).reduce(UInt32(byte)) { value, _ in value & 1 == 0 ? value >> 1 : value >> 1 ^ 0xEDB8_8320 }
    }
}
