import Foundation
import Primitives

/// The requests of a plugin to the app. The client passes them on to the readers of its streams.
///
///     final class WebShopPlugin: PurchasePlugin {
///         let appRequests: AppRequests? = AppRequests()
///         func cancelSubscription(with token: CancellationToken) async -> PurchasePluginResult<Void, any Error> {
///             await PurchasePluginResult { try await appRequests?.open(pageOfConfirmation) }
///         }
///     }
///
/// Each plugin needs its own instance, for one client.
public final class AppRequests: Sendable {
    enum Request: Sendable {
        case open(URLToOpen)
        case offer(Product, @Sendable () async -> PurchasePluginResult<SuccessfulPurchase, any Error>)
        case invalidateCaches
    }

    private let requests: AsyncStream<Request>
    private let continuation: AsyncStream<Request>.Continuation
    private let waiting = Locked(Waiting())

    /// The number of current waits for the app, and the number of all waits.
    struct Waiting: Equatable {
        var now = 0
        var everBegun = 0
    }

    /// Creates the requests of a plugin.
    public init() {
        (requests, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(100))
    }

    deinit { continuation.finish() }

    /// Shows a page in the app and returns when the customer has finished with it. The plugin's deadline is suspended
    /// meanwhile.
    ///
    /// - Parameter url: The address of the page.
    /// - Throws: The error of the app, `PurchaseError` with the code `unsupported` when the app opens no pages, or
    ///   `CancellationError`.
    public func open(_ url: URL) async throws {
        waiting.withLock { waiting in
            waiting.now += 1
            waiting.everBegun += 1
        }
        defer { waiting.withLock { $0.now -= 1 } }
        let answer = Promise<Void>()
        continuation.yield(.open(URLToOpen(url: url, answer: answer)))
        try await answer.valueUnlessCancelled()
    }

    /// Reports that the customer wants to buy a product, which they selected outside the app.
    ///
    /// - Parameters:
    ///   - product: The product that the customer selected.
    ///   - purchase: The function that buys it. It is called at most once, when the app allows it.
    public func offer(
        _ product: Product,
        purchase: @escaping @Sendable () async -> PurchasePluginResult<SuccessfulPurchase, any Error>
    ) {
        continuation.yield(.offer(product, purchase))
    }

    /// Clears the caches of all plugins, after a purchase or cancellation that they do not see.
    public func invalidateCaches() { continuation.yield(.invalidateCaches) }

    /// The requests, for one client.
    var stream: AsyncStream<Request> { requests }

    var waitingForApp: Waiting { waiting.withLock { $0 } }
}

/// A page that a plugin must show to the customer. Its first outcome counts: the one that the app reports, or
/// `unsupported` if the app releases this object without a report.
public final class URLToOpen: Sendable {
    /// The address of the page.
    public let url: URL
    private let answer: Promise<Void>

    init(url: URL, answer: Promise<Void>) {
        self.url = url
        self.answer = answer
    }

    deinit {
        answer.resolve(
            .failure(PurchaseError(.unsupported, "The app did not open the page; listen to the client's urlsToOpen.")))
    }

    /// Reports that the customer has finished with the page.
    public func opened() { answer.resolve(.success(())) }

    /// Reports that the page could not be opened, because of `error`.
    public func failed(_ error: any Error) { answer.resolve(.failure(error)) }
}

/// A purchase that the customer began outside the app, such as on the product page of a store.
public final class PromotedPurchaseRequest: Sendable {
    /// The product to buy.
    public let product: Product
    private let answer: Locked<Task<SuccessfulPurchase, any Error>?> = Locked(nil)
    private let perform: @Sendable () async throws -> SuccessfulPurchase

    init(product: Product, perform: @escaping @Sendable () async throws -> SuccessfulPurchase) {
        self.product = product
        self.perform = perform
    }

    /// Buys the product, at once or after the app has shown other screens.
    ///
    /// Without a call nothing is bought. Repeated calls do not buy the product again; they return the same result. The
    /// cancellation of a caller does not cancel the purchase.
    ///
    /// - Returns: The purchase and the paid features.
    /// - Throws: The error of the plugin.
    public func purchase() async throws -> SuccessfulPurchase {
        let answer = answer.withLock { answer in
            if let answer { return answer }
            let begun = Task { [perform] in try await perform() }
            answer = begun
            return begun
        }
        return try await answer.value
    }
}
