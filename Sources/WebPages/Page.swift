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
    public var style: StaticString
    /// Runs once the page is there.
    public var script: StaticString

    public init(title: String, body: HTML, style: StaticString = "", script: StaticString = "") {
        self.title = title
        self.body = body
        self.style = style
        self.script = script
    }

    private var css: String { Self.style + style.text }

    /// What the page may do: nothing but its own style and script, and forms to where it came from.
    public var contentSecurityPolicy: String {
        var rules = ["default-src 'none'", "style-src \(Self.hash(css))"]
        if !script.text.isEmpty { rules.append("script-src \(Self.hash(script.text))") }
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
        let script = script.text.isEmpty ? "" : "<script>\(script.text)</script>\n"
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
