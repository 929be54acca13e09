/// One decision of the hub: who wanted what, and what became of it. Payloads are not in it.
public struct TraceEntry: Sendable {
    public enum Verdict: String, Sendable, Codable {
        /// Allowed, and the receiver accepted it.
        case delivered
        /// The hub said no; `reason` says why.
        case refused
        /// Allowed, but the receiver threw; `reason` says what.
        case failed
    }

    public let kind: MessageKind
    public let message: Message
    /// The plugin whose sender was used; `nil` for one that does not run.
    public let sender: String?
    /// The plugins that were called.
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
/// Reading does not slow the callers down: what does not fit the buffer is dropped and counted. A reader that itself
/// sends messages through the hub sees those too.
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
