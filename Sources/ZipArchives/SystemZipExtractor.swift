#if canImport(Compression)
    import StoreModel

    /// Extracts zip archives, and no others, with what Apple's systems have: `StoreConfiguration` uses it by default there.
    ///
    ///     try await SystemZipExtractor().extract("/tmp/film.zip", into: "/var/mobile/…/content/film")
    ///
    /// The whole archive is judged before anything is written, by the same code as in `ZipExtraction.ZipExtractor`:
    /// `Documentation/Content.md` lists what is refused, `ExtractionError.Code` how. Apple's Compression framework
    /// decompresses the data in blocks of at most 256 KiB.
    public struct SystemZipExtractor: ArchiveExtractor {
        /// Creates an extractor. It has no state: one serves any number of archives at a time.
        public init() {}

        public func extract(
            _ archive: String, into folder: String, limits: ExtractionLimits,
            progress: @escaping @Sendable (ExtractionProgress) -> Void
        ) async throws {
            try await Extraction<InflatingReader<CompressionInflater>>.run(
                archive, into: folder, limits: limits, progress: progress)
        }
    }
#endif
