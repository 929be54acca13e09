import Foundation
import Primitives

/// Uses an archive or a folder on the device: `{"type": "LocalContentFetcher", "URL": "file:///…"}`. It compares an
/// archive with `size` and `sha256` if they are set.
public struct LocalContentFetcher: ContentFetcher {
    public let types = ShippedContentFetcher.local.types

    /// Creates a fetcher.
    public init() {}

    public func check(_ parameters: JSONObject) throws { _ = try ContentSource(parameters) }

    /// Returns the archive or folder at the URL.
    ///
    /// - Parameters:
    ///   - order: The order, with the URL among its parameters.
    ///   - progress: Receives the size of an archive.
    /// - Returns: The archive or folder.
    /// - Throws: `PurchaseError`: `contentFetchFailed` if there is no archive or folder at the URL, `contentMismatch`
    ///   if the size or digest of an archive differs, or is set for a folder. A file that cannot be read throws an
    ///   error with its path.
    public func fetch(
        _ order: ContentOrder, progress: @escaping @Sendable (ContentProgress) -> Void
    ) async throws -> FetchedContent {
        let source = try ContentSource(order.parameters)
        var status = stat()
        guard stat(source.url.path, &status) == 0 else {
            guard [ENOENT, ENOTDIR].contains(errno) else { throw FileFailure("read", source.url.path, errno) }
            throw PurchaseError(.contentFetchFailed, "There is no archive or folder at \(source.url.path) (URL).")
        }
        switch status.st_mode & S_IFMT {
        case S_IFDIR:
            guard source.size == nil, source.sha256 == nil else {
                throw PurchaseError(
                    .contentMismatch, "A folder has no size and no sha256. Use an archive, or omit them.")
            }
            return .folder(path: source.url.path)
        case S_IFREG:
            try source.check(source.url.path)
            progress(ContentProgress(received: Int64(status.st_size), total: Int64(status.st_size)))
            return .archive(path: source.url.path)
        default:
            throw PurchaseError(.contentFetchFailed, "\(source.url.path) is neither an archive nor a folder (URL).")
        }
    }
}
