import StoreModel

/// The structure of an archive, read completely and checked to be unambiguous, before a byte is written.
///
/// The checksums of the data are checked during the extraction.
struct ExtractionPlan: Equatable {
    /// The entries in the order of their data.
    let entries: [ZipEntry]
    let totalBytes: Int

    /// The size up to which the compression ratio of a file or of the archive is not checked.
    static let bytesFreeOfRatio = 1 << 20

    /// Throws `ExtractionError` for everything that `Documentation/Content.md` lists, and the `CancellationError` of
    /// `checkpoint`.
    init(_ file: ArchiveFile, limits: ExtractionLimits, checkpoint: () throws -> Void = {}) throws {
        let end = try DirectoryEnd(file)
        guard end.entries <= limits.entries else {
            throw Self.excess(
                "The archive has \(end.entries) files and folders; at most \(limits.entries) are allowed.")
        }
        let (longestName, otherFields) = (min(limits.nameBytes, 65535), 1024)
        let longestEntry = ZipEntry.headerLength + longestName + otherFields
        guard end.size / longestEntry <= end.entries else {
            throw Self.excess("The archive's directory has \(end.size) bytes, too many for its \(end.entries) entries.")
        }
        let directory = try file.bytes(end.size, at: end.offset)
        var (entries, names, position, total) = ([ZipEntry](), NameTree(), 0, 0)
        entries.reserveCapacity(end.entries)
        for _ in 0..<end.entries {
            try checkpoint()
            let entry = try ZipEntry(in: directory, at: &position, limits: limits)
            try names.insert(entry.name)
            total = try Self.sum(total, entry, limits)
            entries.append(entry)
        }
        guard position == directory.count else {
            throw ExtractionError.corrupt(
                "The archive's directory has more entries than its end record states; create it again.")
        }
        guard !Self.isBomb(total, from: file.size, limits) else {
            throw Self.excess(
                "The archive grows to more than \(limits.ratio) times its size; it is treated as a zip bomb.")
        }
        entries.sort { $0.offset < $1.offset }
        var used = 0
        for index in entries.indices {
            try checkpoint()
            let entry = entries[index]
            let header = try LocalHeader(of: entry, in: file, before: end.offset)
            guard header.range.lowerBound >= used else {
                throw ExtractionError.corrupt(
                    "\(entry.name.shown) shares its bytes with another entry; create the archive again.",
                    entry: entry.name.shown)
            }
            used = header.range.upperBound
            entries[index].dataOffset = header.dataOffset
        }
        (self.entries, totalBytes) = (entries, total)
    }

    private static func sum(_ total: Int, _ entry: ZipEntry, _ limits: ExtractionLimits) throws(ExtractionError) -> Int
    {
        guard entry.size <= limits.totalBytes - total else {
            throw excess("The content of the archive exceeds the \(limits.totalBytes) bytes that are allowed.", entry)
        }
        guard !isBomb(entry.size, from: entry.compressedSize, limits) else {
            throw excess(
                "\(entry.name.shown) grows to more than \(limits.ratio) times its size; it is treated as a zip bomb.",
                entry)
        }
        return total + entry.size
    }

    private static func isBomb(_ size: Int, from compressed: Int, _ limits: ExtractionLimits) -> Bool {
        size > bytesFreeOfRatio && size / max(1, limits.ratio) > compressed
    }

    private static func excess(_ reason: String, _ entry: ZipEntry? = nil) -> ExtractionError {
        ExtractionError(
            .limitExceeded, reason + " Make a smaller archive, or raise the limit.", entry: entry?.name.shown)
    }
}
