import Primitives

extension EventPublisher {
    /// Returns only the outputs that one message caused.
    ///
    /// - Parameter correlationId: The id of the message.
    /// - Returns: A publisher of these outputs.
    public func filter(correlationId: MessageID) -> EventPublisher {
        filter { $0.correlationId == correlationId }
    }

    /// Returns only the outputs that satisfy a predicate.
    ///
    /// - Parameter isIncluded: The predicate.
    /// - Returns: A publisher of these outputs.
    public func filter(_ isIncluded: @escaping @Sendable (EventOutput) -> Bool) -> EventPublisher {
        transformed { output, receive in
            if isIncluded(output) { receive(output) }
        }
    }

    /// Returns the outputs changed by a function.
    ///
    /// - Parameter transform: The function that changes an output.
    /// - Returns: A publisher of the changed outputs.
    public func map(_ transform: @escaping @Sendable (EventOutput) -> EventOutput) -> EventPublisher {
        transformed { output, receive in receive(transform(output)) }
    }

    /// Returns the outputs changed by a function, without those for which it returns `nil`.
    ///
    /// - Parameter transform: The function that changes an output.
    /// - Returns: A publisher of the changed outputs.
    public func compactMap(_ transform: @escaping @Sendable (EventOutput) -> EventOutput?) -> EventPublisher {
        transformed { output, receive in
            if let changed = transform(output) { receive(changed) }
        }
    }

    private func transformed(
        _ step: @escaping @Sendable (EventOutput, @Sendable (EventOutput) -> Void) -> Void
    ) -> EventPublisher {
        EventPublisher(subscribe: { [subscribe] observer in
            subscribe(EventObserver(receive: { step($0) { observer.receive($0) } }, finish: observer.finish))
        })
    }

    /// Returns the outputs of this publisher and of others. Keeps the order of each publisher. Finishes when all have
    /// finished.
    ///
    /// - Parameter others: The other publishers.
    /// - Returns: A publisher of all outputs.
    public func merge(with others: EventPublisher...) -> EventPublisher { .merge([self] + others) }

    /// Returns the outputs of several publishers. Keeps the order of each publisher. Finishes when all have finished,
    /// or at once if there are none.
    ///
    /// - Parameter publishers: The publishers.
    /// - Returns: A publisher of all outputs.
    public static func merge(_ publishers: [EventPublisher]) -> EventPublisher {
        switch publishers.count {
        case 0: empty
        case 1: publishers[0]
        default: EventPublisher(subscribe: { MergedSubscription(publishers, into: $0).subscription })
        }
    }
}

/// One subscription to several publishers. A broadcast delivers their outputs one at a time.
private struct MergedSubscription {
    let subscription: EventSubscription

    init(_ publishers: [EventPublisher], into observer: EventObserver) {
        let broadcast = OrderedBroadcast()
        let unfinished = Locked(publishers.count)
        let detach = broadcast.attach(observer)
        let forwarding = EventObserver(
            receive: { broadcast.send($0) },
            finish: {
                let isLast = unfinished.withLock { count in
                    count -= 1
                    return count == 0
                }
                if isLast { broadcast.finish() }
            })
        let subscriptions = publishers.map { $0.subscribe(forwarding) }
        subscription = EventSubscription {
            detach()
            for subscription in subscriptions { subscription.cancel() }
        }
    }
}
