import Primitives
import StoreModel

/// The streams of a connection besides its updates: storefronts, messages and promoted purchases. Storefronts and
/// messages are sent only when they change. Each promoted purchase is sent once, to one reader.
package final class StoreStreams: Sendable {
    package let promotedPurchases: AsyncStream<PromotedPurchase>
    private let promotions: AsyncStream<PromotedPurchase>.Continuation
    private let last = Locked<(storefront: Storefront?, messages: [StoreMessage]?)>((nil, nil))
    private let storefrontChanges = Broadcast<Storefront>(replaysLast: true)
    private let messageChanges = Broadcast<[StoreMessage]>(replaysLast: true)

    package init() {
        (promotedPurchases, promotions) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(100))
    }

    package var storefronts: AsyncStream<Storefront> { storefrontChanges.stream() }
    package var messages: AsyncStream<[StoreMessage]> { messageChanges.stream(keeping: 1) }

    /// Sends the storefront if it has changed. Call it from one task at a time.
    package func send(_ storefront: Storefront) {
        let isChanged = last.withLock { last in
            defer { last.storefront = storefront }
            return last.storefront != storefront
        }
        if isChanged { storefrontChanges.send(storefront) }
    }

    /// Sends the messages if they have changed. Call it from one task at a time.
    package func send(_ messages: [StoreMessage]) {
        let isChanged = last.withLock { last in
            defer { last.messages = messages }
            return last.messages != messages
        }
        if isChanged { messageChanges.send(messages) }
    }

    package func send(_ promoted: PromotedPurchase) { promotions.yield(promoted) }

    package func finish() {
        promotions.finish()
        storefrontChanges.finish()
        messageChanges.finish()
    }
}
