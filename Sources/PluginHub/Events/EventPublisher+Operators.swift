import Primitives

extension EventPublisher {
    /// Only what the message with this id caused.
    public func filter(correlationId: MessageID) -> EventPublisher {
        filter { $0.correlationId == correlationId }
    }

    /// Only the outputs `isIncluded` says yes to.
    public func filter(_ isIncluded: @escaping @Sendable (EventOutput) -> Bool) -> EventPublisher {
        through { output, receive in
            if isIncluded(output) { receive(output) }
        }
    }

    /// Each output changed by `transform`.
    public func map(_ transform: @escaping @Sendable (EventOutput) -> EventOutput) -> EventPublisher {
        through { output, receive in receive(transform(output)) }
    }

    /// Each output changed by `transform`, without those it makes `nil`.
    public func compactMap(_ transform: @escaping @Sendable (EventOutput) -> EventOutput?) -> EventPublisher {
        through { output, receive in
            if let changed = transform(output) { receive(changed) }
        }
    }

    private func through(
        _ step: @escaping @Sendable (EventOutput, @Sendable (EventOutput) -> Void) -> Void
    ) -> EventPublisher {
        EventPublisher(subscribe: { [subscribe] observer in
            subscribe(Observer(receive: { step($0, observer.receive) }, finish: observer.finish))
        })
    }

    /// The outputs of this publisher and of `others`, each in its own order; finishes when all have.
    public func merge(with others: EventPublisher...) -> EventPublisher { .merge([self] + others) }

    /// The outputs of all `publishers`, each in its own order; finishes when all have, at once if there are none.
    public static func merge(_ publishers: [EventPublisher]) -> EventPublisher {
        switch publishers.count {
        case 0: empty
        case 1: publishers[0]
        default: EventPublisher(subscribe: { Merging(publishers, into: $0).subscription })
        }
    }
}

/// One subscription to several publishers. What they send at once is put in a row by a broadcast with one observer.
private struct Merging {
    let subscription: EventSubscription

    init(_ publishers: [EventPublisher], into observer: Observer<EventOutput>) {
        let row = Broadcast<EventOutput>()
        let left = Locked(publishers.count)
        let detach = row.attach(observer)
        let part = Observer<EventOutput>(
            receive: { row.send($0) },
            finish: {
                let isLast = left.withLock { left in
                    left -= 1
                    return left == 0
                }
                if isLast { row.finish() }
            })
        let parts = publishers.map { $0.subscribe(part) }
        subscription = EventSubscription {
            detach()
            for part in parts { part.cancel() }
        }
    }
}
