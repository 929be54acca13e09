import Primitives

/// A subscription of one plugin to a publisher of another. It ends when either plugin leaves.
final class Link: Sendable {
    private let ends: [LinkSet]
    private let state: Locked<State>

    private struct State: Sendable {
        /// The observer, or `nil` after the end, so that a callback that holds its own subscription is released.
        var observer: EventObserver?
        var upstream: EventSubscription?
    }

    private init(_ observer: EventObserver, _ ends: [LinkSet]) {
        self.ends = ends
        state = Locked(State(observer: observer))
    }

    /// Returns a publisher that ends when either plugin leaves. `ends` has the links of both plugins.
    static func publisher(_ publisher: EventPublisher, between ends: [LinkSet]) -> EventPublisher {
        EventPublisher(subscribe: { observer in
            let link = Link(observer, ends)
            guard ends.allSatisfy({ $0.insert(link) }) else {
                link.end()
                return EventSubscription()
            }
            let upstream = publisher.subscribe(observer.finishing { link.end() })
            link.hold(upstream)
            return EventSubscription { link.end(finishing: false) }
        })
    }

    /// Ends the link and notifies the observer.
    func end() { end(finishing: true) }

    private func hold(_ upstream: EventSubscription) {
        let isOver = state.withLock { state in
            let isOver = state.observer == nil
            if !isOver { state.upstream = upstream }
            return isOver
        }
        if isOver { upstream.cancel() }
    }

    private func end(finishing: Bool) {
        let ended: State = state.withLock { state in
            let present = state
            state = State()
            return present
        }
        guard let observer = ended.observer else { return }
        for end in ends { end.remove(self) }
        ended.upstream?.cancel()
        if finishing { observer.finish() }
    }
}

/// The links and other subscriptions of one plugin.
final class LinkSet: Sendable {
    private let state = Locked(State())

    private struct State: Sendable {
        var isClosed = false
        var links: [ObjectIdentifier: Link] = [:]
        var kept: [EventSubscription] = []
    }

    /// Adds a link, or returns `false` if the set is closed.
    func insert(_ link: Link) -> Bool {
        state.withLock { state in
            if !state.isClosed { state.links[ObjectIdentifier(link)] = link }
            return !state.isClosed
        }
    }

    func remove(_ link: Link) {
        _ = state.withLock { $0.links.removeValue(forKey: ObjectIdentifier(link)) }
    }

    /// Keeps a subscription until the set is closed. Cancels it at once if the set is closed.
    func keep(_ subscription: EventSubscription) {
        let isClosed = state.withLock { state in
            if !state.isClosed { state.kept.append(subscription) }
            return state.isClosed
        }
        if isClosed { subscription.cancel() }
    }

    /// Ends all links and subscriptions.
    func close() {
        let ending = state.withLock { state in
            let present = state
            state = State(isClosed: true)
            return present
        }
        for subscription in ending.kept { subscription.cancel() }
        for link in ending.links.values { link.end() }
    }
}
