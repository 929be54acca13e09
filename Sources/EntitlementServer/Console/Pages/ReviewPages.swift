import StoreModel
import WebPages

/// The page that says what a grant will do, before it is given.
struct GrantReview: Sendable {
    let frame: ConsoleFrame
    let customer: CustomerID
    let grant: Grant
    /// The end as the form states it.
    let until: String
    /// Identifies this review, so that a form that is sent twice grants once.
    let requestID: String
    /// Whether the customer has the feature already.
    let isActive: Bool

    var page: Page {
        frame.page(
            "Review a grant",
            """
            <section class="card pane" aria-labelledby="title">
            <h1 id="title">Grant \(ConsoleFrame.code(grant.feature))?</h1>
            <p id="effect">The customer \(ConsoleFrame.code(customer.rawValue)) gets the feature \
            \(ConsoleFrame.code(grant.feature)) now, \(end). The app learns it with its next request.\
            \(" The customer has the feature already; the grant gives it a second time." as HTML, if: isActive)</p>
            <ul>
            <li>Event streams and webhooks receive an event.</li>
            <li>Purchases stay as they are, and the store is not asked.</li>
            <li>The reason “<bdi>\(grant.reason)</bdi>” is stored, and the customer's answer shows it.</li>
            <li>A grant can be withdrawn.</li>
            </ul>
            <div class="buttons">
            <form method="post" action="/console/grants">\(frame.hidden)
            <input type="hidden" name="id" value="\(customer.rawValue)">
            <input type="hidden" name="request" value="\(requestID)">
            <input type="hidden" name="feature" value="\(grant.feature)">
            <input type="hidden" name="until" value="\(until)">
            <input type="hidden" name="reason" value="\(grant.reason)">
            <button class="main" autofocus>Grant the feature</button>
            </form>
            <a class="button" href="\(frame.path(of: customer))">Cancel</a>
            </div>
            </section>
            """)
    }

    private var end: HTML {
        grant.until.map { until -> HTML in "until \(ConsoleFrame.time(until))" } ?? "without an end"
    }
}

/// The page that says what the withdrawal of a grant will do.
struct WithdrawalReview: Sendable {
    let frame: ConsoleFrame
    let customer: CustomerID
    let grant: Grant
    /// Identifies this review, so that a form that is sent twice withdraws once.
    let requestID: String
    /// The other active sources of the feature.
    let others: [CustomerFeature]
    /// Whether the grant has ended already.
    let isOver: Bool

    var page: Page {
        frame.page(
            "Review a withdrawal",
            """
            <section class="card pane" aria-labelledby="title">
            <h1 id="title">Withdraw the grant of \(ConsoleFrame.code(grant.feature))?</h1>
            <p id="effect">\(effect)</p>
            <ul>
            <li>Event streams and webhooks receive an event if the customer's answer changes.</li>
            <li>The grant was given \(ConsoleFrame.time(grant.from)): “<bdi>\(grant.reason)</bdi>”.</li>
            <li>A withdrawal cannot be undone. You can grant the feature again.</li>
            </ul>
            <div class="buttons">
            <form method="post" action="/console/withdrawals">\(frame.hidden)
            <input type="hidden" name="id" value="\(customer.rawValue)">
            <input type="hidden" name="request" value="\(requestID)">
            <input type="hidden" name="grant" value="\(grant.id)">
            <button class="risky">Withdraw the grant</button>
            </form>
            <a class="button" href="\(frame.path(of: customer))">Cancel</a>
            </div>
            </section>
            """)
    }

    private var effect: HTML {
        if isOver { return "The grant has ended, so access does not change." }
        guard let other = others.first else {
            return """
                The customer \(ConsoleFrame.code(customer.rawValue)) loses the feature \
                \(ConsoleFrame.code(grant.feature)) at once: no purchase and no other grant gives it.
                """
        }
        return """
            The customer \(ConsoleFrame.code(customer.rawValue)) keeps the feature \(ConsoleFrame.code(grant.feature)): \
            <bdi>\(other.because)</bdi>, until \(ConsoleFrame.time(other.effectiveUntil, otherwise: "it is withdrawn")).
            """
    }
}
