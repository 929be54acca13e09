import AppStorePayloads
import Foundation
import StoreModel

/// The pages of a customer's transactions: 20 at a time, ordered by a date such as the last modification.
///
/// The revision of a page contains the instant and the number of its last transaction. In ascending order, new
/// transactions come after it, so pages do not shift, and an old revision returns the new transactions.
struct TransactionPages: Sendable {
    static let size = 20

    /// The identity of the list: its kind, its customer and its filters. The revision of one list is not valid for
    /// another.
    let subject: String
    var isDescending = false

    struct Entry: Sendable {
        var at: Date
        var transaction: TransactionRecord

        /// Creates an entry of the history, which is in the order of the last modifications.
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

    /// Returns the start of the page after `revision`, or of the first page without one. Throws
    /// `invalidRequestRevision`.
    func start(after revision: String?) throws(AppStoreServerAPI.ErrorCode) -> PageTokens.Place {
        guard let revision else { return .beginning }
        guard let place = PageTokens(subject: subject).place(of: revision) else { throw .invalidRequestRevision }
        return place
    }

    /// Returns the page that begins at `place`. `entries` must contain the entries of this page and the first
    /// entry of the next page.
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
    /// The instant of the last modification: Apple's "recently modified date".
    var modifiedAt: Date {
        [sharedAt, upgradedAt, revocation?.at, restoredAt].compactMap(\.self).reduce(purchaseDate, max)
    }
}
