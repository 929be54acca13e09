import Primitives
import StoreModel

/// Keeps the content of products on the device: fetches it, knows what is there, removes it.
public protocol ContentManager: Sendable {
    /// The products whose whole content is on the device, what earlier runs fetched included.
    var downloaded: Set<ProductID> { get }
    /// What is on the device: the current set first, then each that differs from the one before, told once `downloaded` is
    /// so. Each reading of the property is a stream of its own.
    var changes: AsyncStream<Set<ProductID>> { get }
    /// The folder of a product's content, `nil` while it is not all there.
    func location(of product: ProductID) -> String?
    /// Fetches a product's content as its parameters in the product list say. Callers who ask for the same product at the
    /// same time share one fetch, which goes on while one of them listens; the last progress names the content's folder.
    /// Content that is on the device already ends the stream at once.
    ///
    /// Throws `PurchaseError`; what was on the device before stays then.
    func fetch(
        _ product: ProductID, parameters: JSONObject
    ) -> AsyncThrowingStream<ContentProgress, any Error>
    /// Removes a product's content and what was received of it; no error when there is none.
    func delete(_ product: ProductID) async throws
    /// Gives up what is being fetched, to be resumed in the next run.
    func close() async
}

/// How far a download of a product's content has come, in bytes.
public struct ContentProgress: Sendable, Equatable {
    public var received: Int64
    /// `nil` while it is not known.
    public var total: Int64?
    /// The folder of the content, once it is complete; a product without content has none.
    public var location: String?

    /// Nothing is left to fetch.
    public var isComplete: Bool { location != nil || self == .nothing }

    /// Of a product that has no content.
    public static let nothing = ContentProgress(received: 0, total: 0)

    public init(received: Int64, total: Int64? = nil, location: String? = nil) {
        self.received = received
        self.total = total
        self.location = location
    }
}
