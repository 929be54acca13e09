import HTTPCore
import Primitives

/// A whole page: everything it needs is inside it, so it works from a file and without a network.
///
///     let page = Page(title: "Ledger", body: "<h1>Ledger</h1>")
///     return .ready(HTTPResponse(page: page))
///
/// Its content security policy allows exactly the style and the script it was made with.
public struct Page: Sendable {
    public var title: String
    public var body: HTML
    /// Rules of this page, after those that all pages have.
    public var styles: [StaticString]
    /// Run as one, in their order, once the page is there.
    public var scripts: [StaticString]
    /// Whether its script may ask the server that the page comes from.
    public var asksItsServer = false

    public init(title: String, body: HTML, style: StaticString = "", script: StaticString = "") {
        self.init(title: title, body: body, styles: [style], scripts: [script])
    }

    public init(title: String, body: HTML, styles: [StaticString], scripts: [StaticString]) {
        self.title = title
        self.body = body
        self.styles = styles
        self.scripts = scripts
    }

    private var css: String { Self.style + styles.map(\.text).joined() }
    private var script: String { scripts.map(\.text).joined(separator: "\n") }

    /// What the page may do: nothing but its own style and script, and forms to where it came from. A page that asks its
    /// server may do that too, and no text it gets there can become markup or a script.
    public var contentSecurityPolicy: String {
        var rules = ["default-src 'none'", "style-src \(Self.hash(css))"]
        if !script.isEmpty { rules.append("script-src \(Self.hash(script))") }
        if asksItsServer { rules += ["connect-src 'self'", "require-trusted-types-for 'script'", "trusted-types"] }
        return (rules + ["form-action 'self'", "base-uri 'none'"]).joined(separator: "; ")
    }

    /// The document.
    public var text: String {
        let head: HTML = """
            <!doctype html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="color-scheme" content="light dark">
            <meta http-equiv="Content-Security-Policy" content="\(contentSecurityPolicy)">
            <title>\(title)</title>
            """
        let script = script.isEmpty ? "" : "<script>\(script)</script>\n"
        return "\(head.markup)\n<style>\(css)</style>\n</head>\n<body>\n\(body.markup)\n\(script)</body>\n</html>\n"
    }

    private static func hash(_ text: String) -> String { "'sha256-\(Base64.encode(SHA256.hash(text.utf8)))'" }
}

extension HTTPResponse {
    /// An answer with a page. It cannot be framed, is not kept by caches, and tells other sites nothing.
    public init(status: Int = 200, page: Page) {
        self.init(
            status: status,
            headers: [
                "Content-Type": "text/html; charset=utf-8",
                "Content-Security-Policy": "\(page.contentSecurityPolicy); frame-ancestors 'none'",
                "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
            ], body: .text(page.text))
    }
}
