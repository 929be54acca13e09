import Foundation
import StoreModel

/// Subscriptions with their successors.
struct SubscriptionChain {
    let rows: [SubscriptionInternal]
    private var places: [UUID: Int] = [:]
    /// The index of each subscription's successor, without cycles.
    private var successors: [Int: Int] = [:]

    /// Creates the links. If two rows have the same id, the first one counts. A link that closes a cycle is ignored.
    init(_ all: [SubscriptionInternal]) {
        var rows: [SubscriptionInternal] = []
        for row in all where places[row.id] == nil {
            places[row.id] = rows.count
            rows.append(row)
        }
        self.rows = rows
        for (place, row) in rows.enumerated() {
            guard let next = row.nextSubscriptionId.flatMap({ places[$0] }), !leads(from: next, to: place) else {
                continue
            }
            successors[place] = next
        }
    }

    subscript(id: UUID) -> SubscriptionInternal? { places[id].map { rows[$0] } }

    func successor(of row: SubscriptionInternal) -> SubscriptionInternal? {
        places[row.id].flatMap { successors[$0] }.map { rows[$0] }
    }

    private func leads(from start: Int, to end: Int) -> Bool {
        var place: Int? = start
        while let current = place {
            if current == end { return true }
            place = successors[current]
        }
        return false
    }
}
