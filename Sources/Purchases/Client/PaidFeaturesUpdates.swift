import Primitives

/// Sends each change of the user's paid features to all readers.
final class PaidFeaturesUpdates: Sendable {
    private let broadcast = Broadcast<PaidFeatures>(replaysLast: true)
    private let last = Locked<PurchaseSession.Revision?>(nil)

    /// Returns a stream that begins with the latest value, if there is one. A slow reader skips values, but always gets
    /// the latest.
    func stream() -> AsyncStream<PaidFeatures> { broadcast.stream(keeping: 1) }

    func send(_ revision: PurchaseSession.Revision) {
        last.withLock { last in
            guard revision.number > last?.number ?? 0, revision.features != last?.features else { return }
            last = revision
            // Sends under the lock, so that revisions keep their order. The broadcast calls no other code.
            broadcast.send(revision.features)
        }
    }

    /// Sends the features of a new user. An empty value is sent only if another value was sent before.
    func sendUserChange(_ revision: PurchaseSession.Revision) {
        guard !revision.features.features.isEmpty || last.withLock({ $0 != nil }) else { return }
        send(revision)
    }

    func finish() { broadcast.finish() }
}
