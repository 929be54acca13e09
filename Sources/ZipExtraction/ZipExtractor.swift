import StoreModel
import ZipArchives

/// Extracts zip archives with libarchive.
///
///     try await ZipExtractor().extract("/tmp/film.zip", into: "/var/lib/app/content/film")
///
/// The structure of the archive is checked before anything is written: names, kinds and sizes, and that it is
/// unambiguous. `Documentation/Content.md` lists the refused archives, `ExtractionError.Code` the errors. The data is
/// then written in blocks to a folder beside `folder`. Each file gets the mode 0600 and each folder 0700; modes, owners
/// and times in the archive are ignored. Only the archive's directory and one block are in memory at a time.
public struct ZipExtractor: ArchiveExtractor {
    /// Creates an extractor. It has no state and can extract several archives at a time.
    public init() {}

    public func extract(
        _ archive: String, into folder: String, limits: ExtractionLimits,
        progress: @escaping @Sendable (ExtractionProgress) -> Void
    ) async throws {
        try await Extraction<ArchiveReader>.run(archive, into: folder, limits: limits, progress: progress)
    }
}
