import Testing
import WebPages

@Suite struct HTMLTests {
    private let nasty = #"<script>alert("1")</script> & 'more'"#

    @Test func `interpolated text is escaped, between tags and in attributes`() {
        let html: HTML = "<b title=\"\(nasty)\" lang='\(nasty)'>\(nasty)</b>"
        let escaped = "&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp; &#39;more&#39;"
        #expect(html.markup == "<b title=\"\(escaped)\" lang='\(escaped)'>\(escaped)</b>")
        #expect(HTML.text(nasty).markup == escaped)
    }

    @Test func `interpolated HTML is not escaped`() {
        let items = ["a", "<b>"].map { (item: String) -> HTML in "<li>\(item)</li>" }
        let list: HTML = "<ul\(" hidden", if: true)\(" inert", if: false)>\(items.joined())</ul>"
        #expect(list.markup == "<ul hidden><li>a</li><li>&lt;b&gt;</li></ul>")
        #expect(items.joined(separator: "<hr>").markup == "<li>a</li><hr><li>&lt;b&gt;</li>")
        #expect((items[0] + items[1]).markup == "<li>a</li><li>&lt;b&gt;</li>")
        let none: HTML? = nil
        #expect(("\(none)" as HTML) == .empty)
    }

    @Test(arguments: [(0.0, "0"), (1.25, "1.3"), (-0.5, "-0.5"), (-12.0, "-12"), (-0.01, "0"), (100.04, "100")])
    func `lengths have at most one digit after the point`(number: Double, text: String) {
        #expect(("\(number)" as HTML).markup == text)
    }

    @Test func `characters that HTML does not permit are replaced`() {
        #expect(HTML.text("a\u{0}b\u{1B}c\u{85}d\ne").markup == "a\u{FFFD}b\u{FFFD}c\u{FFFD}d\ne")
    }

    @Test(arguments: [
        ("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("\"", "&quot;"), ("'", "&#39;"), ("\u{0}", "\u{FFFD}"),
        ("\u{1F}", "\u{FFFD}"), ("\u{7F}", "\u{FFFD}"), ("\u{80}", "\u{FFFD}"), ("\u{9F}", "\u{FFFD}"), ("\t", "\t"),
        ("\r\n", "\r\n"), ("\u{A0}", "\u{A0}"), ("é", "é"), ("<\u{301}", "&lt;\u{301}"), ("", ""),
    ])
    func `one special character in a text is enough`(text: String, escaped: String) {
        #expect(HTML.text("a" + text).markup.utf8.elementsEqual(("a" + escaped).utf8))
    }

    @Test func `text in a tag stops the program`() async {
        await #expect(processExitsWith: .failure) {
            let text = "onclick=alert(1)"
            _ = "<b \(text)>" as HTML
        }
        await #expect(processExitsWith: .failure) {
            let text = "x onclick=alert(1)"
            _ = "<b title=\(text)>" as HTML
        }
    }

    @Test func `text in a script or a style stops the program`() async {
        await #expect(processExitsWith: .failure) {
            let text = "alert(1)"
            _ = "<script>\(text)</script>" as HTML
        }
        await #expect(processExitsWith: .failure) {
            let text = "*{}"
            _ = "<style>\(text)</style>" as HTML
        }
    }

    @Test func `markup in an attribute's value stops the program`() async {
        await #expect(processExitsWith: .failure) {
            let html: HTML = "<b>"
            _ = "<b title=\"\(html)\">" as HTML
        }
    }
}
