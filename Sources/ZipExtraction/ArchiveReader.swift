import CArchive
import StoreModel
import ZipArchives

/// Reads the data of a zip archive's entries, one by one, with libarchive.
///
/// Only its zip format with the central directory is enabled. libarchive checks the size and the CRC of the data. Its
/// warnings count as `corrupt`, except for one about a name.
final class ArchiveReader: EntryReader {
    private let archive: OpaquePointer
    private let source: Source

    init(_ file: ArchiveFile) throws(ExtractionError) {
        guard let archive = archive_read_new() else {
            throw ExtractionError(.fileFailed, "The archive cannot be read: out of memory. Try again later.")
        }
        self.archive = archive
        source = Source(file)
        let context = Unmanaged.passUnretained(source).toOpaque()
        archive_read_support_format_zip_seekable(archive)
        // Without this option, libarchive turns some files into attributes of macOS.
        archive_read_set_format_option(archive, "zip", "mac-ext", nil)
        archive_read_set_callback_data(archive, context)
        archive_read_set_read_callback(archive) { _, context, buffer in
            Source.of(context).read(buffer!)
        }
        archive_read_set_seek_callback(archive) { _, context, offset, origin in
            Source.of(context).seek(offset, origin)
        }
        guard archive_read_open1(archive) == ARCHIVE_OK else { throw failure() }
    }

    deinit { archive_read_free(archive) }

    /// Goes to the next entry, which must be of the kind and size of `entry`.
    func advance(to entry: ZipEntry) throws(ExtractionError) {
        var header: OpaquePointer?
        let answer = archive_read_next_header(archive, &header)
        // A warning here is about names in the locale of this process, which are not used.
        guard answer == ARCHIVE_OK || answer == ARCHIVE_WARN, let header else { throw failure(entry) }
        let kind: mode_t = entry.isFolder ? 0o040000 : 0o100000
        guard archive_entry_filetype(header) == kind, entry.isFolder || archive_entry_size(header) == entry.size else {
            throw .corrupt(
                "\(entry.name.shown) has headers that contradict each other; create the archive again.",
                entry: entry.name.shown)
        }
    }

    /// Throws if the archive has more entries than its directory lists.
    func finish() throws(ExtractionError) {
        var header: OpaquePointer?
        guard archive_read_next_header(archive, &header) == ARCHIVE_EOF else {
            throw .corrupt("The archive has more entries than its directory lists; create the archive again.")
        }
    }

    /// Returns the next bytes of the entry, valid until the next call; `nil` after the last.
    func nextBlock(of entry: ZipEntry) throws(ExtractionError) -> UnsafeRawBufferPointer? {
        var (start, count, offset): (UnsafeRawPointer?, Int, Int64) = (nil, 0, 0)
        switch archive_read_data_block(archive, &start, &count, &offset) {
        case ARCHIVE_OK: return UnsafeRawBufferPointer(start: start, count: count)
        case ARCHIVE_EOF: return nil
        default: throw failure(entry)
        }
    }

    private func failure(_ entry: ZipEntry? = nil) -> ExtractionError {
        if let failure = source.failure { return failure }
        let words = archive_error_string(archive).map { String(cString: $0) } ?? "unknown"
        let subject = entry.map { $0.name.shown } ?? "The archive"
        return .corrupt(
            "\(subject) is damaged (libarchive: \(words)); fetch the archive again.", entry: entry?.name.shown)
    }

    /// The input of libarchive. Only the thread of the reader uses it.
    private final class Source {
        private let file: ArchiveFile
        private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 16)
        private var position = 0
        private(set) var failure: ExtractionError?

        init(_ file: ArchiveFile) { self.file = file }

        deinit { buffer.deallocate() }

        static func of(_ context: UnsafeMutableRawPointer?) -> Source {
            Unmanaged<Source>.fromOpaque(context!).takeUnretainedValue()
        }

        func read(_ start: UnsafeMutablePointer<UnsafeRawPointer?>) -> Int {
            do throws(ExtractionError) {
                let count = try file.read(into: buffer, at: position)
                position += count
                start.pointee = UnsafeRawPointer(buffer.baseAddress)
                return count
            } catch {
                failure = error
                return Int(ARCHIVE_FATAL)
            }
        }

        func seek(_ offset: Int64, _ origin: Int32) -> Int64 {
            let base: Int
            switch origin {
            case SEEK_SET: base = 0
            case SEEK_CUR: base = position
            default: base = file.size
            }
            let (sum, overflow) = base.addingReportingOverflow(Int(offset))
            guard !overflow, sum >= 0 else { return Int64(ARCHIVE_FATAL) }
            position = sum
            return Int64(sum)
        }
    }
}
