#if canImport(Compression)
    import StoreModel

    /// Extracts zip archives with the libraries of Apple's systems, where `StoreConfiguration` uses it by default.
    ///
    ///     try await SystemZipExtractor().extract("/tmp/film.zip", into: "/var/mobile/…/content/film")
    ///
    /// The structure of the archive is checked before anything is written, with the same code as in
    /// `ZipExtraction.ZipExtractor`: `Documentation/Content.md` lists the refused archives, `ExtractionError.Code` the
    /// errors. Apple's Compression framework decompresses the data in blocks of at most 256 KiB.
    public struct SystemZipExtractor: ArchiveExtractor {
        /// Creates an extractor. It has no state and can extract several archives at a time.
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
