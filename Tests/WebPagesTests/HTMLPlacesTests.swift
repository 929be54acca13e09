import Testing
import WebPages

/// The positions where text may be interpolated, and those that stop the process.
@Suite struct HTMLPlacesTests {
    private let nasty = "\"'<>&"
    private let escaped = "&quot;&#39;&lt;&gt;&amp;"

    @Test func `text is permitted between tags and in quoted attributes`() {
        let quoted: HTML =
            "<a href=\"\(nasty)\" title='\(nasty)' data-x=\"a'\(nasty)\" data-y='a\"\(nasty)'>\(nasty)</a>"
        #expect(
            quoted.markup
                == "<a href=\"\(escaped)\" title='\(escaped)' data-x=\"a'\(escaped)\" data-y='a\"\(escaped)'>\(escaped)</a>"
        )
        let between: HTML = "a > b \"\(nasty)\" it's <br> \(nasty)"
        #expect(between.markup == "a > b \"\(escaped)\" it's <br> \(escaped)")
    }

    @Test func `text is permitted again after a script or a style`() {
        let script: HTML = "<script>a = '</b>' + \"<\"</script><p>\(nasty)</p>"
        #expect(script.markup.hasSuffix("</script><p>\(escaped)</p>"))
        let style: HTML = "<STYLE>a > b { content: '<' }</STYLE>\(nasty)"
        #expect(style.markup.hasSuffix(escaped))
        let mixed: HTML = "<sCript>'</SCRIPT>\(nasty)<scrip>\(nasty)</scrip>\(nasty)"
        #expect(mixed.markup == "<sCript>'</SCRIPT>\(escaped)<scrip>\(escaped)</scrip>\(escaped)")
    }

    @Test func `several strings in one attribute are each escaped, and nil is empty`() {
        let (none, some): (String?, String?) = (nil, "<")
        let html: HTML = "<i title=\"\(none)-\(some)-\("&", when: true)-\("x", when: false)\">\(none)</i>"
        #expect(html.markup == "<i title=\"-&lt;-&amp;-\"></i>")
    }

    @Test func `a number is permitted everywhere, because it cannot be markup`() {
        let html: HTML = "<td colspan=\(2) rowspan=\"\(-3)\">\(UInt8.max)</td>"
        #expect(html.markup == "<td colspan=2 rowspan=\"-3\">255</td>")
    }

    @Test func `text in a tag stops the program: as an attribute, as a name, and even if it is nil`() async {
        await #expect(processExitsWith: .failure) {
            let text = "onclick=alert(1)"
            _ = "<b title=\"a\" \(text)>" as HTML
        }
        await #expect(processExitsWith: .failure) {
            let text = "b"
            _ = "<\(text)>" as HTML
        }
        await #expect(processExitsWith: .failure) {
            let text = "b"
            _ = "<b>x</\(text)>" as HTML
        }
        await #expect(processExitsWith: .failure) {
            let text: String? = nil
            _ = "<b \(text)>" as HTML
        }
        await #expect(processExitsWith: .failure) {
            let text = "x"
            _ = "<b \(text, when: true)>" as HTML
        }
    }

    @Test func `text in a script stops the program, however the script is written`() async {
        await #expect(processExitsWith: .failure) {
            let text = "alert(1)"
            _ = "<SCRIPT>\(text)</SCRIPT>" as HTML
        }
        await #expect(processExitsWith: .failure) {
            let text = "alert(1)"
            _ = "<script type=\"module\">let a = '</b>'; let b = '\(text)'</script>" as HTML
        }
        await #expect(processExitsWith: .failure) {
            let text = "*{}"
            _ = "<Style>a { content: '</b>' } \(text)</Style>" as HTML
        }
        await #expect(processExitsWith: .failure) {
            let markup: HTML = "<b>"
            _ = "<script>\(markup)</script>" as HTML
        }
    }

    @Test func `markup in a single-quoted value stops the program as well`() async {
        await #expect(processExitsWith: .failure) {
            let markup: HTML = " hidden"
            _ = "<b title='\(markup)'>" as HTML
        }
    }
}
