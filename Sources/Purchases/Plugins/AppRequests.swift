import Foundation
import Primitives

/// A plugin's way to the app: it asks here, and the client passes on to whoever listens at the client.
///
///     final class WebShopPlugin: PurchasePlugin {
///         let appRequests: AppRequests? = AppRequests()
///         func cancelSubscription(with token: CancellationToken) async -> PurchasePluginResult<Void, any Error> {
///             await PurchasePluginResult { try await appRequests?.open(pageOfConfirmation) }
///         }
///     }
///
/// One plugin of one client has it.
public final class AppRequests: Sendable {
    enum Request: Sendable {
        case open(URLToOpen)
        case offer(Product, @Sendable () async -> PurchasePluginResult<SuccessfulPurchase, any Error>)
        case invalidateCaches
    }

    private let requests: AsyncStream<Request>
    private let asking: AsyncStream<Request>.Continuation
    private let waiting = Locked(Waiting())

    /// How often the app was waited for.
    struct Waiting: Equatable {
        var now = 0
        var everBegun = 0
    }

    public init() {
        (requests, asking) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(100))
    }

    deinit { asking.finish() }

    /// Has the app show a page and returns when the customer is done with it. The plugin's deadline waits meanwhile.
    ///
    /// Throws what the app says went wrong, `PurchaseError.unsupported` when the app opens no pages, and
    /// `CancellationError`.
    public func open(_ url: URL) async throws {
        waiting.withLock { waiting in
            waiting.now += 1
            waiting.everBegun += 1
        }
        defer { waiting.withLock { $0.now -= 1 } }
        let answer = Promise<Void>()
        asking.yield(.open(URLToOpen(url: url, answer: answer)))
        try await answer.valueUnlessCancelled()
    }

    /// Tells the app that the customer wants to buy `product`, which they said outside of it; `purchase` is called when
    /// the app lets them, at once or later, at most once.
    public func offer(
        _ product: Product,
        purchase: @escaping @Sendable () async -> PurchasePluginResult<SuccessfulPurchase, any Error>
    ) {
        asking.yield(.offer(product, purchase))
    }

    /// Has every plugin forget what it keeps, after something was bought or cancelled in a way that they do not see.
    public func invalidateCaches() { asking.yield(.invalidateCaches) }

    /// For the one client.
    var stream: AsyncStream<Request> { requests }

    var waitingForApp: Waiting { waiting.withLock { $0 } }
}

/// A page that a plugin needs the customer to see. Answered once: by the app, or as not opened when the app lets go of it.
public final class URLToOpen: Sendable {
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

    /// The customer is done with the page.
    public func opened() { answer.resolve(.success(())) }

    /// The page could not be opened.
    public func failed(_ error: any Error) { answer.resolve(.failure(error)) }
}

/// A purchase that the customer began outside the app, such as on the product page of a store.
public final class PromotedPurchaseRequest: Sendable {
    public let product: Product
    private let answer: Locked<Task<SuccessfulPurchase, any Error>?> = Locked(nil)
    private let perform: @Sendable () async throws -> SuccessfulPurchase

    init(product: Product, perform: @escaping @Sendable () async throws -> SuccessfulPurchase) {
        self.product = product
        self.perform = perform
    }

    /// Buys it, now or when the app has shown the customer what it wants to show before. Nothing is bought when it is
    /// never called, and nothing twice when it is called again: all callers get the same answer. It ends by the store's
    /// answer; who no longer waits does not undo it.
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
