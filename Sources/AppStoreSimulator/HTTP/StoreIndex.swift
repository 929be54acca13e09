import GooglePlay
import HTTPCore
import Primitives
import StoreModel

/// The answer at `/`: the app of the store, and the addresses of its APIs and their documentation.
struct StoreIndex: Sendable, Encodable, WireModel {
    static let schemaName = "Index"
    static let schema = WireSchema.object([
        .required("name", .text), .required("description", .text), .required("bundleID", .name),
        .required("links", .array(links)),
    ])
    private static let links = WireSchema.object([
        .required("path", .text), .required("summary", .text.described("the content of the path")),
    ])

    var name = "App Store simulator"
    var description =
        "souk simulate: an App Store for tests. It sells the products of a StoreKit catalogue and signs the transactions."
    var bundleID: BundleID
    var links = Self.parts

    private static let parts: [IndexPage.Link] = [
        .init(path: "/openapi.yaml", summary: "The device API and the control API, as OpenAPI 3.1"),
        .init(path: "/openapi.json", summary: "The same as JSON"),
        .init(path: "/control/v1/products", summary: "The products"),
        .init(path: "/control/v1/accounts", summary: "The accounts"),
        .init(path: "/control/v1/clock", summary: "The virtual time"),
        .init(path: "/control/v1/settings", summary: "The settings"),
    ]

    /// The page for a browser.
    func page(selling playPackage: PackageName?) -> HTTPResponse {
        FrontDeskPage(bundleID: bundleID, playPackage: playPackage, links: links).response
    }
}

/// The documents that are not endpoints: the page at `/` for a browser, and the OpenAPI document as YAML.
struct StoreDocuments: Sendable {
    private let index: StoreIndex
    private let playPackage: PackageName?
    private static let yaml = Array(StoreOpenAPIDocument(StoreEndpoints.all).json.yaml.utf8)

    init(of bundleID: BundleID, selling playPackage: PackageName?) {
        index = StoreIndex(bundleID: bundleID)
        self.playPackage = playPackage
    }

    /// Returns the answer to a request for one of the documents; `nil` for other requests. For a client that is not a
    /// browser, `/` is an endpoint.
    func answer(to request: HTTPRequest) -> HTTPResponse? {
        guard [.get, .head].contains(request.method) else { return nil }
        return switch request.path {
        case "/openapi.yaml": HTTPResponse(yaml: Self.yaml, for: request)
        case "/" where request.prefersHTML: index.page(selling: playPackage)
        default: nil
        }
    }
}
