import Primitives

/// One decision of the hub, or one event that passed it: who wanted what, and the outcome. Payloads are not in it.
///
/// An event has two kinds of entries. When a plugin asks for it, `sender` is the subscriber, `receivers` are the
/// publishers, and `verdict` is `subscribed`. Each output that follows is an entry for each subscriber: `sender` is the
/// publisher, `receivers` is the subscriber, and `verdict` is `delivered`.
public struct TraceEntry: Sendable {
    public enum Verdict: String, Sendable, Codable {
        /// Allowed, and the receiver accepted it. For an event: an output reached a subscriber.
        case delivered
        /// Allowed, and the sender is subscribed to the event from now on.
        case subscribed
        /// The hub said no; `reason` says why.
        case refused
        /// Allowed, but the receiver threw; `reason` says what.
        case failed
    }

    public let kind: MessageKind
    /// Of an event that was delivered, with the correlation id of the output.
    public let message: Message
    /// The plugin whose sender was used, or that published; `nil` for one that does not run.
    public let sender: String?
    /// The plugins that were called, or that received.
    public let receivers: [String]
    public let verdict: Verdict
    public let reason: PluginError?
    /// When it began, by `Hub.Configuration.elapsed`.
    public let began: Duration
    /// How long checking and handling took.
    public let duration: Duration
    /// Whether it is a query or view query that took longer than `Hub.Configuration.queryBudget`.
    public let isOverBudget: Bool

    public init(
        kind: MessageKind, message: Message, sender: String?, receivers: [String], verdict: Verdict,
        reason: PluginError?, began: Duration, duration: Duration, isOverBudget: Bool = false
    ) {
        self.kind = kind
        self.message = message
        self.sender = sender
        self.receivers = receivers
        self.verdict = verdict
        self.reason = reason
        self.began = began
        self.duration = duration
        self.isOverBudget = isOverBudget
    }
}

/// The hub's decisions as they are made. Nothing is recorded while nobody reads.
///
///     for await entry in hub.trace { print(entry.sender ?? "?", entry.message, entry.verdict) }
///
/// Reading does not slow the callers down: what does not fit the buffer is dropped and counted. The entry of a call is in
/// the buffer when the call returns or throws. A reader that itself sends messages through the hub sees those too.
public struct HubTrace: AsyncSequence, Sendable {
    public typealias Element = TraceEntry
    public typealias Failure = Never
    public typealias AsyncIterator = BufferedSequence<TraceEntry>.AsyncIterator

    let subscribe: @Sendable (Observer<TraceEntry>) -> EventSubscription

    /// Starts to record now. `droppedCount` of what is returned says how many entries did not fit.
    public func values(_ buffering: Buffering = .newest(1024)) -> BufferedSequence<TraceEntry> {
        BufferedSequence(buffering, subscribe: subscribe)
    }

    public func makeAsyncIterator() -> AsyncIterator { values().makeAsyncIterator() }
}

/// The buffers of those who read the trace.
///
/// Not a `Broadcast`: there a thread may leave its element to another thread that is delivering, and a reader that cancels
/// then misses what was sent before. Buffers call nothing back, so each thread fills them itself.
final class TraceReaders: Sendable {
    private struct State: Sendable {
        var readers: [UInt64: Observer<TraceEntry>] = [:]
        var next: UInt64 = 0
        var isFinished = false
    }

    private let state = Locked(State())
    private let wasRead = OneWayFlag()

    /// Whether the trace is read now. Most hubs are never traced, so that a flag answers before the lock.
    var isEmpty: Bool { !wasRead.isSet || state.withLock(\.readers.isEmpty) }

    /// Fills every buffer before it returns.
    func send(_ entry: TraceEntry) {
        for reader in state.withLock({ $0.readers }).values { reader.receive(entry) }
    }

    /// Ends every reader, and later ones at once.
    func finish() {
        let readers = state.withLock { state in
            state.isFinished = true
            defer { state.readers = [:] }
            return state.readers
        }
        for reader in readers.values { reader.finish() }
    }

    /// Detach with the returned closure.
    func attach(_ reader: Observer<TraceEntry>) -> @Sendable () -> Void {
        wasRead.set()
        let number: UInt64? = state.withLock { state in
            guard !state.isFinished else { return nil }
            state.next += 1
            state.readers[state.next] = reader
            return state.next
        }
        guard let number else {
            reader.finish()
            return {}
        }
        return { [self] in
            // Released out of the lock.
            let left = state.withLock { $0.readers.removeValue(forKey: number) }
            withExtendedLifetime(left) {}
        }
    }
}
