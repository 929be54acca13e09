import Foundation
import StoreModel

/// Subscriptions with their successors.
struct SubscriptionChain {
    let rows: [SubscriptionInternal]
    private var indexes: [UUID: Int] = [:]
    /// The index of each subscription's successor, without cycles.
    private var successors: [Int: Int] = [:]

    /// Creates the links. If two rows have the same id, the first one counts. A link that closes a cycle is ignored.
    init(_ all: [SubscriptionInternal]) {
        var rows: [SubscriptionInternal] = []
        for row in all where indexes[row.id] == nil {
            indexes[row.id] = rows.count
            rows.append(row)
        }
        self.rows = rows
        for (index, row) in rows.enumerated() {
            guard let next = row.nextSubscriptionId.flatMap({ indexes[$0] }), !leads(from: next, to: index) else {
                continue
            }
            successors[index] = next
        }
    }

    subscript(id: UUID) -> SubscriptionInternal? { indexes[id].map { rows[$0] } }

    func successor(of row: SubscriptionInternal) -> SubscriptionInternal? {
        indexes[row.id].flatMap { successors[$0] }.map { rows[$0] }
    }

    private func leads(from start: Int, to end: Int) -> Bool {
        var index: Int? = start
        while let current = index {
            if current == end { return true }
            index = successors[current]
        }
        return false
    }
}
