import Primitives
import StoreModel
import WebPages

/// The forms of a customer's page that open the review of an action, without those for grants.
struct CustomerActions: Sendable {
    let frame: ConsoleFrame
    let record: CustomerRecord
    /// The kinds of credit of the app, with the types of items.
    let credits: CreditTable
    /// The subscriptions about which the server can ask their store.
    let refreshable: [CustomerSubscription]

    private var customer: CustomerID { record.customer }

    var html: HTML {
        guard frame.role == .full else {
            return """
                <p class="hint">This session is read only. Sign in with full access to change the customer.</p>
                """
        }
        guard record.entry.erasedAt == nil else { return export }
        return [transfer, merge, creditGrant, redemption, refresh, export, erasure].joined()
    }

    /// Returns a form that is hidden until its summary is clicked.
    private func form(_ path: String, _ summary: String, _ fields: HTML, _ button: String) -> HTML {
        """
        <details><summary>\(summary)</summary>
        <form class="stack" method="post" action="\(ConsoleRoute.root + path)/review">\(frame.hidden)
        <input type="hidden" name="id" value="\(customer.rawValue)">
        \(fields)<button>\(button)</button>
        </form>
        </details>

        """
    }

    private func field(_ id: String, _ name: String, _ label: String, isRequired: Bool = true) -> HTML {
        """
        <label for="\(id)">\(label)</label>
        <input id="\(id)" name="\(name)" maxlength="1000" autocomplete="off" spellcheck="false"\
        \(" required", if: isRequired)>

        """
    }

    private func reason(_ id: String) -> HTML {
        field(id, "reason", "Reason for the audit log (optional)", isRequired: false)
    }

    private func choice(_ id: String, _ name: String, _ label: String, _ values: [(String, String)]) -> HTML {
        let options = values.map { value, text -> HTML in "<option value=\"\(value)\">\(text)</option>" }
        return """
            <label for="\(id)">\(label)</label>
            <select id="\(id)" name="\(name)">\(options.joined())</select>

            """
    }

    /// The first 200 of the customer's purchases, with the product of each.
    private var purchases: [(String, String)] {
        let subscriptions = record.answer.subscriptions.map { ($0.originalTransactionID, $0.productID) }
        let others = record.answer.purchases.map { ($0.originalTransactionID, $0.productID) }
        return (subscriptions + others).prefix(200).map { original, product in
            (original.rawValue, "\(product.rawValue), \(original.rawValue)")
        }
    }

    private var transfer: HTML {
        guard !purchases.isEmpty else { return .empty }
        return form(
            "/transfers", "Transfer a purchase",
            choice("transfer-purchase", "purchase", "Purchase", purchases)
                + field("to", "to", "Customer that receives it") + reason("transfer-reason"), "Review the transfer…")
    }

    private var merge: HTML {
        form(
            "/merges", "Merge another name into this customer",
            field("alias", "alias", "The other name, such as an anonymous id") + reason("merge-reason"),
            "Review the merge…")
    }

    private var kinds: [String] { credits.credits.keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) } }

    private var creditGrant: HTML {
        guard !kinds.isEmpty else { return .empty }
        return form(
            "/credits", "Give credit",
            choice("granted-credit", "credit", "Credit", kinds.map { ($0, $0) })
                + field("amount", "amount", "Amount, a whole number")
                + field("credit-reason", "reason", "Reason, which the customer's export contains"),
            "Review the credit…")
    }

    private var redemption: HTML {
        guard !kinds.isEmpty else { return .empty }
        let types = credits.credits.values.flatMap(\.prices.keys).map { ExactString($0) }
        let names = Set(types).map(\.rawValue).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        return form(
            "/redemptions", "Take credit for an item",
            choice("credit", "credit", "Credit", kinds.map { ($0, $0) })
                + choice("type", "type", "Type of the item", names.map { ($0, $0) })
                + field("item", "item", "Id of the item, as the app names it") + reason("redemption-reason"),
            "Review the redemption…")
    }

    private var refresh: HTML {
        guard !refreshable.isEmpty else { return .empty }
        return form(
            "/refreshes", "Refresh a subscription from the store",
            choice(
                "refresh-purchase", "purchase", "Subscription",
                refreshable.prefix(200).map {
                    (
                        $0.originalTransactionID.rawValue,
                        "\($0.productID.rawValue), \($0.originalTransactionID.rawValue)"
                    )
                }), "Review the refresh…")
    }

    private var export: HTML {
        form("/exports", "Export all data", reason("export-reason"), "Review the export…")
    }

    private var erasure: HTML { form("/erasures", "Erase the customer", .empty, "Review the erasure…") }
}
