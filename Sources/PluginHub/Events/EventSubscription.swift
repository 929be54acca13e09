import Primitives

/// Keeps a `sink` alive. Cancels when released.
///
/// After `cancel()` the callback does not begin again, not even for outputs that were sent before; a call that another
/// thread is just making ends on its own. Cancelling twice, or from within the callback, is fine.
public final class EventSubscription: Sendable {
    private let ending: Locked<(@Sendable () -> Void)?>

    /// A subscription that runs `onCancel` once, when it is cancelled or released.
    public init(onCancel: @escaping @Sendable () -> Void = {}) { ending = Locked(onCancel) }

    deinit { cancel() }

    public func cancel() {
        let ending = ending.withLock { ending in
            let present = ending
            ending = nil
            return present
        }
        ending?()
    }
}
