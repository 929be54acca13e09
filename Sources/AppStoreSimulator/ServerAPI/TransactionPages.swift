import AppStorePayloads
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

        /// In the history, which is in the order of the last changes.
        init(_ transaction: TransactionRecord) { self.init(at: transaction.modifiedAt, transaction: transaction) }

        init(at date: Date, transaction: TransactionRecord) {
            at = date
            self.transaction = transaction
        }

        var position: ListPosition { ListPosition(at: at.microseconds, number: transaction.id) }
    }

    struct Page: Sendable {
        var transactions: [TransactionRecord]
        var revision: String
        var hasMore: Bool
    }

    /// Where the page that follows `revision` begins; without one the first page. Throws `invalidRequestRevision`.
    func start(after revision: String?) throws(AppStoreServerAPI.ErrorCode) -> PageTokens.Place {
        guard let revision else { return .beginning }
        guard let place = PageTokens(subject: subject).place(of: revision) else { throw .invalidRequestRevision }
        return place
    }

    /// The page that begins at `place`. `entries` are all there are, or at least those of this page and the next one.
    func page(_ entries: [Entry], from place: PageTokens.Place) -> Page {
        var rest = entries.map { (position: $0.position, transaction: $0.transaction) }
        if case .after(let start) = place {
            rest.removeAll { isDescending ? $0.position >= start : $0.position <= start }
        }
        rest.sort { isDescending ? $0.position > $1.position : $0.position < $1.position }
        let page = rest.prefix(Self.size)
        return Page(
            transactions: page.map(\.transaction),
            revision: PageTokens(subject: subject).token(for: page.last.map { .after($0.position) } ?? place),
            hasMore: rest.count > page.count)
    }
}

extension TransactionRecord {
    /// When the store last changed what it says of it: Apple's "recently modified date".
    var modifiedAt: Date {
        [sharedAt, upgradedAt, revocation?.at, restoredAt].compactMap(\.self).reduce(purchaseDate, max)
    }
}
