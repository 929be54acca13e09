import Primitives
import StoreModel

/// A way to fetch content, selected by the `type` in a product's `contentFetcherParameters`. An app can add its own.
public protocol ContentFetcher: Sendable {
    /// The values of `type` that select this fetcher.
    var types: Set<String> { get }
    /// Whether the fetcher returns only archives. A store without an archive extractor does not use such a fetcher.
    /// `false` by default.
    var bringsArchivesOnly: Bool { get }
    /// Checks the parameters of a product, without fetching anything.
    ///
    /// - Parameter parameters: The product's `contentFetcherParameters`.
    /// - Throws: `PurchaseError` with the code `invalidContentFetcherParameters`, which names the missing or invalid
    ///   member.
    func check(_ parameters: JSONObject) throws
    /// Fetches all content of a product. If the task is cancelled, the fetch ends, and received data may stay in the
    /// order's folder.
    ///
    /// - Parameters:
    ///   - order: The product, its parameters and its work folder.
    ///   - progress: Receives the progress, without a location. The progress includes the bytes of earlier attempts.
    /// - Returns: The fetched archive or folder.
    /// - Throws: An error that says why the content was not fetched.
    func fetch(
        _ order: ContentOrder, progress: @escaping @Sendable (ContentProgress) -> Void
    ) async throws -> FetchedContent
    /// Releases the fetched content of `order`. Called when the content is in place, or could not be put in place.
    func release(_ order: ContentOrder) async
}

extension ContentFetcher {
    /// Does nothing. The store removes the order's work folder itself.
    public func release(_ order: ContentOrder) async {}
}

extension ContentFetcher {
    /// `false`: the fetcher may return folders.
    public var bringsArchivesOnly: Bool { false }
}

/// A request to fetch the content of one product.
public struct ContentOrder: Sendable, Equatable {
    /// The product whose content is fetched.
    public var productID: ProductID
    /// The product's `contentFetcherParameters`, after the check.
    public var parameters: JSONObject
    /// A folder for this product and these parameters. It is kept between attempts and launches, so that an interrupted
    /// fetch can continue, and is removed when the content is in place.
    public var workFolder: String

    /// Creates an order.
    ///
    /// - Parameters:
    ///   - productID: The product whose content is fetched.
    ///   - parameters: The product's `contentFetcherParameters`.
    ///   - workFolder: The folder for received data.
    public init(productID: ProductID, parameters: JSONObject, workFolder: String) {
        self.productID = productID
        self.parameters = parameters
        self.workFolder = workFolder
    }
}

/// The result of a fetch. The enum is closed: the store can only unpack an archive or copy a folder.
public enum FetchedContent: Sendable, Equatable {
    /// An archive for the app's `ArchiveExtractor`.
    case archive(path: String)
    /// A folder to copy.
    case folder(path: String)
}
