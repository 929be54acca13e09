import StoreModel
import WebPages

/// The credit of a customer: the balance of each kind, the purchases that gave it, and the credit grants.
struct CreditTables: Sendable {
    let record: CustomerRecord

    /// The section of the customer's page; `nil` if the app has no kind of credit and the customer no credit grant.
    var html: HTML? {
        guard !record.credits.isEmpty || !record.creditGrants.isEmpty else { return nil }
        return """
            <section class="card pane" aria-labelledby="credits">
            <h2 id="credits">Credit, and why</h2>
            \(balances)\(sources)\(grants)
            </section>
            """
    }

    private var balances: HTML {
        let rows = record.credits.map { entry -> HTML in
            let account = entry.account
            return """
                <tr><th scope="row">\(ConsoleFrame.code(entry.type))</th><td>\(account.balance)</td>\
                <td>\(account.earned - account.granted)</td><td>\(account.granted)</td><td>\(account.spent)</td></tr>

                """
        }
        return ConsoleFrame.table(
            "Credit of the customer", ["Credit", "Balance", "From purchases", "From operators", "Spent"], rows)
    }

    /// The newest purchases that gave credit.
    private var sources: HTML {
        let sources = record.credits.flatMap { entry in
            entry.account.sources.filter { $0.given > 0 }.map { (type: entry.type, source: $0) }
        }.sorted { ($0.source.purchasedAt, $0.source.original) > ($1.source.purchasedAt, $1.source.original) }
        let rows = sources.prefix(LedgerTransaction.listLimit).map { type, source -> HTML in
            """
            <tr><th scope="row">\(ConsoleFrame.code(source.original.rawValue))</th>\
            <td>\(ConsoleFrame.time(source.purchasedAt))</td><td>\(ConsoleFrame.code(type))</td>\
            <td>\(source.given)</td><td>\(source.spent)</td><td>\(source.left)</td></tr>

            """
        }
        guard !rows.isEmpty else { return .empty }
        return "<h3>Purchases that gave credit</h3>"
            + ConsoleFrame.table(
                "Purchases that gave credit", ["Purchase", "Bought", "Credit", "Given", "Spent", "Left"],
                rows)
    }

    /// The credit that operators gave.
    private var grants: HTML {
        guard !record.creditGrants.isEmpty else { return .empty }
        let rows = record.creditGrants.map { entry -> HTML in
            let grant = entry.grant
            return """
                <tr><td>\(ConsoleFrame.time(entry.at))</td><td>\(ConsoleFrame.code(grant.type))</td>\
                <td>\(grant.amount)</td><td><bdi>\(grant.reason)</bdi></td><td>\(ConsoleFrame.code(grant.id))</td></tr>

                """
        }
        return "<h3>Credit of operators</h3>"
            + ConsoleFrame.table("Credit of operators", ["Given", "Credit", "Amount", "Reason", "Id"], rows)
    }
}
