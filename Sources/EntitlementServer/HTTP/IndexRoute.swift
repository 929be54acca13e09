import HTTPCore
import Primitives
import StoreModel

/// The endpoint GET `/`: the name of the server and links to its documentation, as JSON or a page.
struct IndexRoute: Sendable {
    private static let links: [IndexPage.Link] = [
        .init(path: "/openapi.yaml", summary: "The HTTP API of the server, as OpenAPI 3.1"),
        .init(path: "/openapi.json", summary: "The same as JSON"),
        .init(path: "/healthz", summary: "Check whether the server is alive"),
        .init(path: "/readyz", summary: "Whether it can read and write its ledger"),
        .init(path: "/v1/signing-keys", summary: "List the public keys of signed answers"),
    ]

    private let json: [UInt8]
    private let page: HTTPResponse

    init(version: String?, hasConsole: Bool = false) {
        let console = IndexPage.Link(path: ConsoleRoute.root, summary: "The console, for operators with a secret key")
        let page = IndexPage(
            name: "Souk entitlement server",
            description: "Verifies and stores signed transactions, and answers which features each customer may use.",
            details: version.map { [("Version", $0)] } ?? [],
            links: Self.links + (hasConsole ? [console] : []),
            note: """
                The folder Documentation of Souk has more: FactsIn.md on presenting purchases, Entitlements.md and \
                Customers.md on answers, Events.md on changes.
                """)
        self.page = page.response
        var members: JSONMembers = ["name": .string(page.name), "description": .string(page.description)]
        if let version { members["version"] = .string(version) }
        members["links"] = .array(page.links.map { ["path": .string($0.path), "summary": .string($0.summary)] })
        json = JSONValue.object(members).encoded()
    }

    var endpoints: [Endpoint<ServerHandler>] {
        [
            Endpoint(
                .get, "/", "getIndex", "Get the name of the server and links to its documentation", tag: .server,
                answer: .index,
                handler: .open { call in
                    guard !call.request.prefersHTML else { return .ready(page) }
                    return .ready(
                        HTTPResponse(
                            status: 200, headers: ["Content-Type": "application/json", "Vary": "Accept"],
                            body: .bytes(json)))
                })
        ]
    }
}
