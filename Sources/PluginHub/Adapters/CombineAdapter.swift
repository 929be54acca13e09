import Primitives

#if canImport(Combine)
    import Combine

    extension EventPublisher {
        /// A Combine publisher of the same outputs. Outputs wait until the subscriber demands them.
        public var anyPublisher: AnyPublisher<EventOutput, Never> { AnyPublisher(CombineEvents(events: self)) }

        /// Creates a publisher of the outputs of a Combine publisher. Each subscription subscribes to the Combine
        /// publisher, on the thread that subscribes.
        ///
        /// - Parameter publisher: The Combine publisher.
        public init(_ publisher: AnyPublisher<EventOutput, Never>) {
            // Combine's publishers are not Sendable, but can be subscribed to and cancelled on any thread.
            nonisolated(unsafe) let publisher = publisher
            self.init(subscribe: { observer in
                let broadcast = OrderedBroadcast()
                let detach = broadcast.attach(observer)
                nonisolated(unsafe) let source = publisher.sink(
                    receiveCompletion: { _ in broadcast.finish() }, receiveValue: { broadcast.send($0) })
                return EventSubscription {
                    detach()
                    source.cancel()
                }
            })
        }
    }

    extension MessageSending {
        /// Returns a Combine publisher of an event, like the method that returns an `EventPublisher`. State the type of
        /// the result, because Swift otherwise calls that method:
        ///
        ///     let infos: AnyPublisher<EventOutput, Never> = try hub.publisher(
        ///         forEvent: "info", payload: nil, subscriber: self)
        ///
        /// - Parameters:
        ///   - event: The event, with the id for its outputs.
        ///   - payload: The parameters of the event, or `nil`.
        ///   - subscriber: The plugin that calls.
        /// - Returns: A publisher of the outputs.
        /// - Throws: `PluginError`, or the error of the publishing plugin.
        @_disfavoredOverload
        public func publisher(
            forEvent event: Message, payload: JSONObject?, subscriber: any PluginProtocol
        ) throws -> AnyPublisher<EventOutput, Never> {
            let publisher: EventPublisher = try publisher(forEvent: event, payload: payload, subscriber: subscriber)
            return publisher.anyPublisher
        }
    }

    /// A plugin that publishes and receives events as Combine publishers.
    public protocol CombinePlugin: PluginProtocol {
        /// Returns a Combine publisher of an event that the policy publishes.
        ///
        /// - Parameters:
        ///   - event: The event.
        ///   - payload: The parameters of the event, or `nil`.
        /// - Returns: A publisher of the outputs.
        /// - Throws: An error when the plugin cannot use the payload.
        func publisher(forEvent event: Message, payload: JSONObject?) throws -> AnyPublisher<EventOutput, Never>

        /// Receives the Combine publisher of an event of `subscribeAtAppLaunch`. The default implementation ignores it.
        ///
        /// - Parameters:
        ///   - publisher: The publisher, merged from the plugins that publish the event.
        ///   - event: The event.
        func subscribe(toPublisher publisher: AnyPublisher<EventOutput, Never>, forEvent event: Message)
    }

    extension CombinePlugin {
        /// Returns the Combine publisher as an `EventPublisher`.
        ///
        /// - Parameters:
        ///   - event: The event.
        ///   - payload: The parameters of the event, or `nil`.
        /// - Returns: A publisher of the outputs.
        /// - Throws: The error of the plugin.
        public func publisher(forEvent event: Message, payload: JSONObject?) throws -> EventPublisher {
            let publisher: AnyPublisher<EventOutput, Never> = try publisher(forEvent: event, payload: payload)
            return EventPublisher(publisher)
        }

        /// Passes the publisher on as a Combine publisher.
        ///
        /// - Parameters:
        ///   - publisher: The publisher.
        ///   - event: The event.
        public func subscribe(toPublisher publisher: EventPublisher, forEvent event: Message) {
            subscribe(toPublisher: publisher.anyPublisher, forEvent: event)
        }

        /// Ignores the publisher.
        ///
        /// - Parameters:
        ///   - publisher: The publisher.
        ///   - event: The event.
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
        /// The callbacks of a subscriber.
        ///
        /// Sendable: `DemandQueue` lets one thread at a time call the subscriber, which need not be Sendable.
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
                let old = (reader: state.reader, upstream: state.upstream)
                state.reader = nil
                state.upstream = nil
                return old
            }
            old.upstream?.cancel()
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

/// The undelivered elements of a reader with a limited demand. The queue decides which caller delivers the next
/// element, and the caller delivers it.
struct DemandQueue<Element: Sendable>: Sendable {
    enum Step: Sendable { case element(Element), finished }

    private var elements: [Element] = []
    /// The remaining demand; `nil` is unlimited.
    private var remaining: Int? = 0
    private var isDelivering = false
    private var isFinished = false
    private var hasDeliveredFinish = false

    mutating func append(_ element: Element) { elements.append(element) }

    mutating func finish() { isFinished = true }

    /// Increases the demand; `nil` makes it unlimited.
    mutating func demand(_ count: Int?) {
        guard let current = remaining else { return }
        remaining = count.flatMap { more in
            let sum = current.addingReportingOverflow(more)
            return sum.overflow ? nil : sum.partialValue
        }
    }

    /// Returns the step that the caller delivers before it calls `delivered`, or `nil` if there is none or another
    /// caller is delivering.
    mutating func next() -> Step? {
        guard !isDelivering else { return nil }
        if let element = elements.first, remaining != 0 {
            elements.removeFirst()
            remaining = remaining.map { $0 - 1 }
            isDelivering = true
            return .element(element)
        }
        guard isFinished, elements.isEmpty, !hasDeliveredFinish else { return nil }
        hasDeliveredFinish = true
        isDelivering = true
        return .finished
    }

    mutating func delivered(demanding count: Int?) {
        isDelivering = false
        demand(count)
    }
}
