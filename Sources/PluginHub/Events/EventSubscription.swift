import Primitives

/// Keeps a `sink` active, and cancels it when the subscription is released.
///
/// After `cancel()` the callback is not called again, not even for outputs that were sent before. A call that is in
/// progress on another thread continues to its end. `cancel()` may be called again, and also inside the callback.
public final class EventSubscription: Sendable {
    private let ending: Locked<(@Sendable () -> Void)?>

    /// Creates a subscription.
    ///
    /// - Parameter onCancel: A function that is called once, when the subscription is cancelled or released.
    public init(onCancel: @escaping @Sendable () -> Void = {}) { ending = Locked(onCancel) }

    deinit { cancel() }

    /// Ends the subscription.
    public func cancel() {
        let ending = ending.withLock { ending in
            let present = ending
            ending = nil
            return present
        }
        ending?()
    }
}
