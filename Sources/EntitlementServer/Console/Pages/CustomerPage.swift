import Foundation
import Primitives
import StoreModel
import WebPages

/// The page of a customer: the answer as the app receives it, the reason of each feature, grants, credit, actions and
/// facts.
struct CustomerPage: Sendable {
    let frame: ConsoleFrame
    let record: CustomerRecord
    /// The names of the features that the app's products give.
    let features: [String]
    let actions: CustomerActions
    let outcome: ConsoleOutcome?

    var page: Page {
        frame.page(
            record.customer.rawValue,
            """
            \(outcome.map { outcome -> HTML in "<p class=\"notice\" role=\"status\">\(outcome.sentence)</p>" })
            <section class="card pane" aria-labelledby="title">
            <h1 id="title">\(ConsoleFrame.code(record.customer.rawValue))</h1>
            <dl class="facts">
            \(ConsoleFrame.row("Aliases", Self.aliases(record.entry.aliases)))\
            \(ConsoleFrame.row("First seen", ConsoleFrame.time(record.entry.firstSeenAt)))\
            \(record.entry.erasedAt.map { ConsoleFrame.row("Erased", ConsoleFrame.time($0)) })\
            \(ConsoleFrame.row("Answer computed for", ConsoleFrame.time(record.answer.asOf)))\
            \(ConsoleFrame.row("Next change", ConsoleFrame.time(record.answer.validUntil, otherwise: "none without a new fact")))
            </dl>
            </section>
            <section class="card pane" aria-labelledby="features">
            <h2 id="features">Features, and why</h2>
            \(featureTable)
            <details><summary>The answer as the app receives it</summary>
            \(ConsoleFrame.box(answerText, id: "answer"))
            </details>
            </section>
            <section class="card pane" aria-labelledby="grants">
            <h2 id="grants">Grants</h2>
            \(grantTable)
            \(grantForm)
            </section>
            \(CreditTables(record: record).html)
            <section class="card pane" aria-labelledby="actions">
            <h2 id="actions">Other actions</h2>
            \(actions.html)
            </section>
            <section class="card pane" aria-labelledby="log">
            <h2 id="log">Actions of operators, newest first</h2>
            \(AuditTable(frame: frame, list: record.log).html)\(moreEntries)
            </section>
            <section class="card pane" aria-labelledby="facts">
            <h2 id="facts">Facts, newest first</h2>
            \(FactTable(frame: frame, customer: record.customer, list: record.facts).html)
            </section>
            """)
    }

    private var moreEntries: HTML? {
        guard record.log.next != nil else { return nil }
        let target = frame.path("/audit", [("id", record.customer.rawValue)])
        return "<p><a class=\"button\" href=\"\(target)\">All entries about the customer</a></p>"
    }

    /// Returns the first ten aliases, and the number of the others.
    static func aliases(_ aliases: [CustomerID]) -> HTML {
        guard !aliases.isEmpty else { return "–" }
        let shown = aliases.prefix(10).map { ConsoleFrame.code($0.rawValue) }.joined(separator: ", ")
        return aliases.count > 10 ? "\(shown) and \(aliases.count - 10) more" : shown
    }

    private var answerText: String {
        guard let json = try? JSONValue(parsing: record.answerBytes) else {
            return String(decoding: record.answerBytes, as: UTF8.self)
        }
        return json.text(pretty: true)
    }

    // MARK: - Features

    private var featureTable: HTML {
        let limit = 200
        guard !record.answer.features.isEmpty else {
            return "<p>The customer has no features. No fact and no grant gives one.</p>"
        }
        let rows = record.answer.features.prefix(limit).map { feature -> HTML in
            """
            <tr><th scope="row">\(ConsoleFrame.code(feature.name))</th>\
            <td><span class="pill\(" good", when: feature.isActive)">\(feature.isActive ? "active" : "inactive")</span></td>\
            <td>\(ConsoleFrame.time(feature.from))</td>\
            <td>\(ConsoleFrame.time(feature.effectiveUntil, otherwise: "no end"))</td>\
            <td><bdi>\(feature.because)</bdi></td><td>\(origin(of: feature))</td></tr>

            """
        }
        let table = ConsoleFrame.table(
            "Features of the customer", ["Feature", "State", "From", "Until", "Reason", "Given by"], rows)
        let rest = record.answer.features.count - rows.count
        return rest > 0 ? "\(table)<p class=\"hint\">\(rest) more are in the answer below.</p>" : table
    }

    /// Returns a link to the facts of the purchase, or to the grant.
    private func origin(of feature: CustomerFeature) -> HTML {
        if let original = feature.originalTransactionID {
            let target = frame.path(of: record.customer, [("purchase", original.rawValue)]) + "#facts"
            let product: HTML = feature.productID.map { id -> HTML in "\(ConsoleFrame.code(id.rawValue)) " } ?? .empty
            return """
                \(product)<a href="\(target)">facts of the purchase \(ConsoleFrame.code(original.rawValue))</a>
                """
        }
        guard let id = feature.grantID else { return .text(feature.source.rawValue) }
        return "grant \(ConsoleFrame.code(id))"
    }

    // MARK: - Grants

    private var grantTable: HTML {
        guard !record.grants.isEmpty else { return "<p>The customer has no grants.</p>" }
        let rows = record.grants.map { entry -> HTML in
            let grant = entry.grant
            return """
                <tr><th scope="row">\(ConsoleFrame.code(grant.feature))</th><td>\(ConsoleFrame.time(grant.from))</td>\
                <td>\(ConsoleFrame.time(grant.until, otherwise: "no end"))</td><td><bdi>\(grant.reason)</bdi></td>\
                <td>\(ConsoleFrame.code(grant.id))</td>\
                <td>\(entry.withdrawnAt.map { ConsoleFrame.time($0) } ?? withdrawalForm(grant))</td></tr>

                """
        }
        let table = ConsoleFrame.table(
            "Grants of the customer", ["Feature", "From", "Until", "Reason", "Grant", "Withdrawn"], rows)
        guard rows.count >= LedgerTransaction.listLimit else { return table }
        return "\(table)<p class=\"hint\">These are the newest \(rows.count). The export of the customer has all.</p>"
    }

    private var isChangeable: Bool { frame.role == .full && record.entry.erasedAt == nil }

    private func withdrawalForm(_ grant: Grant) -> HTML {
        guard isChangeable else { return "no" }
        return """
            <form method="post" action="/console/withdrawals/review">\(frame.hidden)\
            <input type="hidden" name="id" value="\(record.customer.rawValue)">\
            <input type="hidden" name="grant" value="\(grant.id)">\
            <button aria-label="Withdraw the grant of \(grant.feature)">Withdraw…</button></form>
            """
    }

    private var grantForm: HTML {
        guard isChangeable else {
            return frame.role == .readOnly
                ? "<p class=\"hint\">This session is read only. Sign in with full access to grant features.</p>"
                : .empty
        }
        let options = features.prefix(200).map { name -> HTML in "<option value=\"\(name)\"></option>" }
        return """
            <details><summary>Grant a feature</summary>
            <form class="stack" id="grant" method="post" action="/console/grants/review">\(frame.hidden)
            <input type="hidden" name="id" value="\(record.customer.rawValue)">
            <label for="feature">Feature</label>
            <input id="feature" name="feature" list="names" maxlength="255" autocomplete="off" spellcheck="false" required>
            <datalist id="names">\(options.joined())</datalist>
            <label for="until">End in UTC (optional)</label>
            <input id="until" name="until" type="datetime-local">
            <label for="reason">Reason, which the customer's answer shows</label>
            <input id="reason" name="reason" maxlength="1000" autocomplete="off" required>
            <button>Review the grant…</button>
            </form>
            </details>
            """
    }
}
