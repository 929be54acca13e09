import StoreModel
import ZipExtraction

func unpack(_ archive: String, into folder: String) async throws {
    let extractor: any ArchiveExtractor = ZipExtractor()
    do {
        try await extractor.extract(archive, into: folder)
    } catch let error as ExtractionError {
        print("The content is unchanged. \(error.reason)")
    }
}
