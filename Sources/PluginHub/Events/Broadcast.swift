import Primitives

/// Who listens to a broadcast.
struct Observer<Element: Sendable>: Sendable {
    let receive: @Sendable (Element) -> Void
    let finish: @Sendable () -> Void

    /// The same observer with another end. Here, where the element's type is not known, so that `receive` is handed on
    /// as it is: taken out where the type is known, it would be wrapped twice, and each call would pay for that.
    func finishing(_ finish: @escaping @Sendable () -> Void) -> Observer { Observer(receive: receive, finish: finish) }

    /// The same observer. While `trace` has readers, `note` gets each element together with what hands it on.
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

/// Sends each element to all observers, one element at a time, in the order sent.
///
/// An element goes to those who observe when it is *sent*. One that is sent while another is being delivered, by a
/// callback or by another thread, waits its turn and is delivered by whoever is delivering; so callbacks are never
/// nested or concurrent, and every observer sees the same order. No lock is held during a callback.
final class Broadcast<Element: Sendable>: Sendable {
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

        /// `delivery` if the caller is to deliver it now; `nil` if it waits for whoever is delivering.
        mutating func admit(_ delivery: Delivery) -> Delivery? {
            if isDelivering {
                waiting.append(delivery)
                return nil
            }
            isDelivering = true
            return delivery
        }

        /// What came in meanwhile; `nil` when nothing did, and the delivering is over.
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

    /// - Parameter latest: given, a new observer first receives the element sent last, or this one before any was.
    init(keepsLatest: Bool = false, latest: Element? = nil) {
        state = Locked(State(keepsLatest: keepsLatest, latest: latest))
    }

    var isObserved: Bool { state.withLock { !$0.entries.isEmpty } }

    func send(_ element: Element) {
        let depth = CallDepth.current
        // What is replaced is given out of the lock, so that nothing is released under it.
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

    /// Tells the observers that nothing more comes; whatever is sent later is ignored.
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

    /// Cancel with the returned closure; until then it keeps the observer.
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
        // A callback counts as called by whoever sent, even when another thread delivers.
        CallDepth.current = delivery.depth
        switch delivery.item {
        case .element(let element): forEachObserver(of: delivery.entries) { $0.receive(element) }
        case .finish: forEachObserver(of: delivery.entries) { $0.finish() }
        }
    }

    /// Calls those that are not cancelled. `entries` keeps them alive meanwhile, so they are looked at without being
    /// retained and released one by one: with a hundred observers that was two thirds of the time.
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
