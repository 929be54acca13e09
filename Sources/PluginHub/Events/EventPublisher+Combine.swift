import Primitives

#if canImport(Combine)
    import Combine

    extension EventPublisher {
        /// The same outputs for code written with Combine. Each subscriber gets what it demands; what comes before it
        /// demands more waits.
        public var anyPublisher: AnyPublisher<EventOutput, Never> { AnyPublisher(CombineEvents(events: self)) }
    }

    private struct CombineEvents: Publisher {
        typealias Output = EventOutput
        typealias Failure = Never

        let events: EventPublisher

        func receive<Downstream: Subscriber>(subscriber: Downstream)
        where Downstream.Input == EventOutput, Downstream.Failure == Never {
            let reader = CombineSubscription.Reader(
                receive: { subscriber.receive($0) }, finish: { subscriber.receive(completion: .finished) })
            subscriber.receive(subscription: CombineSubscription(events, reader))
        }
    }

    // Sendable: the reader, which Combine does not promise to be, is called by whoever `DemandQueue` lets deliver, one at
    // a time, and set to `nil` under the lock only.
    private final class CombineSubscription: Subscription, @unchecked Sendable {
        struct Reader {
            let receive: (EventOutput) -> Subscribers.Demand
            let finish: () -> Void
        }

        private struct State {
            var queue = DemandQueue<EventOutput>()
            var reader: Reader?
            var upstream: EventSubscription?
            var hasBegun = false
        }

        private let events: EventPublisher
        private let state: Locked<State>

        init(_ events: EventPublisher, _ reader: Reader) {
            self.events = events
            nonisolated(unsafe) let reader = reader
            state = Locked(State(reader: reader))
        }

        func request(_ demand: Subscribers.Demand) {
            let begins = state.withLock { state in
                state.queue.demand(demand.max)
                let begins = !state.hasBegun
                state.hasBegun = true
                return begins
            }
            if begins { begin() }
            deliver()
        }

        private func begin() {
            let upstream = events.sink(finished: { [weak self] in
                self?.state.withLock { $0.queue.finish() }
                self?.deliver()
            }) { [weak self] output in
                self?.state.withLock { $0.queue.append(output) }
                self?.deliver()
            }
            let isCancelled = state.withLock { state in
                if state.reader != nil { state.upstream = upstream }
                return state.reader == nil
            }
            if isCancelled { upstream.cancel() }
        }

        func cancel() {
            let old = state.withLock { state in
                nonisolated(unsafe) let old = (state.reader, state.upstream)
                state.reader = nil
                state.upstream = nil
                return old
            }
            old.1?.cancel()
        }

        private func deliver() {
            while true {
                nonisolated(unsafe) let (step, reader) = state.withLock { state in
                    nonisolated(unsafe) let found = (state.queue.next(), state.reader)
                    return found
                }
                guard let step, let reader else { return }
                switch step {
                case .element(let output):
                    let more = reader.receive(output)
                    state.withLock { $0.queue.delivered(demanding: more.max) }
                case .finished:
                    reader.finish()
                    state.withLock { $0.queue.delivered(demanding: 0) }
                    cancel()
                }
            }
        }
    }
#endif

/// What is sent to a reader that says how much it wants: who delivers next and what, without doing it.
struct DemandQueue<Element> {
    enum Step { case element(Element), finished }

    private var elements: [Element] = []
    /// How many more are wanted; `nil` for any number.
    private var wanted: Int? = 0
    private var isDelivering = false
    private var isFinished = false
    private var hasToldFinish = false

    mutating func append(_ element: Element) { elements.append(element) }

    mutating func finish() { isFinished = true }

    /// `nil` demands everything.
    mutating func demand(_ count: Int?) {
        guard let present = wanted else { return }
        wanted = count.map { present + $0 }
    }

    /// What the caller is to deliver now, and then say `delivered`; `nil` if there is nothing, or another is at it.
    mutating func next() -> Step? {
        guard !isDelivering else { return nil }
        if let element = elements.first, wanted != 0 {
            elements.removeFirst()
            wanted = wanted.map { $0 - 1 }
            isDelivering = true
            return .element(element)
        }
        guard isFinished, elements.isEmpty, !hasToldFinish else { return nil }
        hasToldFinish = true
        isDelivering = true
        return .finished
    }

    mutating func delivered(demanding count: Int?) {
        isDelivering = false
        demand(count)
    }
}
