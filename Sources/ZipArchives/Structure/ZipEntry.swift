import StoreModel

/// One entry of the central directory (APPNOTE.TXT 4.3.12). Sizes and position come from the zip64 field if there is
/// one.
package struct ZipEntry: Equatable {
    package let name: EntryName
    let flags: Int
    let method: Int
    let checksum: Int
    let compressedSize: Int
    package let size: Int
    /// The position of the local header.
    let offset: Int
    /// The position of the data; 0 until the local header is read.
    var dataOffset = 0

    package var isFolder: Bool { name.isFolder }

    static let headerLength = 46
    static let signature = 0x0201_4B50

    /// Reads the entry at `position` of the directory and advances it.
    init(
        in directory: LittleEndianBytes, at position: inout Int, limits: ExtractionLimits
    ) throws(ExtractionError) {
        let start = position
        guard directory.count - start >= Self.headerLength, directory.uint32(start) == Self.signature else {
            throw .corrupt("The archive's directory is damaged; fetch the archive again.")
        }
        let nameEnd = start + Self.headerLength + directory.uint16(start + 28)
        let extraEnd = nameEnd + directory.uint16(start + 30)
        let end = extraEnd + directory.uint16(start + 32)
        guard end <= directory.count else {
            throw .corrupt("The archive's directory is damaged; fetch the archive again.")
        }
        position = end
        name = try EntryName(directory[(start + Self.headerLength)..<nameEnd], limits: limits)
        flags = directory.uint16(start + 8)
        method = directory.uint16(start + 10)
        checksum = directory.uint32(start + 16)
        let extra = try ExtraFields(Array(directory[nameEnd..<extraEnd]), of: name)
        var large = extra.zip64
        size = try large.next(insteadOf: directory.uint32(start + 24), of: name)
        compressedSize = try large.next(insteadOf: directory.uint32(start + 20), of: name)
        offset = try large.next(insteadOf: directory.uint32(start + 42), of: name)
        let disk = directory.uint16(start + 34)
        guard disk == 0 || disk == 0xFFFF else {
            throw ExtractionError(
                .unsupportedFeature, "The archive is one part of several; join them into one archive.",
                entry: name.shown)
        }
        try checkFeatures(version: directory.bytes[start + 6])
        try checkKind(UInt32(directory.uint32(start + 38)))
    }

    /// The highest accepted version of the ZIP format: 6.3, which archives store as 63 (APPNOTE.TXT 4.4.3).
    private static let highestVersion = 63

    private func checkFeatures(version: UInt8) throws(ExtractionError) {
        // Bit 0 encryption, 6 strong encryption, 13 an encrypted directory; method 99 is AES.
        guard flags & (1 | 1 << 6 | 1 << 13) == 0, method != 99 else {
            throw ExtractionError(
                .encrypted, "The archive is encrypted; create it without a password.", entry: name.shown)
        }
        guard flags & 1 << 5 == 0, version <= Self.highestVersion, method == 0 || method == 8 else {
            throw ExtractionError(
                .unsupportedFeature,
                "\(name.shown) uses method \(method) of version \(version), and only deflate (8) and none (0) "
                    + "are supported; create the archive with `zip -r`.", entry: name.shown)
        }
        guard method == 8 || size == compressedSize else {
            throw .corrupt(
                "\(name.shown) is not compressed, but its two sizes differ; create the archive again.",
                entry: name.shown)
        }
    }

    /// The upper half of the attributes is a Unix mode; a DOS bit in the lower half marks a folder.
    private func checkKind(_ attributes: UInt32) throws(ExtractionError) {
        let isKindAllowed =
            switch attributes >> 28 {
            case 0: true
            case 0o04: isFolder
            case 0o10: !isFolder
            default: false
            }
        guard isKindAllowed else {
            throw ExtractionError(
                .unsafeKind,
                "\(name.shown) is a link or a device, or its kind does not match its name; use only files and folders.",
                entry: name.shown)
        }
        guard attributes & 0x10 == 0 || isFolder, !isFolder || size == 0 else {
            throw ExtractionError(
                .unsafeKind,
                "\(name.shown) has the name, attributes or size of both a file and a folder; create the archive again.",
                entry: name.shown)
        }
    }
}

/// The extra fields of an entry (APPNOTE.TXT 4.5). Only the numbers of zip64 are used. A field that contradicts the
/// entry, or could do so, is refused.
struct ExtraFields {
    private(set) var zip64 = LargeNumbers()

    private static let zip64ID = 1
    private static let unicodePathID = 0x7075
    /// An experimental field of libarchive. It repeats the kind and the sizes of the entry, and could contradict them.
    private static let experimentID = 0x6C78

    /// Parses the fields. Some programs append zeros.
    init(_ bytes: [UInt8], of name: EntryName) throws(ExtractionError) {
        let fields = LittleEndianBytes(bytes)
        var (position, seen) = (0, Set<Int>())
        while fields.count - position >= 4 {
            let (id, length) = (fields.uint16(position), fields.uint16(position + 2))
            let content = (position + 4)..<(position + 4 + length)
            guard content.upperBound <= fields.count, id == 0 || seen.insert(id).inserted else {
                throw Self.damaged(name)
            }
            switch id {
            case Self.zip64ID: zip64 = LargeNumbers(Array(fields[content]))
            // Info-ZIP's Unicode path: a version byte, the CRC-32 of the entry's name, then the second name.
            case Self.unicodePathID:
                guard fields[content].dropFirst(5).elementsEqual(name.bytes) else {
                    throw .corrupt("\(name.shown) has two names; create the archive again.", entry: name.shown)
                }
            case Self.experimentID:
                throw .corrupt(
                    "\(name.shown) has an experimental field (0x6C78) that repeats its sizes; create the archive again.",
                    entry: name.shown)
            default: break
            }
            position = content.upperBound
        }
        guard fields[position..<fields.count].allSatisfy({ $0 == 0 }) else { throw Self.damaged(name) }
    }

    private static func damaged(_ name: EntryName) -> ExtractionError {
        .corrupt("The directory entry of \(name.shown) is damaged; fetch the archive again.", entry: name.shown)
    }
}

/// The numbers of a zip64 field, in order. A number is present only if all bits of the entry's 32-bit field are 1.
struct LargeNumbers {
    private let bytes: LittleEndianBytes
    private var position = 0

    init(_ bytes: [UInt8] = []) { self.bytes = LittleEndianBytes(bytes) }

    mutating func next(insteadOf number: Int, of name: EntryName) throws(ExtractionError) -> Int {
        guard number == 0xFFFF_FFFF else { return number }
        guard bytes.count - position >= 8, let large = bytes.uint64(position) else {
            throw .corrupt(
                "A size or the position of \(name.shown) is missing; create the archive again.", entry: name.shown)
        }
        position += 8
        return large
    }
}
