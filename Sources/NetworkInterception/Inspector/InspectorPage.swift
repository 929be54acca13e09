import Foundation
import HTTPCore
import PluginHub
import Primitives
import WebPages

/// What an interceptor has seen, as a web page for an app to mount: a live list with search, each record in full, the
/// florets with their settings, and requests to change and send again.
///
///     let page = InspectorPage(interceptor)
///     let listener = HTTPListener(handler: page)     // on 127.0.0.1
///     print(try listener.start())
///     …
///     page.close()
///     await listener.stop()
///
/// Nothing on it comes from elsewhere, and what came from the network is text there, whatever it says. It shows what is
/// stored, so secrets that the interceptor's redaction took out are not on it. Only this machine may see it, unless its configuration requires a token; another site
/// open in the same browser may neither read nor do anything.
public final class InspectorPage: HTTPHandler {
    public struct Configuration: Sendable {
        /// Above the list.
        public var title = "Traffic"
        /// The path it is mounted at, without a slash at its end; empty is the root.
        public var path = ""
        package var access = InspectorAccess.loopback
        /// Sends requests that were written or changed on the page, through the interceptor. `nil`, and none can be sent.
        /// What was redacted is missing there: a transport that adds the credentials again can stand here.
        public var transport: (any HTTPTransport)?
        /// After how long of silence a listening page is told that the connection still works.
        public var silence: Duration = .seconds(15)
        /// How many events a page that was away can still be told: at least these, at most twice as many.
        package var eventLimit = 4096

        public init() {}

        /// Shows the page to everyone who has the token, from anywhere, instead of to this machine alone.
        public mutating func requireToken(_ token: String) { access = .token(token) }
    }

    let interceptor: Interceptor
    let configuration: Configuration
    let feed: InspectorFeed
    /// Stands in the forms of florets' settings: who has not read the page does not know it.
    let proof = UUID().uuidString
    private let followers = Locked<[Task<Void, Never>]>([])
    private let router = Locked(Router())

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

    /// Shows what a hub decides beside the records, from now on. The newest thousand entries are kept.
    public func follow(_ trace: HubTrace) {
        let entries = trace.values()
        feed.hasTrace()
        follow { [feed] in for await entry in entries { feed.note(entry) } }
    }

    /// Ends what listens and follows. To be called before the listener that serves the page stops, which would otherwise
    /// wait for pages that are open.
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

// MARK: - Paths

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
        status: 503, code: "closed", title: "Closed", detail: "The inspector was closed."
    ).response
}

extension HTTPProblem {
    static func unknownRecord() -> HTTPProblem {
        HTTPProblem(
            status: 404, code: "unknown_record", title: "Unknown record", detail: "This record is not kept any more.")
    }

    static func invalid(_ field: String, _ detail: String) -> HTTPProblem {
        HTTPProblem(status: 422, code: "invalid_field", title: "Invalid field", detail: detail, field: field)
    }
}
