import StoreModel

/// The position of the central directory, from the record at the end of an archive (APPNOTE.TXT 4.3.14 to 4.3.16).
///
/// Rejects archives that two programs could read in different ways. The record must end with the file, and the
/// directory must end at the record. Positions count from the first byte of the file. The record and the zip64 record
/// must agree.
struct DirectoryEnd: Equatable {
    let entries: Int
    let offset: Int
    let size: Int

    private static let signature: [UInt8] = [0x50, 0x4B, 5, 6]
    private static let zip64Signature = 0x0606_4B50
    private static let locatorSignature = 0x0706_4B50
    private static let length = 22
    private static let locatorLength = 20
    private static let zip64Length = 56
    /// The number of bytes at the end in which libarchive searches for the record.
    private static let longestTail = 16 << 10

    init(_ file: ArchiveFile) throws(ExtractionError) {
        let tailStart = max(0, file.size - Self.longestTail)
        let tail = try file.bytes(file.size - tailStart, at: tailStart)
        guard let place = Self.lastSignature(in: tail.bytes) else { throw try Self.notAnArchive(file) }
        let record = tailStart + place
        guard tail.count - place >= Self.length, tail.uint16(place + 20) == tail.count - place - Self.length else {
            throw .corrupt("The archive has more data after its end; create it again, with nothing appended.")
        }
        let old = OldForm(
            disks: [tail.uint16(place + 4), tail.uint16(place + 6)], entriesHere: tail.uint16(place + 8),
            entries: tail.uint16(place + 10), size: tail.uint32(place + 12), offset: tail.uint32(place + 16))
        let directoryEnd: Int
        if let large = try Self.zip64(file, before: record, old) {
            (self, directoryEnd) = large
        } else {
            (self, directoryEnd) = (try old.plain(), record)
        }
        guard offset <= directoryEnd, size == directoryEnd - offset else {
            throw .corrupt("The archive's directory is not at the position in its end record; fetch the archive again.")
        }
    }

    private init(entries: Int, size: Int, offset: Int) {
        (self.entries, self.size, self.offset) = (entries, size, offset)
    }

    /// The record without zip64. A field whose bits are all 1 refers to the zip64 record.
    private struct OldForm {
        let disks: [Int]
        let entriesHere, entries, size, offset: Int

        func plain() throws(ExtractionError) -> DirectoryEnd {
            guard disks == [0, 0], entriesHere == entries else { throw DirectoryEnd.severalDisks }
            guard entries != 0xFFFF, size != 0xFFFF_FFFF, offset != 0xFFFF_FFFF else {
                throw .corrupt(
                    "The archive's end record refers to a zip64 record, which is missing; create the archive again.")
            }
            return DirectoryEnd(entries: entries, size: size, offset: offset)
        }

        func agrees(with end: DirectoryEnd) -> Bool {
            disks.allSatisfy { $0 == 0 || $0 == 0xFFFF } && [end.entries, 0xFFFF].contains(entriesHere)
                && [end.entries, 0xFFFF].contains(entries) && [end.size, 0xFFFF_FFFF].contains(size)
                && [end.offset, 0xFFFF_FFFF].contains(offset)
        }
    }

    /// Returns the zip64 record and its position, if there is a locator for it.
    private static func zip64(
        _ file: ArchiveFile, before record: Int, _ old: OldForm
    ) throws(ExtractionError) -> (DirectoryEnd, Int)? {
        guard record >= locatorLength else { return nil }
        let locator = try file.bytes(locatorLength, at: record - locatorLength)
        guard locator.uint32(0) == locatorSignature else { return nil }
        guard let start = locator.uint64(8), start <= record - locatorLength - zip64Length else { throw disagreement }
        let bytes = try file.bytes(zip64Length, at: start)
        guard bytes.uint32(0) == zip64Signature, let length = bytes.uint64(4),
            length == record - locatorLength - start - 12, let here = bytes.uint64(24), let entries = bytes.uint64(32),
            let size = bytes.uint64(40), let offset = bytes.uint64(48)
        else { throw disagreement }
        guard locator.uint32(4) == 0, locator.uint32(16) <= 1, bytes.uint32(16) == 0, bytes.uint32(20) == 0,
            here == entries
        else { throw severalDisks }
        let end = DirectoryEnd(entries: entries, size: size, offset: offset)
        guard old.agrees(with: end) else { throw disagreement }
        return (end, start)
    }

    private static func lastSignature(in bytes: [UInt8]) -> Int? {
        guard bytes.count >= length else { return nil }
        return (0...(bytes.count - signature.count)).last { bytes[$0...].starts(with: signature) }
    }

    private static let severalDisks = ExtractionError(
        .unsupportedFeature, "The archive is one part of several; join them into one archive.")

    private static let disagreement = ExtractionError.corrupt(
        "The end record and the zip64 end record of the archive contradict each other; create the archive again.")

    /// Returns the error for a file without the record: a truncated zip archive still has the first bytes of one.
    private static func notAnArchive(_ file: ArchiveFile) throws(ExtractionError) -> ExtractionError {
        let start = try file.bytes(min(4, file.size), at: 0).bytes
        if start == [0x50, 0x4B, 3, 4] { return .cutOff }
        return ExtractionError(
            .unsupportedFormat, "This is not a zip archive, and no other format is extracted; create one with `zip -r`."
        )
    }
}
