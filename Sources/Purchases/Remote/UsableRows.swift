import StoreModel

/// The usable rows of a response, and the other rows with their indices.
struct UsableRows<Row> {
    private(set) var rows: [Row] = []
    private(set) var leftOut: [UnreadableRow]

    /// Separates the rows. `unreadable` has the indices in the complete response that are missing in `all`. `reason`
    /// returns why a row cannot be used, or `nil`.
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
