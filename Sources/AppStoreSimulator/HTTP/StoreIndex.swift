import HTTPCore
import Primitives
import StoreModel

/// What answers at `/`: which store this is, and where its parts and their documentation are.
struct StoreIndex: Sendable, Encodable, WireModel {
    static let schemaName = "Index"
    static let schema = WireSchema.object([
        .required("name", .text), .required("description", .text), .required("bundleID", .name),
        .required("links", .array(links)),
    ])
    private static let links = WireSchema.object([
        .required("path", .text), .required("summary", .text.described("what is there")),
    ])

    var name = "App Store simulator"
    var description = "souk simulate: an App Store for tests. It sells a StoreKit catalogue and signs what it sells."
    var bundleID: BundleID
    var links = Self.parts

    struct Link: Sendable, Encodable {
        var path: String
        var summary: String
    }

    private static let parts = [
        Link(path: "/openapi.yaml", summary: "The API of the store and of its control, as OpenAPI 3.1"),
        Link(path: "/openapi.json", summary: "The same as JSON"),
        Link(path: "/control/v1/products", summary: "What the store sells"),
        Link(path: "/control/v1/accounts", summary: "The accounts"),
        Link(path: "/control/v1/clock", summary: "The store's time"),
        Link(path: "/control/v1/settings", summary: "The settings"),
    ]

    /// For a browser. Nothing in it has to be escaped: a bundle id has letters, digits, hyphens and periods.
    var page: HTTPResponse {
        let rows = links.map { "<li><a href=\"\($0.path)\"><code>\($0.path)</code></a> \($0.summary)</li>\n" }
        let text = """
            <!DOCTYPE html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="color-scheme" content="light dark">
            <title>\(name)</title>
            </head>
            <body>
            <main>
            <h1>\(name)</h1>
            <p>\(description)</p>
            <p>The app: <code>\(bundleID.rawValue)</code></p>
            <ul>
            \(rows.joined())</ul>
            <p>Apple's App Store Server API is below <code>/inApps/</code>, receipts are checked at <code>/verifyReceipt</code>. \
            The files Simulator.md, ControlAPI.md and ServerAPI.md in the folder Documentation of Souk describe all of it.</p>
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
}

/// The two documents that differ for a browser: `/`, and the OpenAPI document as YAML.
struct StoreDocuments: Sendable {
    private let index: StoreIndex
    private static let yaml = Array(StoreDocument(StoreOperation.all).json.yaml.utf8)

    init(of bundleID: BundleID) { index = StoreIndex(bundleID: bundleID) }

    /// The answer to a request for one of them; `nil` for any other, and where a program asks for `/`, which is an
    /// operation like all others.
    func answer(to request: HTTPRequest) -> HTTPResponse? {
        guard [.get, .head].contains(request.method) else { return nil }
        return switch request.path {
        case "/openapi.yaml": HTTPResponse(yaml: Self.yaml, for: request)
        case "/" where request.prefersHTML: index.page
        default: nil
        }
    }
}
