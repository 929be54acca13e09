import HTTPCore
import Primitives

/// A self-contained web page, which works from a file and without a network.
///
///     let page = Page(title: "Ledger", body: "<h1>Ledger</h1>")
///     return .ready(HTTPResponse(page: page))
///
/// Its content security policy permits no other styles and scripts than the page's own.
public struct Page: Sendable {
    /// The title.
    public var title: String
    /// The content of the `body` element.
    public var body: HTML
    /// The style sheets of this page. They follow the style sheet of all pages.
    public var styles: [StaticString]
    /// The scripts of this page, which run in order at the end of the `body` element.
    public var scripts: [StaticString]
    /// Whether the script may send requests to the server of the page.
    public var asksItsServer = false

    /// Creates a page.
    ///
    /// - Parameters:
    ///   - title: The title.
    ///   - body: The content of the `body` element.
    ///   - style: The style sheet.
    ///   - script: The script.
    public init(title: String, body: HTML, style: StaticString = "", script: StaticString = "") {
        self.init(title: title, body: body, styles: [style], scripts: [script])
    }

    /// Creates a page with several style sheets and scripts.
    ///
    /// - Parameters:
    ///   - title: The title.
    ///   - body: The content of the `body` element.
    ///   - styles: The style sheets.
    ///   - scripts: The scripts, which run in order.
    public init(title: String, body: HTML, styles: [StaticString], scripts: [StaticString]) {
        self.title = title
        self.body = body
        self.styles = styles
        self.scripts = scripts
    }

    private var css: String { Self.style + styles.map(\.text).joined() }
    private var script: String { scripts.map(\.text).joined(separator: "\n") }

    /// The content security policy: the page may use its own style and script, and send forms to its server. With
    /// ``asksItsServer``, the script may also send requests to the server, and the browser prevents a response from
    /// becoming markup or a script.
    public var contentSecurityPolicy: String {
        var rules = ["default-src 'none'", "style-src \(Self.hash(css))"]
        if !script.isEmpty { rules.append("script-src \(Self.hash(script))") }
        if asksItsServer { rules += ["connect-src 'self'", "require-trusted-types-for 'script'", "trusted-types"] }
        return (rules + ["form-action 'self'", "base-uri 'none'"]).joined(separator: "; ")
    }

    /// The document as text.
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
    /// Creates a response with a page. The page cannot be framed or cached, and sends no referrer.
    ///
    /// - Parameters:
    ///   - status: The status.
    ///   - page: The page.
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
