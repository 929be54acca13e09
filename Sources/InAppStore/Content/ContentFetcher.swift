import Primitives
import StoreModel

/// A way to fetch content, chosen by the `type` in a product's `contentFetcherParameters`. An app may bring its own.
public protocol ContentFetcher: Sendable {
    /// The texts of `type` that choose it.
    var types: Set<String> { get }
    /// Whether all it brings are archives: where nothing unpacks them it is not asked. `false` by default.
    var bringsArchivesOnly: Bool { get }
    /// Throws `PurchaseError` `invalidContentFetcherParameters` naming the member that is missing or wrong. Nothing is fetched.
    func check(_ parameters: JSONObject) throws
    /// Fetches everything, or throws. `progress` is told what has arrived, what earlier attempts brought included, without
    /// a location; a cancelled task ends it, and what has arrived may be left in the order's folder.
    func fetch(
        _ order: ContentOrder, progress: @escaping @Sendable (ContentProgress) -> Void
    ) async throws -> FetchedContent
    /// What was brought for an order has been copied to its place or unpacked there, or was not accepted: it may go.
    func release(_ order: ContentOrder) async
}

extension ContentFetcher {
    /// Nothing: what is in the order's folder is removed by whoever gave the order.
    public func release(_ order: ContentOrder) async {}
}

extension ContentFetcher {
    public var bringsArchivesOnly: Bool { false }
}

/// What a fetcher is to fetch.
public struct ContentOrder: Sendable, Equatable {
    public var productID: ProductID
    /// The product's `contentFetcherParameters`, checked.
    public var parameters: JSONObject
    /// A folder of this product's alone. It is kept between attempts and launches, so that one that broke off can be
    /// resumed, and emptied when the content is in place.
    public var workFolder: String

    public init(productID: ProductID, parameters: JSONObject, workFolder: String) {
        self.productID = productID
        self.parameters = parameters
        self.workFolder = workFolder
    }
}

/// What a fetcher brought. Closed: content is unpacked or put in place as it is.
public enum FetchedContent: Sendable, Equatable {
    /// An archive, to be extracted by the app's `ArchiveExtractor`.
    case archive(path: String)
    /// A folder to be copied.
    case folder(path: String)
}
