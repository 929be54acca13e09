import StoreModel

/// The header before an entry's data, and the optional descriptor after it (APPNOTE.TXT 4.3.7 and 4.3.9). Both must
/// agree with the central directory, because programs differ in which of them they use.
struct LocalHeader {
    /// The bytes of the archive that belong to the entry.
    let range: Range<Int>
    /// The position of the entry's data.
    let dataOffset: Int

    private static let length = 30
    private static let signature = 0x0403_4B50
    private static let descriptorSignature = 0x0807_4B50
    private static let descriptorFollows = 1 << 3

    init(of entry: ZipEntry, in file: ArchiveFile, before directory: Int) throws(ExtractionError) {
        let disagreement = ExtractionError.corrupt(
            "The local header and the directory disagree about \(entry.name.shown); create the archive again.",
            entry: entry.name.shown)
        guard entry.offset <= directory - Self.length else { throw .cutOff }
        let header = try file.bytes(Self.length, at: entry.offset)
        let (nameLength, extraLength) = (header.uint16(26), header.uint16(28))
        let dataStart = entry.offset + Self.length + nameLength + extraLength
        guard header.uint32(0) == Self.signature, header.uint16(6) == entry.flags, header.uint16(8) == entry.method,
            nameLength == entry.name.bytes.count
        else { throw disagreement }
        guard dataStart <= directory, entry.compressedSize <= directory - dataStart else { throw .cutOff }
        let variable = try file.bytes(nameLength + extraLength, at: entry.offset + Self.length)
        guard variable[0..<nameLength].elementsEqual(entry.name.bytes) else { throw disagreement }
        let extra = try ExtraFields(Array(variable[nameLength..<variable.count]), of: entry.name)
        var large = extra.zip64
        let headerValues = (
            checksum: header.uint32(14), size: try large.next(insteadOf: header.uint32(22), of: entry.name),
            compressedSize: try large.next(insteadOf: header.uint32(18), of: entry.name)
        )
        dataOffset = dataStart
        let dataEnd = dataStart + entry.compressedSize
        guard entry.flags & Self.descriptorFollows != 0 else {
            guard headerValues == (entry.checksum, entry.size, entry.compressedSize) else { throw disagreement }
            range = entry.offset..<dataEnd
            return
        }
        // A writer that did not know the values yet writes zeros here and the values in the descriptor.
        guard [0, entry.checksum].contains(headerValues.checksum), [0, entry.size].contains(headerValues.size),
            [0, entry.compressedSize].contains(headerValues.compressedSize),
            let length = try Self.descriptor(of: entry, in: file, from: dataEnd, to: directory)
        else { throw disagreement }
        range = entry.offset..<(dataEnd + length)
    }

    /// Returns the length of the descriptor. It may begin with a signature, and its sizes have 4 or 8 bytes. Returns
    /// `nil` when none of the four forms agrees with the directory.
    private static func descriptor(
        of entry: ZipEntry, in file: ArchiveFile, from start: Int, to end: Int
    ) throws(ExtractionError) -> Int? {
        let bytes = try file.bytes(min(24, end - start), at: start)
        for signatureLength in [4, 0] where bytes.count >= signatureLength + 12 {
            guard signatureLength == 0 || bytes.uint32(0) == descriptorSignature,
                bytes.uint32(signatureLength) == entry.checksum
            else { continue }
            let sizes = signatureLength + 4
            if bytes.count >= sizes + 16, bytes.uint64(sizes) == entry.compressedSize,
                bytes.uint64(sizes + 8) == entry.size
            {
                return sizes + 16
            }
            if bytes.uint32(sizes) == entry.compressedSize, bytes.uint32(sizes + 4) == entry.size { return sizes + 8 }
        }
        return nil
    }
}
