import Primitives

/// An observer of an event.
///
/// It is not generic, for speed: closures of a generic type are wrapped twice, and each call would be slower. For the
/// same reason the recording in a trace is not a closure around `receiver`: most hubs are never traced.
struct EventObserver: Sendable {
    /// Records an output in a trace, and calls the closure, which delivers the output.
    typealias Note = @Sendable (EventOutput, () -> Void) -> Void

    fileprivate let receiver: @Sendable (EventOutput) -> Void
    /// The trace in which outputs are recorded; `nil` for none.
    fileprivate let trace: TraceReaders?
    private let note: Note?
    let finish: @Sendable () -> Void

    init(receive: @escaping @Sendable (EventOutput) -> Void, finish: @escaping @Sendable () -> Void) {
        self.init(receive, finish, nil, nil)
    }

    private init(
        _ receiver: @escaping @Sendable (EventOutput) -> Void, _ finish: @escaping @Sendable () -> Void,
        _ trace: TraceReaders?, _ note: Note?
    ) {
        (self.receiver, self.finish, self.trace, self.note) = (receiver, finish, trace, note)
    }

    /// Delivers an output. While the trace has readers, also records the output.
    func receive(_ output: EventOutput) {
        guard let trace, let note, !trace.isEmpty else { return receiver(output) }
        note(output) { receiver(output) }
    }

    /// Returns the same observer with another `finish`.
    func finishing(_ finish: @escaping @Sendable () -> Void) -> EventObserver {
        EventObserver(receiver, finish, trace, note)
    }

    /// Returns the same observer. While `trace` has readers, `note` receives each output with the closure that delivers
    /// it.
    func noting(in trace: TraceReaders, _ note: @escaping Note) -> EventObserver {
        // A plugin may publish an event of another plugin. Then the trace records both subscriptions.
        guard self.trace != nil else { return EventObserver(receiver, finish, trace, note) }
        return EventObserver({ receive($0) }, finish, trace, note)
    }
}

/// Sends each output to all observers, one output at a time, in the order of `send`.
///
/// An output goes to the observers that are attached when `send` is called. An output that is sent during a delivery,
/// by a callback or by another thread, is queued, and the delivering thread delivers it. So callbacks are never nested
/// or concurrent, and every observer sees the same order. No lock is held during a callback.
final class OrderedBroadcast: Sendable {
    private let state: Locked<State>

    private final class Entry: Sendable {
        let cancellation = OneWayFlag()
        /// The trace of `observer`, which keeps it alive. `receive` would retain and release a plain reference.
        private let trace: Unmanaged<TraceReaders>?
        let observer: EventObserver

        init(_ observer: EventObserver) {
            self.observer = observer
            trace = observer.trace.map(Unmanaged.passUnretained)
        }

        @inline(__always) func receive(_ output: EventOutput) {
            if let trace, trace._withUnsafeGuaranteedRef({ $0.wasRead.isSet }) {
                receiveTraced(output)
            } else {
                observer.receiver(output)
            }
        }

        @inline(never) private func receiveTraced(_ output: EventOutput) { observer.receive(output) }
    }

    private enum Item: Sendable {
        case output(EventOutput)
        case finish
    }

    private struct Delivery: Sendable {
        let item: Item
        let entries: [Entry]
        let depth: Int
    }

    private struct State: Sendable {
        var entries: [Entry] = []
        var waiting: [Delivery] = []
        var isDelivering = false
        var isFinished = false
        let keepsLatest: Bool
        var latest: EventOutput?

        /// Returns `delivery` if the caller must deliver it, or `nil` if the delivering thread will.
        mutating func admit(_ delivery: Delivery) -> Delivery? {
            if isDelivering {
                waiting.append(delivery)
                return nil
            }
            isDelivering = true
            return delivery
        }

        /// Returns the deliveries that were queued meanwhile, or `nil` when the delivery ends.
        mutating func next() -> [Delivery]? {
            if waiting.isEmpty {
                isDelivering = false
                return nil
            }
            let batch = waiting
            waiting = []
            return batch
        }
    }

    /// Creates a broadcast. With `keepsLatest`, a new observer first receives the most recent output, or `latest` if
    /// no output was sent yet.
    init(keepsLatest: Bool = false, latest: EventOutput? = nil) {
        state = Locked(State(keepsLatest: keepsLatest, latest: latest))
    }

    var isObserved: Bool { state.withLock { !$0.entries.isEmpty } }

    func send(_ output: EventOutput) {
        let depth = CallDepth.current
        // The old output is released outside of the lock.
        let (delivery, replaced): (Delivery?, EventOutput?) = state.withLock { state in
            guard !state.isFinished else { return (nil, nil) }
            var replaced: EventOutput?
            if state.keepsLatest {
                replaced = state.latest
                state.latest = output
            }
            guard !state.entries.isEmpty else { return (nil, replaced) }
            let delivery = Delivery(item: .output(output), entries: state.entries, depth: depth)
            return (state.admit(delivery), replaced)
        }
        if let delivery { deliver(delivery) }
        withExtendedLifetime(replaced) {}
    }

    /// Notifies the observers of the end. Later outputs are ignored.
    func finish() {
        let depth = CallDepth.current
        let delivery: Delivery? = state.withLock { state in
            guard !state.isFinished else { return nil }
            state.isFinished = true
            let entries = state.entries
            state.entries = []
            return state.admit(Delivery(item: .finish, entries: entries, depth: depth))
        }
        if let delivery { deliver(delivery) }
    }

    /// Adds an observer. The returned closure removes it.
    func attach(_ observer: EventObserver) -> @Sendable () -> Void {
        let entry = Entry(observer)
        let depth = CallDepth.current
        let delivery: Delivery? = state.withLock { state in
            if state.isFinished { return state.admit(Delivery(item: .finish, entries: [entry], depth: depth)) }
            state.entries.append(entry)
            guard let latest = state.latest else { return nil }
            return state.admit(Delivery(item: .output(latest), entries: [entry], depth: depth))
        }
        if let delivery { deliver(delivery) }
        return { [self] in
            entry.cancellation.set()
            let replaced: [Entry] = state.withLock { state in
                let entries = state.entries
                state.entries.removeAll { $0 === entry }
                return entries
            }
            withExtendedLifetime(replaced) {}
        }
    }

    /// Performs a delivery of the current thread, and then those that were queued meanwhile.
    private func deliver(_ first: Delivery) {
        perform(first)
        guard var batch = state.withLock({ $0.next() }) else { return }
        while true {
            for delivery in batch {
                // The call depth of the sender counts, even if another thread delivers.
                CallDepth.current = delivery.depth
                perform(delivery)
            }
            guard let next = state.withLock({ $0.next() }) else { break }
            batch = next
        }
        CallDepth.current = first.depth
    }

    private func perform(_ delivery: Delivery) {
        switch delivery.item {
        case .output(let output): forEachEntry(of: delivery) { $0.receive(output) }
        case .finish: forEachEntry(of: delivery) { $0.observer.finish() }
        }
    }

    /// Calls `body` for the entries that are not cancelled. `delivery` keeps them alive, so the loop does not retain and
    /// release each one. With a hundred observers, that took two thirds of the time.
    private func forEachEntry(of delivery: Delivery, _ body: (Entry) -> Void) {
        delivery.entries.withUnsafeBufferPointer { entries in
            entries.withMemoryRebound(to: Unmanaged<Entry>.self) { entries in
                for entry in entries {
                    entry._withUnsafeGuaranteedRef { entry in
                        if !entry.cancellation.isSet { body(entry) }
                    }
                }
            }
        }
    }
}
