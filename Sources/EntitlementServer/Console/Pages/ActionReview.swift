import StoreModel
import WebPages

/// The page that shows the effect of an action, with the form that executes it.
struct ActionReview: Sendable {
    let frame: ConsoleFrame
    /// The customer that the action concerns; `nil` for an action of the operations page.
    let customer: CustomerID?
    /// The path of the action, such as `/transfers`.
    let path: String
    /// The id of this review. An action changes the ledger once for each id, even if its form is sent twice.
    let requestID: String
    let title: String
    let button: String
    var isRisky = false
    /// Whether the operator must type the customer's id.
    var needsConfirmation = false
    let effect: HTML
    let consequences: [HTML]
    let fields: [(String, String)]

    var page: Page {
        let items = consequences.map { "<li>\($0)</li>\n" as HTML }.joined()
        let named = (customer.map { [("id", $0.rawValue)] } ?? []) + [("request", requestID)] + fields
        let hidden = named.map { name, value -> HTML in
            "<input type=\"hidden\" name=\"\(name)\" value=\"\(value)\">\n"
        }.joined()
        return frame.page(
            title,
            """
            <section class="card pane" aria-labelledby="title">
            <h1 id="title">\(title)</h1>
            <p id="effect">\(effect)</p>
            <ul>
            \(items)</ul>
            <form class="stack" method="post" action="\(ConsoleRoute.root + path)">\(frame.hidden)
            \(hidden)\(needsConfirmation ? customer.map(confirmation) : nil)\
            <div class="buttons"><button class="\(isRisky ? "risky" : "main")">\(button)</button> \(wayBack)</div>
            </form>
            </section>
            """)
    }

    private var wayBack: HTML {
        guard let customer else {
            return "<a class=\"button\" href=\"\(frame.path("/operations"))\">Back to the operations</a>"
        }
        return "<a class=\"button\" href=\"\(frame.path(of: customer))\">Back to the customer</a>"
    }

    private func confirmation(_ customer: CustomerID) -> HTML {
        """
        <label for="confirm">Type the id of the customer, \(ConsoleFrame.code(customer.rawValue)), to confirm</label>
        <input id="confirm" name="confirm" autocomplete="off" spellcheck="false" required>

        """
    }

    /// Returns the sentence about the reason of an action, if it has one.
    static func sentence(about reason: String?) -> [HTML] {
        reason.map { ["The audit log stores the reason “<bdi>\($0)</bdi>”."] } ?? []
    }
}
