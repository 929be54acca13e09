import Primitives

/// An observer of an event.
///
/// It is not generic, for speed: closures of a generic type are wrapped twice, and each call would be slower.
struct EventObserver: Sendable {
    let receive: @Sendable (EventOutput) -> Void
    let finish: @Sendable () -> Void

    /// Returns the same observer with another `finish`.
    func finishing(_ finish: @escaping @Sendable () -> Void) -> EventObserver {
        EventObserver(receive: receive, finish: finish)
    }

    /// Returns the same observer. While `trace` has readers, `note` receives each output with the closure that delivers
    /// it.
    func noting(
        in trace: TraceReaders, _ note: @escaping @Sendable (EventOutput, () -> Void) -> Void
    ) -> EventObserver {
        let receive = receive
        return EventObserver(
            receive: { output in
                guard !trace.isEmpty else { return receive(output) }
                note(output) { receive(output) }
            }, finish: finish)
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
        let observer: EventObserver
        let cancellation = OneWayFlag()

        init(_ observer: EventObserver) { self.observer = observer }
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

    private func deliver(_ first: Delivery) {
        let outer = CallDepth.current
        perform(first)
        while let batch = state.withLock({ $0.next() }) {
            for delivery in batch { perform(delivery) }
        }
        CallDepth.current = outer
    }

    private func perform(_ delivery: Delivery) {
        // The call depth of the sender counts, even if another thread delivers.
        CallDepth.current = delivery.depth
        switch delivery.item {
        case .output(let output): forEachObserver(of: delivery.entries) { $0.receive(output) }
        case .finish: forEachObserver(of: delivery.entries) { $0.finish() }
        }
    }

    /// Calls `body` for the observers that are not cancelled. `entries` keeps them alive, so the loop does not retain
    /// and release each one. With a hundred observers, that took two thirds of the time.
    private func forEachObserver(of entries: [Entry], _ body: (borrowing EventObserver) -> Void) {
        entries.withUnsafeBufferPointer { entries in
            entries.withMemoryRebound(to: Unmanaged<Entry>.self) { entries in
                for entry in entries {
                    entry._withUnsafeGuaranteedRef { entry in
                        if !entry.cancellation.isSet { body(entry.observer) }
                    }
                }
            }
        }
    }
}
