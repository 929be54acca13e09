import Foundation
import PluginHub
import Primitives
import Testing

@Suite struct EventTests {
    private let seen = Journal<Int>()
    private let subject = EventSubject()

    @Test func `every subscriber gets every output, in the order sent`() {
        let other = Journal<Int>()
        let subscriptions = [
            subject.publisher.sink { [seen] in seen.note($0.number) },
            subject.publisher.sink { other.note($0.number) },
        ]
        for number in 1...3 { subject.send(.number(number)) }
        #expect(seen.entries == [1, 2, 3])
        #expect(other.entries == [1, 2, 3])
        withExtendedLifetime(subscriptions) {}
    }

    @Test func `earlier outputs are not replayed`() {
        subject.send(.number(1))
        let subscription = subject.publisher.sink { [seen] in seen.note($0.number) }
        subject.send(.number(2))
        #expect(seen.entries == [2])
        withExtendedLifetime(subscription) {}
    }

    @Test func `a subscription ends when cancelled or released`() {
        var subscription: EventSubscription? = subject.publisher.sink { [seen] in seen.note($0.number) }
        subject.send(.number(1))
        #expect(subject.isObserved)
        subscription?.cancel()
        subject.send(.number(2))
        #expect(!subject.isObserved)
        subscription = subject.publisher.sink { [seen] in seen.note($0.number) }
        subject.send(.number(3))
        subscription = nil
        subject.send(.number(4))
        #expect(seen.entries == [1, 3])
        #expect(!subject.isObserved)
    }

    @Test func `a callback may cancel its own subscription`() {
        let own = Locked<EventSubscription?>(nil)
        let subscription = subject.publisher.sink { [seen, subject] output in
            seen.note(output.number)
            subject.send(.number(9))
            own.withLock { $0 }?.cancel()
        }
        own.withLock { $0 = subscription }
        subject.send(.number(1))
        subject.send(.number(2))
        #expect(seen.entries == [1])
        own.withLock { $0 = nil }
    }

    @Test func `a subscription that an earlier callback cancelled does not get the current output`() {
        let later = Locked<EventSubscription?>(nil)
        let first = subject.publisher.sink { _ in later.withLock { $0 }?.cancel() }
        let second = subject.publisher.sink { [seen] in seen.note($0.number) }
        later.withLock { $0 = second }
        subject.send(.number(1))
        #expect(seen.entries.isEmpty)
        withExtendedLifetime(first) {}
        later.withLock { $0 = nil }
    }

    @Test func `an output of a callback waits until every subscriber has the current one`() {
        let order = Journal<String>()
        let first = subject.publisher.sink { [subject] output in
            order.note("first \(output.number)")
            if output.number == 1 {
                subject.send(.number(2))
                order.note("sent")
            }
        }
        let second = subject.publisher.sink { order.note("second \($0.number)") }
        subject.send(.number(1))
        #expect(order.entries == ["first 1", "sent", "second 1", "first 2", "second 2"])
        withExtendedLifetime((first, second)) {}
    }

    @Test func `a subscriber that subscribes during a delivery sees later outputs only`() {
        let late = Locked<[EventSubscription]>([])
        let first = subject.publisher.sink { [subject, seen] output in
            guard output.number == 1 else { return }
            subject.send(.number(2))
            let subscription = subject.publisher.sink { seen.note($0.number) }
            late.withLock { $0.append(subscription) }
            subject.send(.number(3))
        }
        subject.send(.number(1))
        #expect(seen.entries == [3])
        withExtendedLifetime(first) {}
    }

    @Test func `a subject with a current value gives it first`() {
        let state = EventSubject(current: .number(0))
        let first = state.publisher.sink { [seen] in seen.note($0.number) }
        state.send(.number(1))
        let second = state.publisher.sink { [seen] in seen.note($0.number * 10) }
        state.send(.number(2))
        #expect(seen.entries == [0, 1, 10, 2, 20])
        withExtendedLifetime((first, second)) {}

        let empty = EventSubject(current: nil)
        let third = empty.publisher.sink { [seen] in seen.note($0.number) }
        #expect(seen.entries.count == 5)
        empty.send(.number(7))
        let fourth = empty.publisher.sink { [seen] in seen.note($0.number) }
        #expect(seen.entries.suffix(2) == [7, 7])
        withExtendedLifetime((third, fourth)) {}
    }

    @Test func `a subscriber that subscribes during a delivery gets the current value in order`() {
        let state = EventSubject(current: nil)
        let late = Locked<[EventSubscription]>([])
        let first = state.publisher.sink { [seen] output in
            guard output.number == 1 else { return }
            state.send(.number(2))
            let subscription = state.publisher.sink { seen.note($0.number) }
            late.withLock { $0.append(subscription) }
            state.send(.number(3))
        }
        state.send(.number(1))
        #expect(seen.entries == [2, 3])
        withExtendedLifetime(first) {}
    }

    @Test func `a publisher finishes when its subject is released, and sends nothing after that`() async {
        var subject: EventSubject? = EventSubject()
        let publisher = subject!.publisher
        let outputs = publisher.values()
        let finished = Journal<String>()
        let subscription = publisher.sink(finished: { finished.note("finished") }) { _ in }
        subject?.send(.number(1))
        subject = nil
        var numbers: [Int] = []
        for await output in outputs { numbers.append(output.number) }
        #expect(numbers == [1])
        for await _ in publisher { Issue.record("an output came") }
        #expect(finished.entries == ["finished"])
        withExtendedLifetime(subscription) {}
    }

    @Test func `after finish nothing is sent`() {
        let subscription = subject.publisher.sink { [seen] in seen.note($0.number) }
        subject.finish()
        subject.finish()
        subject.send(.number(1))
        #expect(seen.entries.isEmpty)
        withExtendedLifetime(subscription) {}
    }

    @Test func `filter, map and compactMap change the outputs of a publisher`() {
        let subscriptions = [
            subject.publisher.filter(correlationId: "a").sink { [seen] in seen.note($0.number) },
            subject.publisher.filter { $0.number > 2 }.sink { [seen] in seen.note($0.number * 10) },
            subject.publisher.map { .number($0.number * 100) }.sink { [seen] in seen.note($0.number) },
            subject.publisher.compactMap { $0.number == 2 ? .number(2000) : nil }.sink { [seen] in seen.note($0.number)
            },
        ]
        subject.send(.number(1, "a"))
        subject.send(.number(2, "b"))
        subject.send(.number(3))
        #expect(seen.entries == [1, 100, 200, 2000, 30, 300])
        withExtendedLifetime(subscriptions) {}
    }

    @Test func `a publisher of a custom source starts for each subscription and ends with it`() {
        let order = Journal<String>()
        let publisher = EventPublisher { send in
            order.note("start")
            send(.number(1))
            return EventSubscription { order.note("end") }
        }
        let first = publisher.sink { [seen] in seen.note($0.number) }
        let second = publisher.sink { [seen] in seen.note($0.number * 10) }
        first.cancel()
        #expect(order.entries == ["start", "start", "end"])
        #expect(seen.entries == [1, 10])
        second.cancel()
    }

    @Test func `a merged publisher has the outputs of all its parts, and finishes with the last part`() {
        let other = EventSubject()
        let ends = Journal<String>()
        let subscription = subject.publisher.merge(with: other.publisher, .empty).sink(
            finished: { ends.note("finished") }
        ) { [seen] in seen.note($0.number) }
        subject.send(.number(1))
        other.send(.number(2))
        subject.finish()
        other.send(.number(3))
        #expect(ends.entries.isEmpty)
        other.finish()
        #expect(ends.entries == ["finished"])
        #expect(seen.entries == [1, 2, 3])
        withExtendedLifetime(subscription) {}
    }

    @Test func `a cancelled subscription to a merged publisher leaves all of its parts`() {
        let other = EventSubject()
        let subscription = EventPublisher.merge([subject.publisher, other.publisher]).sink { _ in }
        #expect(subject.isObserved && other.isObserved)
        subscription.cancel()
        #expect(!subject.isObserved && !other.isObserved)
        let none = EventPublisher.merge([]).sink { _ in }
        none.cancel()
    }

    @Test func `callbacks of one subscription are never concurrent, and each sender's order is kept`() {
        let subjects = (0..<4).map { _ in EventSubject() }
        let inside = Locked(0)
        let overlaps = Locked(0)
        let subscription = EventPublisher.merge(subjects.map(\.publisher)).sink { [seen] output in
            let now = inside.withLock { count in
                count += 1
                return count
            }
            if now > 1 { overlaps.withLock { $0 += 1 } }
            seen.note(output.number)
            inside.withLock { $0 -= 1 }
        }
        DispatchQueue.concurrentPerform(iterations: 4) { index in
            for number in 0..<500 { subjects[index].send(.number(index * 1000 + number)) }
        }
        subscription.cancel()
        #expect(overlaps.withLock { $0 } == 0)
        #expect(seen.entries.count == 2000)
        for index in 0..<4 {
            let own = seen.entries.filter { $0 / 1000 == index }
            #expect(own == own.sorted())
        }
    }

    @Test func `outputs that do not fit in the buffer are dropped and counted`() async {
        let newest = subject.publisher.values(.newest(2))
        let oldest = subject.publisher.values(.oldest(2))
        let all = subject.publisher.values()
        let none = subject.publisher.values(.newest(-1))
        for number in 1...5 { subject.send(.number(number)) }
        #expect(newest.droppedCount == 3)
        #expect(oldest.droppedCount == 3)
        #expect(all.droppedCount == 0)
        #expect(none.droppedCount == 5)
        subject.finish()
        var numbers: [[Int]] = []
        for values in [newest, oldest, all, none] {
            numbers.append([])
            for await output in values { numbers[numbers.count - 1].append(output.number) }
        }
        #expect(numbers == [[4, 5], [1, 2], [1, 2, 3, 4, 5], []])
    }

    @Test func `outputs that are dropped during reading are counted at once`() async {
        let outputs = subject.publisher.values(.newest(1))
        var iterator = outputs.makeAsyncIterator()
        subject.send(.number(1))
        subject.send(.number(2))
        #expect(await iterator.next()?.number == 2)
        #expect((outputs.droppedCount, iterator.droppedCount) == (1, 1))
        for number in 3...5 { subject.send(.number(number)) }
        subject.finish()
        var seen: [(Int, Int)] = []
        for await output in outputs { seen.append((output.number, outputs.droppedCount)) }
        #expect(seen.map(\.0) == [5])
        #expect(seen.map(\.1) == [3])
    }

    @Test func `the source of a custom publisher is released when its last subscription ends`() {
        final class Source: Sendable {}
        struct Weak: Sendable { weak let source: Source? }
        let made = Locked<Weak?>(nil)
        let publisher = EventPublisher { send in
            let own = Source()
            made.withLock { $0 = Weak(source: own) }
            return EventSubscription { withExtendedLifetime((own, send)) {} }
        }
        func sourceExists() -> Bool { made.withLock { $0?.source != nil } }
        let hub = Hub()
        hub.register(.taking("Source", .event, "a"), .init(onEvent: { _, _, _ in publisher }))
        hub.register(.sending("Reader", .event, "a"))
        hub.start()
        var subscription = try? hub.scripted("Reader").events("a").filter { _ in true }.sink { _ in }
        #expect(sourceExists())
        subscription?.cancel()
        #expect(!sourceExists())
        subscription = try? hub.scripted("Reader").events("a").merge(with: .empty).sink { _ in }
        #expect(sourceExists())
        subscription = nil
        _ = subscription
        #expect(!sourceExists())
    }

    @Test func `a cancelled reader stops collecting and keeps its outputs`() async {
        let values = subject.publisher.values()
        subject.send(.number(1))
        values.cancel()
        #expect(!subject.isObserved)
        subject.send(.number(2))
        var numbers: [Int] = []
        for await output in values { numbers.append(output.number) }
        #expect(numbers == [1])
    }

    @Test func `a reader that is released or whose task is cancelled leaves no subscription`() async {
        var values: BufferedSequence<EventOutput>? = subject.publisher.values()
        #expect(subject.isObserved)
        values = nil
        _ = values
        #expect(!subject.isObserved)

        let publisher = subject.publisher
        let task = Task { for await _ in publisher {} }
        task.cancel()
        await task.value
        #expect(!subject.isObserved)
    }

    @Test func `an actor can read a publisher with for await`() async {
        actor Reader {
            func first(of publisher: EventPublisher) async -> Int? {
                for await output in publisher { return output.number }
                return nil
            }
        }
        let state = EventSubject(current: .number(4))
        #expect(await Reader().first(of: state.publisher) == 4)
    }
}
