import StoreModel
import WebPages

/// The first page of the console: a search for customers, and its results.
struct SearchPage: Sendable {
    let frame: ConsoleFrame
    let query: String
    let found: CustomerList
    /// Whether order ids are looked up at the App Store.
    let looksUpOrders: Bool
    /// The reason why the query cannot be used.
    var fault: String?

    var page: Page {
        frame.page(
            "Customers",
            """
            <section class="card pane" aria-labelledby="title">
            <h1 id="title">Customers</h1>
            <form class="line" method="get" action="/console" role="search">
            <div><label for="query">Customer id, alias, transaction id or web order line item id</label>
            <input id="query" name="query" value="\(query)" maxlength="255" autocomplete="off" spellcheck="false"></div>
            \(environmentField)
            <button class="main">Search</button>
            </form>
            <p class="hint">Finds the beginning of a customer id or an alias, and a complete transaction id or web order line \
            item id. \(orders) It cannot find names and email addresses, because no signed data has them. It cannot find app \
            account tokens, products, or purchases that no customer has.</p>
            \(fault.map { fault -> HTML in "<p class=\"fault\" role=\"alert\">\(fault)</p>" })
            </section>
            <section class="card pane" aria-labelledby="results">
            <h2 id="results">\(query.isEmpty ? "All customers, by id" : "Results")</h2>
            \(results)
            </section>
            """)
    }

    private var orders: HTML {
        looksUpOrders
            ? "The App Store is asked about an order id from one of its mails, such as MK5TTTVWJH."
            : "It cannot find an order id from a mail of the App Store, because the server has no key to ask about it."
    }

    private var environmentField: HTML {
        let options = frame.environments.map { environment -> HTML in
            """
            <option value="\(environment.rawValue)"\(" selected", if: environment == frame.environment)>\
            \(environment.rawValue)</option>
            """
        }
        return """
            <div><label for="environment">Environment</label>
            <select id="environment" name="environment">\(options.joined())</select></div>
            """
    }

    private var results: HTML {
        guard !found.customers.isEmpty else { return "<p id=\"none\">No customers match.</p>" }
        let rows = found.customers.map { entry -> HTML in
            """
            <tr><td><a href="\(frame.path(of: entry.customer))">\(ConsoleFrame.code(entry.customer.rawValue))</a></td>\
            <td>\(CustomerPage.aliases(entry.aliases))</td><td>\(ConsoleFrame.time(entry.firstSeenAt))</td>\
            <td>\(ConsoleFrame.time(entry.erasedAt, otherwise: "–"))</td></tr>

            """
        }
        let next = found.nextCursor.map { cursor -> HTML in
            "<p><a class=\"button\" href=\"\(frame.path("", [("query", query), ("cursor", cursor)]))\">Next page</a></p>"
        }
        return ConsoleFrame.table("Customers found", ["Customer", "Aliases", "First seen", "Erased"], rows)
            + (next ?? .empty)
    }
}
