import Primitives
import StoreModel

/// The streams of a connection besides its updates: storefronts, messages and promoted purchases. Storefronts and
/// messages are sent only when they change. Each promoted purchase is sent once, to one reader.
package final class StoreNotices: Sendable {
    package let promotedPurchases: AsyncStream<PromotedPurchase>
    private let promotions: AsyncStream<PromotedPurchase>.Continuation
    private let known = Locked<(storefront: Storefront?, messages: [StoreMessage]?)>((nil, nil))
    private let storefrontChanges = Broadcast<Storefront>(replaysLast: true)
    private let messageChanges = Broadcast<[StoreMessage]>(replaysLast: true)

    package init() {
        (promotedPurchases, promotions) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(100))
    }

    package var storefronts: AsyncStream<Storefront> { storefrontChanges.stream() }
    package var messages: AsyncStream<[StoreMessage]> { messageChanges.stream(keeping: 1) }

    /// Sends the storefront if it has changed. Call it from one task at a time.
    package func tell(_ storefront: Storefront) {
        let isNews = known.withLock { known in
            defer { known.storefront = storefront }
            return known.storefront != storefront
        }
        if isNews { storefrontChanges.send(storefront) }
    }

    /// Sends the messages if they have changed. Call it from one task at a time.
    package func tell(_ messages: [StoreMessage]) {
        let isNews = known.withLock { known in
            defer { known.messages = messages }
            return known.messages != messages
        }
        if isNews { messageChanges.send(messages) }
    }

    package func tell(_ promoted: PromotedPurchase) { promotions.yield(promoted) }

    package func finish() {
        promotions.finish()
        storefrontChanges.finish()
        messageChanges.finish()
    }
}
