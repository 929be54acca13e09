import AppStorePayloads
import Foundation
import StoreModel

/// The search for one page of the transaction history: the transactions after a position that match the filters.
struct HistorySearch: Sendable {
    let request: AppStoreServerAPI.TransactionHistoryRequest
    /// The position after which the page begins; `nil` means the beginning.
    let start: ListPosition?
    /// One more than the size of a page, which shows whether there is another page.
    var limit = TransactionPages.size + 1

    init(_ request: AppStoreServerAPI.TransactionHistoryRequest, from place: PageTokens.Place) {
        self.request = request
        start = if case .after(let position) = place { position } else { nil }
    }

    var isDescending: Bool { request.sort == .descending }
}

extension SubscriptionState {
    /// Returns the subscription's transactions that the search needs, in any order. The time hardly grows with the
    /// number of transactions.
    ///
    /// Most transactions were last modified at their purchase, so the runs have the order of the history and positions
    /// in them are computed. The few that were modified later are read one by one.
    func entries(_ search: HistorySearch) -> [TransactionPages.Entry] {
        let changed = changedLater
        var found = changed.compactMap(transaction).filter(search.request.admits).map(TransactionPages.Entry.init)
        let last = found.count + search.limit
        for run in search.isDescending ? runs.reversed() : runs {
            let places = places(in: run, search)
            var index = search.isDescending ? places.upperBound - 1 : places.lowerBound
            while places.contains(index), found.count < last {
                if !changed.contains(run.id(of: index)) { found.append(.init(transaction(run, index))) }
                index += search.isDescending ? -1 : 1
            }
        }
        return found
    }

    /// The numbers of the transactions that can have been modified after their purchase.
    private var changedLater: Set<Int64> {
        var ids = Set(record.revocations.keys.filter(has))
        for run in runs where run.upgradedAt != nil { ids.insert(run.latestID) }
        guard let until = record.share?.until, until <= instant else { return ids }
        for run in runs.reversed() {
            for index in (0..<run.count).reversed() {
                guard run.end(of: index) > until else { return ids }
                ids.insert(run.id(of: index))
            }
        }
        return ids
    }

    /// Returns the range of a run's transactions that are after the start and match the filters, as if none was
    /// modified later.
    private func places(in run: Run, _ search: HistorySearch) -> Range<Int> {
        var first = transaction(run, 0)
        (first.revocation, first.restoredAt, first.upgradedAt) = (nil, nil, nil)
        guard search.request.admitsIgnoringDates(first) else { return 0..<0 }
        func index(reaching isReached: (Date) -> Bool) -> Int {
            (0..<run.count).firstIndex(reaching: { isReached(run.purchaseDate(of: $0)) })
        }
        var lower = search.request.startDate.map { start in index { $0.wholeMilliseconds >= start } } ?? 0
        var upper = search.request.endDate.map { end in index { $0.wholeMilliseconds >= end } } ?? run.count
        if let start = search.start {
            func isBefore(_ index: Int, orAt isSame: Bool) -> Bool {
                let date = max(run.purchaseDate(of: index), record.share?.from ?? .distantPast)
                let position = ListPosition(at: date.microseconds, number: run.id(of: index))
                return position < start || isSame && position == start
            }
            let place = (0..<run.count).firstIndex(reaching: { !isBefore($0, orAt: !search.isDescending) })
            if search.isDescending { upper = min(upper, place) } else { lower = max(lower, place) }
        }
        return lower..<max(lower, upper)
    }
}

extension AppStoreServerAPI.TransactionHistoryRequest {
    /// Whether a transaction matches every filter.
    func admits(_ record: TransactionRecord) -> Bool {
        let purchased = record.purchaseDate.wholeMilliseconds
        return startDate.map { purchased >= $0 } ?? true && endDate.map { purchased < $0 } ?? true
            && admitsIgnoringDates(record)
    }

    /// Whether a transaction matches every filter except the dates.
    fileprivate func admitsIgnoringDates(_ record: TransactionRecord) -> Bool {
        func isIn<Value: Equatable>(_ wanted: [Value], _ value: Value?) -> Bool {
            wanted.isEmpty || value.map(wanted.contains) ?? false
        }
        return isIn(productIds, record.productID.rawValue) && isIn(productTypes, record.kind)
            && isIn(subscriptionGroupIdentifiers, record.groupID)
            && inAppOwnershipType.map { $0 == record.ownership } ?? true
            && revoked.map { $0 == (record.revocation != nil) } ?? true
    }
}
