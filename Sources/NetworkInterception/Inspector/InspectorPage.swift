import Foundation
import HTTPCore
import PluginHub
import Primitives
import WebPages

/// A web page with the traffic of an interceptor, which an app can mount: a live list with search, the details of each
/// record, the florets with their settings, and requests to edit and send again.
///
///     let page = InspectorPage(interceptor)
///     let listener = HTTPListener(handler: page)     // on 127.0.0.1
///     print(try listener.start())
///     …
///     page.close()
///     await listener.stop()
///
/// The page loads nothing from other servers, and shows content from the network as text. It shows stored records, so
/// the secrets that redaction removed are not on it. On a loopback listener, only this machine can open it. For any
/// other listener, require a token, because a client that is not a browser can send any host name. Another site in the
/// same browser can neither read it nor change anything.
public final class InspectorPage: HTTPHandler {
    /// The settings of a page.
    public struct Configuration: Sendable {
        /// The title above the list.
        public var title = "Traffic"
        /// The path at which the page is mounted, without a slash at its end. Empty is the root.
        public var path = ""
        package var access = InspectorAccess.loopback
        /// Sends the requests that were written or edited on the page, through the interceptor. With `nil`, the page
        /// cannot send requests. Redacted headers are left out, so use a transport that adds the credentials again.
        public var transport: (any HTTPTransport)?
        /// The time without events after which an open page receives a keep-alive message.
        public var keepAliveInterval: Duration = .seconds(15)
        /// The number of newest events that are always kept for a page that reconnects. Up to twice as many may be
        /// kept.
        package var eventLimit = 4096

        /// Creates the standard settings.
        public init() {}

        /// Permits access from any machine with a token, instead of from this machine only.
        ///
        /// - Parameter token: The token.
        public mutating func requireToken(_ token: String) { access = .token(token) }
    }

    let interceptor: Interceptor
    let configuration: Configuration
    let feed: InspectorFeed
    /// The CSRF token in the forms of floret settings. A site that has not read the page does not have it.
    let proof = UUID().uuidString
    private let followers = Locked<[Task<Void, Never>]>([])
    private let router = Locked(Router())

    /// Creates a page.
    ///
    /// - Parameters:
    ///   - interceptor: The interceptor whose traffic is shown.
    ///   - configuration: The settings.
    public init(_ interceptor: Interceptor, configuration: Configuration = .init()) {
        self.interceptor = interceptor
        self.configuration = configuration
        feed = InspectorFeed(
            clock: interceptor.configuration.clock, limit: configuration.eventLimit,
            redaction: interceptor.configuration.redaction)
        let updates = interceptor.storage.updates
        follow { [feed] in for await record in updates { feed.note(.record(record.id)) } }
        let clearings = interceptor.clearings
        follow { [feed] in for await _ in clearings { feed.note(.cleared) } }
        router.withLock { $0 = routes() }
    }

    deinit { close() }

    /// Shows the messages of a hub beside the records, from now on. The newest 1 000 are kept.
    ///
    /// - Parameter trace: The trace of the hub.
    public func follow(_ trace: HubTrace) {
        let entries = trace.values()
        feed.startTrace()
        follow { [feed] in for await entry in entries { feed.note(entry) } }
    }

    /// Ends the updates of open pages. Call it before the listener stops, which otherwise waits for open pages.
    public func close() {
        let tasks = followers.withLock { followers in
            defer { followers = [] }
            return followers
        }
        for task in tasks { task.cancel() }
        feed.close()
    }

    private func follow(_ work: @escaping @Sendable () async -> Void) {
        followers.withLock { $0.append(Task(operation: work)) }
    }

    public func respond(to request: HTTPRequest) -> HTTPReply {
        if let refusal = configuration.access.refusal(of: request, at: configuration.path) { return .ready(refusal) }
        return router.withLock { $0 }.respond(to: request)
    }
}

extension InspectorPage {
    private typealias Answer = @Sendable (InspectorPage, HTTPRequest, PathParameters) async throws -> HTTPResponse

    private func routes() -> Router {
        var router = Router()
        let path = configuration.path
        let page = HTTPResponse(page: page)
        router.on(.get, path + "/") { _, _ in .ready(page) }
        if !path.isEmpty {
            router.on(.get, path) { _, _ in .ready(HTTPResponse(status: 308, headers: ["Location": path + "/"])) }
        }
        for (method, pattern, answer) in Self.answers {
            router.on(method, path + pattern) { [weak self] request, parameters in
                guard let self else { return .ready(Self.gone) }
                return .suspended { await self.response(request, parameters, answer) }
            }
        }
        return router
    }

    private static let answers: [(HTTPRequest.Method, String, Answer)] = [
        (.get, "/api/state", { page, _, _ in HTTPResponse(json: page.state) }),
        (.post, "/api/state", { page, request, _ in try await page.setState(request) }),
        (.get, "/api/records", { page, request, _ in try await page.list(request) }),
        (.delete, "/api/records", { page, _, _ in await page.forgetAll() }),
        (.get, "/api/records/{id}", { page, _, path in try await page.details(path) }),
        (.get, "/api/records/{id}/{part}", { page, _, path in try await page.download(path) }),
        (.post, "/api/records/{id}/resend", { page, request, path in try await page.resend(request, path) }),
        (.post, "/api/records/{id}/mock", { page, _, path in try await page.mockRecord(path) }),
        (.get, "/api/export", { page, request, _ in try await page.export(request) }),
        (.post, "/api/requests", { page, request, _ in try await page.sendNew(request) }),
        (.get, "/api/updates", { page, request, _ in try page.updates(request) }),
        (.get, "/api/trace", { page, _, _ in HTTPResponse(json: page.feed.traceList) }),
        (.post, "/api/florets/{number}", { page, request, path in try await page.toggle(request, path) }),
        (.get, "/florets/{number}", { page, _, path in try page.settings(path) }),
        (.post, "/florets/{number}", { page, request, path in try await page.perform(request, path) }),
    ]

    private func response(
        _ request: HTTPRequest, _ parameters: PathParameters, _ answer: Answer
    ) async -> HTTPResponse {
        var response: HTTPResponse
        do {
            response = try await answer(self, request, parameters)
        } catch let problem as HTTPProblem {
            response = problem.response
        } catch {
            response = HTTPProblem(status: 400, code: "invalid", title: "Invalid", detail: "\(error)").response
        }
        for (name, value) in [
            ("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer"),
            ("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; sandbox"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
        ] where !response.headers.contains(name) { response.headers.add(name, value) }
        return response
    }

    private static let gone = HTTPProblem(
        status: 503, code: "closed", title: "Closed", detail: "The inspector is closed."
    ).response
}

extension HTTPProblem {
    static func unknownRecord() -> HTTPProblem {
        HTTPProblem(
            status: 404, code: "unknown_record", title: "Unknown record", detail: "This record is no longer stored.")
    }

    static func invalid(_ field: String, _ detail: String) -> HTTPProblem {
        HTTPProblem(status: 422, code: "invalid_field", title: "Invalid field", detail: detail, field: field)
    }
}
