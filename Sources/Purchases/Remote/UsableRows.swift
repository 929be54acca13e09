import StoreModel

/// The usable rows of a response, and the other rows with their indices.
struct UsableRows<Row> {
    private(set) var rows: [Row] = []
    private(set) var unusable: [UnreadableRow]

    /// Separates the rows. `all` contains the decoded rows, and `unreadable` the other rows of the same response.
    /// `reason` returns why a row cannot be used, or `nil`.
    init(_ all: [Row], unreadable: [UnreadableRow], unless reason: (Row) -> String?) {
        unusable = unreadable
        let missing = Set(unreadable.map(\.index))
        let indexes = (0..<all.count + missing.count).filter { !missing.contains($0) }
        for (index, row) in zip(indexes, all) {
            if let reason = reason(row) {
                unusable.append(UnreadableRow(index: index, reason: reason))
            } else {
                rows.append(row)
            }
        }
        unusable.sort { $0.index < $1.index }
    }
}
