import StoreModel

/// The rows of an answer that can be used, and all others by their place in it.
struct UsableRows<Row> {
    private(set) var rows: [Row] = []
    private(set) var leftOut: [UnreadableRow]

    /// - Parameters:
    ///   - unreadable: what is missing among `all`, by its place in the whole answer.
    ///   - reason: why a row cannot be used; `nil` when it can.
    init(_ all: [Row], unreadable: [UnreadableRow], unless reason: (Row) -> String?) {
        leftOut = unreadable
        let missing = Set(unreadable.map(\.index))
        let places = (0..<all.count + missing.count).filter { !missing.contains($0) }
        for (index, row) in zip(places, all) {
            if let reason = reason(row) {
                leftOut.append(UnreadableRow(index: index, reason: reason))
            } else {
                rows.append(row)
            }
        }
        leftOut.sort { $0.index < $1.index }
    }
}
