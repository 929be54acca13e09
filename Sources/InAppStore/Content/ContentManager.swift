import Primitives
import StoreModel

/// Manages the content of products on the device: fetches, finds and removes it.
public protocol ContentManager: Sendable {
    /// The products whose content is completely on the device, including content that earlier runs fetched.
    var downloaded: Set<ProductID> { get }
    /// The sets of products whose content is on the device: the current set first, then each change. A set is sent
    /// after `downloaded` has changed. Each access returns a new stream.
    var changes: AsyncStream<Set<ProductID>> { get }
    /// Returns the folder of the content of `product`, or `nil` while it is incomplete.
    func location(of product: ProductID) -> String?
    /// Fetches the content of a product. Callers that request the same product at the same time share one fetch, which
    /// is cancelled when the last of them stops listening. The last progress contains the folder of the content. If the
    /// device already has content that was fetched with the same parameters, the stream sends only this last progress.
    ///
    /// - Parameters:
    ///   - product: The product whose content to fetch.
    ///   - parameters: The product's `contentFetcherParameters`.
    /// - Returns: The progress. The stream throws `PurchaseError`. A failed fetch leaves the earlier content in place.
    func fetch(
        _ product: ProductID, parameters: JSONObject
    ) -> AsyncThrowingStream<ContentProgress, any Error>
    /// Removes the content of `product`, and the data of an incomplete fetch. Does nothing if there is none.
    ///
    /// - Parameter product: The product whose content to remove.
    /// - Throws: `PurchaseError`.
    func delete(_ product: ProductID) async throws
    /// Stops the running fetches. The next run can continue them.
    func close() async
}

/// The progress of a download of a product's content, in bytes.
public struct ContentProgress: Sendable, Equatable {
    /// The number of received bytes.
    public var received: Int64
    /// The total number of bytes; `nil` while it is unknown.
    public var total: Int64?
    /// The folder of the complete content; `nil` during the fetch, and for a product without content.
    public var location: String?

    /// Whether nothing is left to fetch.
    public var isComplete: Bool { location != nil || self == .nothing }

    /// The progress of a product that has no content.
    public static let nothing = ContentProgress(received: 0, total: 0)

    /// Creates a progress.
    ///
    /// - Parameters:
    ///   - received: The number of received bytes.
    ///   - total: The total number of bytes; `nil` if it is unknown.
    ///   - location: The folder of the complete content.
    public init(received: Int64, total: Int64? = nil, location: String? = nil) {
        self.received = received
        self.total = total
        self.location = location
    }
}
