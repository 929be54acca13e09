import StoreModel
import ZipArchives

/// Extracts zip archives, and no others, with libarchive.
///
///     try await ZipExtractor().extract("/tmp/film.zip", into: "/var/lib/app/content/film")
///
/// The whole archive is judged before anything is written: names, kinds, sizes, and that it has one reading only
/// (`Documentation/Content.md` lists what is refused, `ExtractionError.Code` how). Then the data goes in blocks to a folder
/// beside `folder`, each file of mode 0600 and each folder of 0700, whatever the archive says; no owner and no time is
/// taken from it. What is in memory at a time is the archive's directory and one block.
public struct ZipExtractor: ArchiveExtractor {
    public init() {}

    public func extract(
        _ archive: String, into folder: String, limits: ExtractionLimits,
        progress: @escaping @Sendable (ExtractionProgress) -> Void
    ) async throws {
        try await Extraction<ArchiveReader>.run(archive, into: folder, limits: limits, progress: progress)
    }
}
