import Primitives

/// Sends events to any number of observers. Events before the first observer are kept for it, so that a store can be
/// created long before the screen that shows its events.
final class EventBroadcaster<Element: Sendable>: Sendable {
    private let broadcast = Broadcast<Element>()
    /// The stream of the first observer.
    private let unread: Locked<AsyncStream<Element>?>

    private let onSend: @Sendable (Element) -> Void

    /// - Parameter onSend: Receives each event at once, before any observer.
    init(onSend: @escaping @Sendable (Element) -> Void = { _ in }) {
        self.onSend = onSend
        unread = Locked(broadcast.stream())
    }

    /// Returns a stream of the events from now on. The first observer also receives the newest 1000 earlier events.
    func stream() -> AsyncStream<Element> {
        unread.withLock { first in
            defer { first = nil }
            return first
        } ?? broadcast.stream()
    }

    func send(_ element: Element) {
        onSend(element)
        broadcast.send(element)
    }
    func finish() { broadcast.finish() }
}
