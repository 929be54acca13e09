/// Who may begin, where more exchanges are asked for than there may be connections: in the order they came, so many at
/// once and so many of one origin.
///
/// libcurl has such limits too (CURLMOPT_MAX_HOST_CONNECTIONS), but 7.88 forgets some of those that wait, until a server
/// closes a connection.
struct TransferQueue<Element: AnyObject> {
    private struct Waiting {
        let number: Int
        let element: Element
    }

    private let limit: Int
    private let limitOfOrigin: Int
    private var activeCount = 0
    /// Without zeros.
    private var active: [String: Int] = [:]
    /// Without empty ones.
    private var waiting: [String: ArraySlice<Waiting>] = [:]
    private var added = 0

    init(limit: Int, limitOfOrigin: Int) {
        self.limit = max(1, limit)
        self.limitOfOrigin = max(1, limitOfOrigin)
    }

    /// Calls `body` with each that has not begun.
    func forEach(_ body: (Element) -> Void) {
        for line in waiting.values { for one in line { body(one.element) } }
    }

    mutating func add(_ element: Element, to origin: String) {
        added += 1
        waiting[origin, default: []].append(Waiting(number: added, element: element))
    }

    /// The next that may begin, which counts until `ended`.
    mutating func next() -> Element? {
        guard activeCount < limit else { return nil }
        var first: (origin: String, number: Int)?
        for (origin, line) in waiting where active[origin, default: 0] < limitOfOrigin {
            guard let number = line.first?.number, number < first?.number ?? .max else { continue }
            first = (origin, number)
        }
        guard let origin = first?.origin, let next = waiting[origin]?.popFirst() else { return nil }
        if waiting[origin]?.isEmpty == true { waiting[origin] = nil }
        active[origin, default: 0] += 1
        activeCount += 1
        return next.element
    }

    /// One to this origin that had begun is over.
    mutating func ended(to origin: String) {
        activeCount -= 1
        active[origin] = active[origin].flatMap { $0 > 1 ? $0 - 1 : nil }
    }

    /// Takes out one that waits; `false` when it does not.
    mutating func remove(_ element: Element, to origin: String) -> Bool {
        guard var line = waiting[origin], let index = line.firstIndex(where: { $0.element === element }) else {
            return false
        }
        line.remove(at: index)
        waiting[origin] = line.isEmpty ? nil : line
        return true
    }
}
