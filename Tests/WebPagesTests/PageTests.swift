import Foundation
import HTTPCore
import PluginHub
import Primitives
import Testing
import WebPages

@Suite struct PageTests {
    private let page = Page(
        title: "A <b> & \"c\"", body: "<h1>x</h1>", style: "h1 { color: red }", script: "document.title")

    @Test func `a page refers to no external resources`() {
        let text = page.text
        #expect(text.hasPrefix("<!doctype html>\n<html lang=\"en\">"))
        #expect(text.contains("<title>A &lt;b&gt; &amp; &quot;c&quot;</title>"))
        #expect(text.contains("h1 { color: red }</style>"))
        #expect(text.contains("<script>document.title</script>"))
        for outside in ["http:", "https:", "src=", "@import", "url("] { #expect(!text.contains(outside)) }
    }

    @Test func `the policy allows exactly the style and the script of the page`() throws {
        func digest(of tag: String) throws -> String {
            let start = try #require(page.text.range(of: "<\(tag)>")).upperBound
            let end = try #require(page.text.range(of: "</\(tag)>")).lowerBound
            return "'sha256-" + Base64.encode(SHA256.hash(page.text[start..<end].utf8)) + "'"
        }
        #expect(
            page.contentSecurityPolicy
                == "default-src 'none'; style-src \(try digest(of: "style")); script-src \(try digest(of: "script")); "
                + "form-action 'self'; base-uri 'none'")
        let still = Page(title: "", body: "")
        #expect(!still.contentSecurityPolicy.contains("script-src"))
        #expect(!still.text.contains("<script"))
    }

    @Test func `a response with a page cannot be framed, sniffed or cached`() throws {
        let response = HTTPResponse(status: 404, page: page)
        #expect(response.status == 404)
        #expect(response.headers["content-type"] == "text/html; charset=utf-8")
        #expect(response.headers["content-security-policy"] == page.contentSecurityPolicy + "; frame-ancestors 'none'")
        #expect(response.headers["x-content-type-options"] == "nosniff")
        #expect(response.headers["cache-control"] == "no-store")
        #expect(response.body.buffered == Array(page.text.utf8))
    }

    @Test func `several scripts run as one, in their order, each on lines of its own`() {
        let page = Page(title: "", body: "", styles: ["a {}", "b {}"], scripts: ["let a = 1 // one", "let b = a", ""])
        #expect(page.text.contains("<script>let a = 1 // one\nlet b = a\n</script>"))
        #expect(page.text.contains("a {}b {}</style>"))
        let none = Page(title: "", body: "", styles: [], scripts: [])
        #expect(!none.text.contains("<script"))
    }

    @Test func `only a page with requests may connect, and then no text may become a script`() {
        var page = page
        #expect(!page.contentSecurityPolicy.contains("connect-src"))
        let before = page.contentSecurityPolicy
        page.asksItsServer = true
        let rules = page.contentSecurityPolicy.components(separatedBy: "; ")
        #expect(
            Set(rules).subtracting(before.components(separatedBy: "; ")) == [
                "connect-src 'self'", "require-trusted-types-for 'script'", "trusted-types",
            ])
        for word in ["unsafe-inline", "unsafe-eval", "*", "http", "data:"] { #expect(!rules.joined().contains(word)) }
    }

    @Test func `the policy depends on the style and the script of a page, and not on its title and body`() {
        func policy(title: String = "", body: HTML = "", style: StaticString = "", script: StaticString = "") -> String
        {
            Page(title: title, body: body, style: style, script: script).contentSecurityPolicy
        }
        #expect(policy(title: "x", body: "y") == policy())
        #expect(policy(style: "a {}") != policy() && policy(script: "a") != policy(script: "b"))
    }

    @Test func `a title cannot end its element`() {
        let page = Page(title: "</title><script>alert(1)</script>", body: "")
        #expect(page.text.components(separatedBy: "</title>").count == 2)
        #expect(!page.text.contains("<script"))
    }
}
