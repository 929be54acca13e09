import Primitives

/// An observer of a broadcast.
struct Observer<Element: Sendable>: Sendable {
    let receive: @Sendable (Element) -> Void
    let finish: @Sendable () -> Void

    /// Returns the same observer with another `finish`.
    ///
    /// The function is a member of the generic type for speed: at a place where the element type is concrete, Swift
    /// would wrap the closure `receive` again, and each call would be slower.
    func finishing(_ finish: @escaping @Sendable () -> Void) -> Observer { Observer(receive: receive, finish: finish) }

    /// Returns the same observer. While `trace` has readers, `note` receives each element with the closure that
    /// delivers it.
    func noting(
        in trace: TraceReaders, _ note: @escaping @Sendable (Element, () -> Void) -> Void
    ) -> Observer {
        let receive = receive
        return Observer(
            receive: { element in
                guard !trace.isEmpty else { return receive(element) }
                note(element) { receive(element) }
            }, finish: finish)
    }
}

/// Sends each element to all observers, one element at a time, in the order of `send`.
///
/// An element goes to the observers that are attached when `send` is called. An element that is sent during a delivery,
/// by a callback or by another thread, is queued, and the delivering thread delivers it. So callbacks are never nested
/// or concurrent, and every observer sees the same order. No lock is held during a callback.
final class OrderedBroadcast<Element: Sendable>: Sendable {
    private let state: Locked<State>

    private final class Entry: Sendable {
        let observer: Observer<Element>
        let cancellation = OneWayFlag()

        init(_ observer: Observer<Element>) { self.observer = observer }
    }

    private enum Item: Sendable {
        case element(Element)
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
        var latest: Element?

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

    /// Creates a broadcast. With `keepsLatest`, a new observer first receives the most recent element, or `latest` if
    /// no element was sent yet.
    init(keepsLatest: Bool = false, latest: Element? = nil) {
        state = Locked(State(keepsLatest: keepsLatest, latest: latest))
    }

    var isObserved: Bool { state.withLock { !$0.entries.isEmpty } }

    func send(_ element: Element) {
        let depth = CallDepth.current
        // The old element is released outside of the lock.
        let (delivery, replaced): (Delivery?, Element?) = state.withLock { state in
            guard !state.isFinished else { return (nil, nil) }
            var replaced: Element?
            if state.keepsLatest {
                replaced = state.latest
                state.latest = element
            }
            guard !state.entries.isEmpty else { return (nil, replaced) }
            let delivery = Delivery(item: .element(element), entries: state.entries, depth: depth)
            return (state.admit(delivery), replaced)
        }
        if let delivery { deliver(delivery) }
        withExtendedLifetime(replaced) {}
    }

    /// Notifies the observers of the end. Later elements are ignored.
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
    func attach(_ observer: Observer<Element>) -> @Sendable () -> Void {
        let entry = Entry(observer)
        let depth = CallDepth.current
        let delivery: Delivery? = state.withLock { state in
            if state.isFinished { return state.admit(Delivery(item: .finish, entries: [entry], depth: depth)) }
            state.entries.append(entry)
            guard let latest = state.latest else { return nil }
            return state.admit(Delivery(item: .element(latest), entries: [entry], depth: depth))
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
        case .element(let element): forEachObserver(of: delivery.entries) { $0.receive(element) }
        case .finish: forEachObserver(of: delivery.entries) { $0.finish() }
        }
    }

    /// Calls `body` for the observers that are not cancelled. `entries` keeps them alive, so the loop does not retain
    /// and release each one. With a hundred observers, that took two thirds of the time.
    private func forEachObserver(of entries: [Entry], _ body: (borrowing Observer<Element>) -> Void) {
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
