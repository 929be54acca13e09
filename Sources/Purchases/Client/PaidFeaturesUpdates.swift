import Primitives

/// Tells every reader what the user paid for, whenever it is not what they were told last.
final class PaidFeaturesUpdates: Sendable {
    private let broadcast = Broadcast<PaidFeatures>(replaysLast: true)
    private let told = Locked<PurchaseSession.Revision?>(nil)

    /// The latest value first, if there is one. A slow reader skips values and always gets the latest.
    func stream() -> AsyncStream<PaidFeatures> { broadcast.stream(keeping: 1) }

    func tell(_ revision: PurchaseSession.Revision) {
        told.withLock { told in
            guard revision.number > told?.number ?? 0, revision.features != told?.features else { return }
            told = revision
            // Under the lock, so that an older revision cannot overtake; the broadcast is a leaf that calls nobody.
            broadcast.send(revision.features)
        }
    }

    /// That a new user has nothing yet is news only to those who saw the former user's features.
    func tellChangedUser(_ revision: PurchaseSession.Revision) {
        guard !revision.features.features.isEmpty || told.withLock({ $0 != nil }) else { return }
        tell(revision)
    }

    func finish() { broadcast.finish() }
}
