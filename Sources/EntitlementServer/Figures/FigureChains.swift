import Primitives
import SQLStorage
import StoreModel

/// The changes of the sums that follow from new facts about some purchases, with the purchases that they replaced or that
/// replaced them.
///
/// A fact about a subscription at Google Play can name the purchase before and the one after it. Each purchase that any
/// known fact of these purchases ever named is read too, and so on. So all purchases are known that count as one
/// subscription with them, without and with the new facts. Other facts name no purchase and cause no further read.
struct FigureChains {
    struct Purchase: Hashable {
        let ledgerID: LedgerID
        let original: TransactionID
    }

    private(set) var changes: [LedgerID: FigureSums] = [:]
    /// The purchases whose facts name another purchase, or that are named, without and with the new facts.
    private var linked: [LedgerID: (old: [TransactionID: CustomerState], new: [TransactionID: CustomerState])] = [:]

    /// - Parameters:
    ///   - purchases: The purchases with new facts.
    ///   - former: The last fact that the sums contain.
    ///   - position: The last fact that they will contain.
    init(
        of purchases: Set<Purchase>, after former: Int64, upTo position: Int64, _ connection: any SQLConnection
    ) throws {
        var (known, waiting) = (purchases, Array(purchases))
        while !waiting.isEmpty {
            let results = try connection.queries(
                waiting.map { purchase in
                    SQLQuery(
                        """
                        SELECT sequence, source, kind, digest, original_transaction_id, signed_at, summary FROM fact
                        WHERE app = ?1 AND environment = ?2 AND original_transaction_id = ?3 AND sequence <= ?4
                        """, purchase.ledgerID.values + [.text(purchase.original.rawValue), .integer(position)])
                })
            var named: [Purchase] = []
            for (purchase, rows) in zip(waiting, results) {
                for other in try add(rows, of: purchase, after: former, isNamed: !purchases.contains(purchase)) {
                    let other = Purchase(ledgerID: purchase.ledgerID, original: other)
                    if known.insert(other).inserted { named.append(other) }
                }
            }
            waiting = named
        }
        for (ledgerID, states) in linked {
            changes[ledgerID, default: FigureSums()].add(PurchaseFigures.contributions(ofLinked: states.new))
            changes[ledgerID, default: FigureSums()].subtract(PurchaseFigures.contributions(ofLinked: states.old))
        }
    }

    /// Adds the facts about a purchase. Returns the purchases that they name.
    private mutating func add(
        _ rows: [SQLRow], of purchase: Purchase, after former: Int64, isNamed: Bool
    ) throws -> [TransactionID] {
        var (old, new) = (CustomerState(), CustomerState())
        var named: [TransactionID] = []
        for row in rows {
            guard let content = try PresentedFact.Content(readable: row) else { continue }
            new.apply(content)
            if try row["sequence"] <= former { old.apply(content) }
            if case .transaction(let fact) = content { named += fact.linkedPurchases }
        }
        let ledgerID = purchase.ledgerID
        if isNamed || !named.isEmpty {
            linked[ledgerID, default: ([:], [:])].old[purchase.original] = old
            linked[ledgerID, default: ([:], [:])].new[purchase.original] = new
        } else {
            changes[ledgerID, default: FigureSums()].add(PurchaseFigures.contributions(of: new))
            changes[ledgerID, default: FigureSums()].subtract(PurchaseFigures.contributions(of: old))
        }
        return named
    }
}

extension PresentedFact.Content {
    /// Reads a fact; `nil` if its summary cannot be read. `LedgerReplay` reports such a fact.
    init?(readable row: SQLRow) throws {
        do { self = try PresentedFact.Content(row) } catch let error where LedgerReplay.isAboutContent(error) {
            return nil
        }
    }
}
