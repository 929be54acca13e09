import Primitives

#if canImport(Combine)
    import Combine

    extension EventPublisher {
        /// The same outputs for code written with Combine. Each subscriber gets what it demands; what comes before it
        /// demands more waits.
        public var anyPublisher: AnyPublisher<EventOutput, Never> { AnyPublisher(CombineEvents(events: self)) }

        /// The outputs of a Combine publisher, which is subscribed to anew for each subscription, on whatever thread
        /// subscribes.
        public init(_ publisher: AnyPublisher<EventOutput, Never>) {
            // Combine's types do not say so, but its publishers are subscribed to, and cancelled, from any thread.
            nonisolated(unsafe) let publisher = publisher
            self.init(subscribe: { observer in
                let row = Broadcast<EventOutput>()
                let detach = row.attach(observer)
                nonisolated(unsafe) let source = publisher.sink(
                    receiveCompletion: { _ in row.finish() }, receiveValue: { row.send($0) })
                return EventSubscription {
                    detach()
                    source.cancel()
                }
            })
        }
    }

    extension MessageSending {
        /// As the method that gives an `EventPublisher`, which is the one meant where no type is written:
        ///
        ///     let infos: AnyPublisher<EventOutput, Never> = try hub.publisher(
        ///         forEvent: "info", payload: nil, subscriber: self)
        @_disfavoredOverload
        public func publisher(
            forEvent event: Message, payload: JSONObject?, subscriber: any PluginProtocol
        ) throws -> AnyPublisher<EventOutput, Never> {
            let publisher: EventPublisher = try publisher(forEvent: event, payload: payload, subscriber: subscriber)
            return publisher.anyPublisher
        }
    }

    /// A plugin whose events come from Combine, and go to it.
    public protocol CombinePlugin: PluginProtocol {
        /// As the method of `PluginProtocol` that gives an `EventPublisher`.
        func publisher(forEvent event: Message, payload: JSONObject?) throws -> AnyPublisher<EventOutput, Never>

        /// As the method of `PluginProtocol` that takes an `EventPublisher`. The default ignores it.
        func subscribe(toPublisher publisher: AnyPublisher<EventOutput, Never>, forEvent event: Message)
    }

    extension CombinePlugin {
        public func publisher(forEvent event: Message, payload: JSONObject?) throws -> EventPublisher {
            let publisher: AnyPublisher<EventOutput, Never> = try publisher(forEvent: event, payload: payload)
            return EventPublisher(publisher)
        }

        public func subscribe(toPublisher publisher: EventPublisher, forEvent event: Message) {
            subscribe(toPublisher: publisher.anyPublisher, forEvent: event)
        }

        public func subscribe(toPublisher publisher: AnyPublisher<EventOutput, Never>, forEvent event: Message) {}
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

    private final class CombineSubscription: Subscription, Sendable {
        // Sendable: a subscriber, which Combine does not promise to be, is called by whoever `DemandQueue` lets deliver,
        // one at a time.
        struct Reader: @unchecked Sendable {
            let receive: (EventOutput) -> Subscribers.Demand
            let finish: () -> Void
        }

        private struct State: Sendable {
            var queue = DemandQueue<EventOutput>()
            var reader: Reader?
            var upstream: EventSubscription?
            var hasBegun = false
        }

        private let events: EventPublisher
        private let state: Locked<State>

        init(_ events: EventPublisher, _ reader: Reader) {
            self.events = events
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
                let old = (state.reader, state.upstream)
                state.reader = nil
                state.upstream = nil
                return old
            }
            old.1?.cancel()
        }

        private func deliver() {
            while true {
                let (step, reader) = state.withLock { ($0.queue.next(), $0.reader) }
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
struct DemandQueue<Element: Sendable>: Sendable {
    enum Step: Sendable { case element(Element), finished }

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
        wanted = count.flatMap { more in
            let sum = present.addingReportingOverflow(more)
            return sum.overflow ? nil : sum.partialValue
        }
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
