import Foundation
import HTTPCore
import Primitives
import StoreModel
import WebPages

/// The parts that all pages of a session have: the app, the environment and the rights of the session.
struct ConsoleFrame: Sendable {
    let app: BundleID
    let environment: StoreEnvironment
    let environments: [StoreEnvironment]
    let role: ConsoleSession.Role
    /// The token that each form contains.
    let formToken: String
    /// The stamp of the data of the page (`ConsoleUpdates`); `nil` for the response to a form, which is not read again.
    let stamp: Int64?
    /// Whether the page shows figures.
    let isOfFigures: Bool

    /// Returns a page with the header of the console.
    func page(_ title: String, _ content: HTML) -> Page {
        var page = Page(
            title: "\(title) · Souk console", body: header + "<main id=\"main\"\(updates)>\(content)</main>",
            style: Self.style, script: stamp == nil ? "" : Self.script)
        page.asksItsServer = stamp != nil
        return page
    }

    /// Returns a page without a session.
    static func openPage(_ title: String, _ content: HTML) -> Page {
        Page(
            title: "\(title) · Souk console", body: "<main id=\"main\" class=\"narrow\">\(content)</main>", style: style
        )
    }

    /// The attributes that the script reads: the stamp of the page, and the path of the updates.
    private var updates: HTML {
        guard let stamp else { return .empty }
        let stream = path(ConsoleUpdates.name, isOfFigures ? [("page", ConsoleUpdates.figures)] : [])
        return " data-stamp=\"\(stamp)\" data-updates=\"\(stream)\""
    }

    private var header: HTML {
        """
        <a class="skip" href="#main">Skip to the content</a>
        <header>
        <p class="brand"><a href="\(path(""))">Souk console</a></p>
        <p class="soft">App \(Self.code(app.rawValue)) · \(environment.rawValue) · \
        <span id="role">\(role == .full ? "full access" : "read only")</span></p>
        <nav aria-label="Console"><a href="\(path(""))">Customers</a> <a href="\(path("/figures"))">Figures</a> \
        <a href="\(path("/audit"))">Audit log</a> <a href="\(path("/operations"))">Operations</a></nav>
        <form method="post" action="/console/sign-out">\(hidden)<button>Sign out</button></form>
        </header>
        <p id="updated" class="hidden-label" role="status"></p>
        """
    }

    /// The hidden fields of each POST form of a session.
    var hidden: HTML {
        """
        <input type="hidden" name="form" value="\(formToken)">\
        <input type="hidden" name="environment" value="\(environment.rawValue)">
        """
    }

    /// Returns a path of the console with the environment and further fields.
    func path(_ path: String, _ fields: [(String, String)] = []) -> String {
        let query = HTTPQuery([("environment", environment.rawValue)] + fields).encoded
        return "\(ConsoleRoute.root)\(path)?\(query)"
    }

    /// Returns the path of a customer's page.
    func path(of customer: CustomerID, _ fields: [(String, String)] = []) -> String {
        path("/customer", [("id", customer.rawValue)] + fields)
    }

    // MARK: - Values

    /// Returns the markup of an identifier or another value from outside, whose writing direction does not affect the
    /// text around it.
    static func code(_ text: String) -> HTML { "<code><bdi>\(text)</bdi></code>" }

    /// Returns a date in UTC.
    static func time(_ date: Date) -> HTML {
        let text = RFC3339.string(from: date)
        return "<time datetime=\"\(text)\">\(readable(date))</time>"
    }

    /// Returns a date as `2026-11-20 14:40:00 UTC`.
    static func readable(_ date: Date) -> String {
        RFC3339.string(from: date).replacing("T", with: " ").replacing("Z", with: " UTC")
    }

    static func time(_ date: Date?, otherwise words: String) -> HTML { date.map { time($0) } ?? .text(words) }

    /// Returns a row of a list of names and values.
    static func row(_ name: String, _ value: HTML) -> HTML { "<div><dt>\(name)</dt><dd>\(value)</dd></div>\n" }

    /// Returns a table with a caption for screen readers. On narrow screens, the table scrolls, not the page.
    static func table(_ caption: String, _ columns: [String], _ rows: [HTML]) -> HTML {
        """
        <div class="scrolling" role="region" aria-label="\(caption)" tabindex="0"><table>
        <caption class="hidden-label">\(caption)</caption>
        <thead><tr>\(columns.map { "<th scope=\"col\">\($0)</th>" as HTML }.joined())</tr></thead>
        <tbody>
        \(rows.joined())</tbody>
        </table></div>
        """
    }

    /// Returns a text in its own box, shortened if it is long.
    static func box(_ text: String, id: String) -> HTML {
        let limit = 100_000
        guard text.utf8.count > limit else { return "<pre id=\"\(id)\" tabindex=\"0\">\(text)</pre>" }
        return """
            <pre id="\(id)" tabindex="0">\(String(text.prefix(limit)))</pre>
            <p class="soft">The text is longer than \(limit) characters. The HTTP API returns all of it.</p>
            """
    }
}
