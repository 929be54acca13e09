import Foundation
import StoreModel

/// A customer's transactions as they are read, 20 at a time, in the order of an instant that each has.
///
/// A page ends at an instant and a transaction, and its revision names both: what comes later comes after it, so pages do
/// not shift while transactions are added, and a revision that was kept leads to what is new.
struct TransactionPages: Sendable {
    static let size = 20

    /// What is listed, of whom, under which filters: a revision of one list is none of another.
    let subject: String
    var isDescending = false

    struct Entry: Sendable {
        var at: Date
        var transaction: TransactionRecord
    }

    struct Page: Sendable {
        var transactions: [TransactionRecord]
        var revision: String
        var hasMore: Bool
    }

    /// The page that follows `revision`; the first one without. Throws `invalidRequestRevision`.
    func page(_ entries: [Entry], after revision: String?) throws(AppStoreServerAPI.ErrorCode) -> Page {
        let tokens = PageTokens(subject: subject)
        var place = PageTokens.Place.beginning
        if let revision {
            guard let known = tokens.place(of: revision) else { throw .invalidRequestRevision }
            place = known
        }
        var rest = entries.map {
            (position: ListPosition(at: $0.at.microseconds, number: $0.transaction.id), transaction: $0.transaction)
        }
        if case .after(let start) = place {
            rest.removeAll { isDescending ? $0.position >= start : $0.position <= start }
        }
        rest.sort { isDescending ? $0.position > $1.position : $0.position < $1.position }
        let page = rest.prefix(Self.size)
        return Page(
            transactions: page.map(\.transaction),
            revision: tokens.token(for: page.last.map { .after($0.position) } ?? place),
            hasMore: rest.count > page.count)
    }
}

extension TransactionRecord {
    /// When the store last changed what it says of it: Apple's "recently modified date".
    var modifiedAt: Date {
        [sharedAt, upgradedAt, revocation?.at, restoredAt].compactMap(\.self).reduce(purchaseDate, max)
    }
}
