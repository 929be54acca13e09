/// An HTML page for GET `/` that describes a server and links to its parts.
package struct IndexPage: Sendable {
    /// A link to a part of the server.
    package struct Link: Sendable, Encodable {
        /// A path on the same server.
        package var path: String
        /// A phrase about that part.
        package var summary: String

        package init(path: String, summary: String) {
            self.path = path
            self.summary = summary
        }
    }

    package var name: String
    package var description: String
    /// Further facts, such as a version, with their labels.
    package var details: [(label: String, value: String)]
    package var links: [Link]
    /// A note that names the documentation.
    package var note: String

    package init(
        name: String, description: String, details: [(label: String, value: String)] = [], links: [Link], note: String
    ) {
        self.name = name
        self.description = description
        self.details = details
        self.links = links
        self.note = note
    }

    /// The page as HTML, without scripts and external resources.
    package var response: HTTPResponse {
        let paragraphs = details.map { "<p>\(Self.escaped($0.label)): <code>\(Self.escaped($0.value))</code></p>\n" }
        let items = links.map { link in
            let path = Self.escaped(link.path)
            return "<li><a href=\"\(path)\"><code>\(path)</code></a> \(Self.escaped(link.summary))</li>\n"
        }
        let text = """
            <!DOCTYPE html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="color-scheme" content="light dark">
            <title>\(Self.escaped(name))</title>
            </head>
            <body>
            <main>
            <h1>\(Self.escaped(name))</h1>
            <p>\(Self.escaped(description))</p>
            \(paragraphs.joined())<ul>
            \(items.joined())</ul>
            <p>\(Self.escaped(note))</p>
            </main>
            </body>
            </html>

            """
        return HTTPResponse(
            status: 200,
            headers: [
                "Content-Type": "text/html; charset=utf-8", "Vary": "Accept",
                "Content-Security-Policy":
                    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
                "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
            ], body: .text(text))
    }

    private static func escaped(_ text: String) -> String {
        var result = ""
        for character in text.unicodeScalars {
            switch character {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            default: result.unicodeScalars.append(character)
            }
        }
        return result
    }
}
