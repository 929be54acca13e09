import Primitives

/// Tells any number of listeners what happens. What happens before anybody listens waits for the first of them, so that a
/// store may be made long before the screen that shows what it says.
final class Happenings<Element: Sendable>: Sendable {
    private let broadcast = Broadcast<Element>()
    /// The first listener's stream.
    private let unread: Locked<AsyncStream<Element>?>

    private let onSend: @Sendable (Element) -> Void

    /// - Parameter onSend: gets each element at once, before any listener.
    init(onSend: @escaping @Sendable (Element) -> Void = { _ in }) {
        self.onSend = onSend
        unread = Locked(broadcast.stream())
    }

    /// What happens from now on; for the first listener also what happened before, the newest 1000.
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
