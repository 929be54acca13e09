import Primitives

/// A decision of the hub about a message, or the delivery of an event's output: the plugins, the message and the
/// outcome. It does not contain payloads.
///
/// An event has two kinds of entries. When a plugin subscribes, `sender` is the subscriber, `receivers` are the
/// publishers, and `verdict` is `subscribed`, `refused` or `failed`. Each later output has an entry for each
/// subscriber: `sender` is the publisher, `receivers` is the subscriber, and `verdict` is `delivered`.
public struct TraceEntry: Sendable {
    /// The outcome of a message.
    public enum Verdict: String, Sendable, Codable {
        /// The receiver accepted the message. For an event: an output reached a subscriber.
        case delivered
        /// The sender is subscribed to the event from now on.
        case subscribed
        /// The hub refused the message; see `reason`.
        case refused
        /// The receiver threw an error; see `reason`.
        case failed
    }

    /// The kind of the message.
    public let kind: MessageKind
    /// The message. For a delivered event, it has the correlation id of the output.
    public let message: Message
    /// The plugin that sent or published the message, or that subscribed; `nil` if it has not run yet or was refused.
    public let sender: String?
    /// The plugins that receive or publish the message; for an output, its subscriber. Empty if the hub refused the
    /// message before it found them.
    public let receivers: [String]
    /// The outcome.
    public let verdict: Verdict
    /// The error of a refused or failed message.
    public let reason: PluginError?
    /// The start of the call, by `Hub.Configuration.elapsed`.
    public let began: Duration
    /// The duration of the checks and the call.
    public let duration: Duration
    /// Whether a query or view query took longer than `Hub.Configuration.queryBudget`.
    public let isOverBudget: Bool

    /// Creates an entry.
    ///
    /// - Parameters:
    ///   - kind: The kind of the message.
    ///   - message: The message.
    ///   - sender: The plugin that sent or published the message, or that subscribed.
    ///   - receivers: The plugins that receive or publish the message; for an output, its subscriber.
    ///   - verdict: The outcome.
    ///   - reason: The error of a refused or failed message.
    ///   - began: The start of the call.
    ///   - duration: The duration of the checks and the call.
    ///   - isOverBudget: Whether a query took longer than the budget.
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

/// The decisions of a hub as they happen. The hub records nothing without readers.
///
///     for await entry in hub.trace { print(entry.sender ?? "?", entry.message, entry.verdict) }
///
/// A slow reader does not slow the senders: entries that do not fit in the buffer are dropped and counted. The entry of
/// a call is in the buffer when the call returns or throws. A reader that sends messages through the hub also reads the
/// entries of its own messages.
public struct HubTrace: AsyncSequence, Sendable {
    /// A decision of the hub.
    public typealias Element = TraceEntry
    /// The sequence does not fail.
    public typealias Failure = Never
    /// The iterator of the sequence.
    public typealias AsyncIterator = BufferedSequence<TraceEntry>.AsyncIterator

    let subscribe: @Sendable (Observer<TraceEntry>) -> EventSubscription

    /// Starts to record and returns the entries. `droppedCount` counts the entries that did not fit.
    ///
    /// - Parameter buffering: The buffer for entries that are not read yet.
    /// - Returns: The entries as a sequence.
    public func values(_ buffering: Buffering = .newest(1024)) -> BufferedSequence<TraceEntry> {
        BufferedSequence(buffering, subscribe: subscribe)
    }

    /// Starts to record. Keeps the newest 1024 entries that are not read yet.
    public func makeAsyncIterator() -> AsyncIterator { values().makeAsyncIterator() }
}

/// The buffers of the readers of the trace.
///
/// `OrderedBroadcast` is not suitable: while one thread delivers, another thread queues its element and returns. A
/// reader that cancels before the delivery misses that element. Buffers call no other code, so each thread fills them
/// itself.
final class TraceReaders: Sendable {
    private struct State: Sendable {
        var readers: [UInt64: Observer<TraceEntry>] = [:]
        var next: UInt64 = 0
        var isFinished = false
    }

    private let state = Locked(State())
    /// Whether the trace ever had a reader. Most hubs are never traced, so this flag is checked before the lock.
    let wasRead = OneWayFlag()

    /// Whether the trace has no readers.
    var isEmpty: Bool { !wasRead.isSet || state.withLock(\.readers.isEmpty) }

    /// Adds an entry to every buffer before it returns.
    func send(_ entry: TraceEntry) {
        for reader in state.withLock({ $0.readers }).values { reader.receive(entry) }
    }

    /// Ends all readers. A reader that is attached later ends at once.
    func finish() {
        let readers = state.withLock { state in
            state.isFinished = true
            defer { state.readers = [:] }
            return state.readers
        }
        for reader in readers.values { reader.finish() }
    }

    /// Adds a reader. The returned closure removes it, and releases it outside of the lock.
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
            let left = state.withLock { $0.readers.removeValue(forKey: number) }
            withExtendedLifetime(left) {}
        }
    }
}
