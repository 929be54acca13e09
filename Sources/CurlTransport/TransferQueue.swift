/// A queue that starts transfers in the order in which they were added, within a limit for all connections and a limit
/// for each origin.
///
/// libcurl has such limits too (CURLMOPT_MAX_HOST_CONNECTIONS). But libcurl 7.88 does not start some of the waiting
/// transfers until a server closes a connection.
struct TransferQueue<Element: AnyObject> {
    private struct Waiting {
        let number: Int
        let element: Element
    }

    private let limit: Int
    private let limitOfOrigin: Int
    private var activeCount = 0
    /// The number of active transfers by origin, without zeros.
    private var active: [String: Int] = [:]
    /// The queued transfers by origin, without empty lists.
    private var waiting: [String: ArraySlice<Waiting>] = [:]
    private var added = 0

    init(limit: Int, limitOfOrigin: Int) {
        self.limit = max(1, limit)
        self.limitOfOrigin = max(1, limitOfOrigin)
    }

    /// Calls `body` with each queued transfer.
    func forEach(_ body: (Element) -> Void) {
        for entries in waiting.values { for entry in entries { body(entry.element) } }
    }

    mutating func add(_ element: Element, to origin: String) {
        added += 1
        waiting[origin, default: []].append(Waiting(number: added, element: element))
    }

    /// Returns the next transfer that may start, and counts it as active until `ended` is called.
    mutating func next() -> Element? {
        guard activeCount < limit else { return nil }
        var first: (origin: String, number: Int)?
        for (origin, entries) in waiting where active[origin, default: 0] < limitOfOrigin {
            guard let number = entries.first?.number, number < first?.number ?? .max else { continue }
            first = (origin, number)
        }
        guard let origin = first?.origin, let next = waiting[origin]?.popFirst() else { return nil }
        if waiting[origin]?.isEmpty == true { waiting[origin] = nil }
        active[origin, default: 0] += 1
        activeCount += 1
        return next.element
    }

    /// Records that an active transfer to this origin has ended.
    mutating func ended(to origin: String) {
        activeCount -= 1
        active[origin] = active[origin].flatMap { $0 > 1 ? $0 - 1 : nil }
    }

    /// Removes a queued transfer. Returns `false` when it is not in the queue.
    mutating func remove(_ element: Element, to origin: String) -> Bool {
        guard var entries = waiting[origin], let index = entries.firstIndex(where: { $0.element === element }) else {
            return false
        }
        entries.remove(at: index)
        waiting[origin] = entries.isEmpty ? nil : entries
        return true
    }
}
