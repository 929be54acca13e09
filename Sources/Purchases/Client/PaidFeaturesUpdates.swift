import Primitives

/// What the user paid for, as it changes: the current value first, if one is known, then every newer one. A slow reader
/// skips values and always gets the latest. Any number may read; each has its own place.
///
///     for await features in client.paidFeaturesUpdates { show(features) }
///
/// It ends with the client, or when the reading task is cancelled.
public struct PaidFeaturesUpdates: AsyncSequence, Sendable {
    public typealias Element = PaidFeatures
    public typealias Failure = Never

    private let source: PaidFeaturesSource

    init(_ source: PaidFeaturesSource) { self.source = source }

    public func makeAsyncIterator() -> Iterator { Iterator(source: source, signals: source.signals()) }

    public struct Iterator: AsyncIteratorProtocol {
        private let source: PaidFeaturesSource
        private var signals: AsyncStream<Void>.Iterator
        private var seen = 0

        fileprivate init(source: PaidFeaturesSource, signals: AsyncStream<Void>) {
            self.source = source
            self.signals = signals.makeAsyncIterator()
        }

        public mutating func next() async -> PaidFeatures? { await next(isolation: nil) }

        public mutating func next(isolation actor: isolated (any Actor)?) async -> PaidFeatures? {
            while !Task.isCancelled {
                if let latest = source.latest, latest.number > seen {
                    seen = latest.number
                    return latest.features
                }
                guard await signals.next(isolation: actor) != nil else { return nil }
            }
            return nil
        }
    }
}

/// Holds the latest paid features and wakes who waits for the next. Readers look the value up themselves, so that two
/// writers cannot leave them with the older one.
final class PaidFeaturesSource: Sendable {
    private struct State {
        var latest: PurchaseSession.Revision?
        var waiting: [Int: AsyncStream<Void>.Continuation] = [:]
        var readers = 0
        var isFinished = false
    }

    private let state = Locked(State())

    var latest: PurchaseSession.Revision? { state.withLock { $0.latest } }

    func update(_ revision: PurchaseSession.Revision) {
        let waiting = state.withLock { state -> [AsyncStream<Void>.Continuation] in
            guard revision.number > state.latest?.number ?? 0, revision.features != state.latest?.features else {
                return []
            }
            state.latest = revision
            return Array(state.waiting.values)
        }
        for continuation in waiting { continuation.yield() }
    }

    func finish() {
        let waiting = state.withLock { state in
            state.isFinished = true
            return Array(state.waiting.values)
        }
        for continuation in waiting { continuation.finish() }
    }

    fileprivate func signals() -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let reader = state.withLock { state -> Int? in
            guard !state.isFinished else { return nil }
            state.readers += 1
            state.waiting[state.readers] = continuation
            return state.readers
        }
        guard let reader else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { _ = $0.waiting.removeValue(forKey: reader) }
        }
        return stream
    }
}
