import Foundation
import HTTPCore
import Primitives
import StoreModel
import WebPages

/// The web pages of a server for its operators, at `/console`.
///
/// Its only script reads a page again when its data has changed. A request to a page of a session is checked in this
/// order: the host and the origin, the session and its key, the rate limit of the key, the rights of the session, the
/// token of the form.
struct Console: Sendable {
    /// The header of the request by which a page reads itself again.
    private static let updateHeader = "Souk-Update"
    /// The largest form in bytes.
    private static let maximumForm = 16 << 10

    let access: EntitlementService.Configuration.ConsoleAccess
    let sessions: ConsoleSessions
    let attempts: SignInAttempts
    let ledger: Ledger
    let changes: ChangeSignal
    /// `nil` if no app has a client of the App Store Server API for an environment of this server.
    let statusPoller: StatusPoller?
    let webhooks: [WebhookName]
    let figureSettings: FigureSettings
    let slowRequests: SlowRequests
    let environments: [StoreEnvironment]
    let limiter: RateLimiter
    let observer: RequestObserver
    let realClock: any WallClock
    let makeRequestID: @Sendable () -> String
    let makeGrantID: @Sendable () -> String
    let report: @Sendable (_ requestID: String, any Error) -> Void

    /// Creates the console; `nil` if it is off.
    init?(
        _ configuration: EntitlementService.Configuration, _ parts: EntitlementService.Parts, _ limiter: RateLimiter,
        _ observer: RequestObserver
    ) {
        guard let access = configuration.console, let sessions = parts.consoleSessions else { return nil }
        self.access = access
        self.sessions = sessions
        attempts = SignInAttempts(clock: configuration.monotonicClock)
        ledger = parts.ledger
        changes = parts.changes
        statusPoller = parts.statusPoller
        webhooks = configuration.webhooks.map(\.id)
        figureSettings = configuration.figures
        slowRequests = parts.metrics.slowRequests
        environments = configuration.environments
        self.limiter = limiter
        self.observer = observer
        realClock = configuration.realClock
        makeRequestID = configuration.makeRequestID
        makeGrantID = configuration.makeGrantID
        report = configuration.reportFailure
    }

    /// All routes of the console.
    var routes: [ConsoleRoute] {
        signInRoutes + customerRoutes + auditRoutes + grantRoutes + moveRoutes + creditRoutes + refreshRoutes
            + privacyRoutes + figureRoutes + operationsRoutes + updateRoutes
    }

    /// Responds to a request to a route, or refuses it.
    func respond(
        to request: HTTPRequest, at route: ConsoleRoute, counting endpointMetrics: EndpointMetrics
    ) -> HTTPReply {
        let (id, begun) = (makeRequestID(), observer.begin(request))
        return .suspended {
            var session: ConsoleSession?
            var response: HTTPResponse
            do {
                try access.check(request)
                session = try self.session(of: request)
                response = try await self.response(to: request, at: route, session)
            } catch {
                let (refusal, isReported) = ConsoleRefusal.failure(error)
                if isReported { report(id, error) }
                response = self.response(to: refusal)
            }
            // A page that reads itself again does not prolong the session, because the reader may be away.
            let isUpdate = request.headers.contains(Self.updateHeader) || route.path == ConsoleUpdates.path
            if let session, !isUpdate, !response.headers.contains("Set-Cookie"),
                let renewed = sessions.renewed(session),
                let cookie = try? cookie(of: renewed)
            {
                response.headers.add("Set-Cookie", cookie)
            }
            response.headers.add(Authenticator.requestID, id)
            observer.observe(
                response, to: request, as: id, of: session?.caller, since: begun, counting: endpointMetrics)
            return response
        }
    }

    private func response(
        to request: HTTPRequest, at route: ConsoleRoute, _ session: ConsoleSession?
    ) async throws -> HTTPResponse {
        switch route.handler {
        case .open(let respond): return try await respond(fields(of: request))
        case .signedIn(let role, let respond):
            guard let session else {
                guard request.method != .post else { throw ConsoleRefusal.signedOut }
                return Self.redirect(to: SignInPage.path(returningTo: request.target))
            }
            try limiter.admit(session.caller)
            guard role == .readOnly || session.role == .full else { throw ConsoleRefusal.readOnly }
            let fields = try await fields(of: request)
            if request.method == .post {
                guard let token = fields["form"], sessions.isFormToken(token, of: session) else {
                    throw ConsoleRefusal.formExpired
                }
            }
            let environment = try environment(named: fields["environment"])
            let ledgerID = LedgerID(app: session.caller.app, environment: environment)
            let isOfFigures = route.path == ConsoleRoute.root + "/figures"
            // The response to a form is not read again.
            let stamp = request.method == .get ? try ledger.stamp(of: ledgerID, isOfFigures: isOfFigures) : nil
            let frame = ConsoleFrame(
                app: session.caller.app, environment: environment, environments: environments, role: session.role,
                formToken: sessions.formToken(of: session),
                stamp: stamp, isOfFigures: isOfFigures)
            return try await respond(
                ConsoleRequest(session: session, environment: environment, fields: fields, frame: frame))
        }
    }

    /// Returns the session of a request; `nil` if it has none that is valid.
    private func session(of request: HTTPRequest) throws -> ConsoleSession? {
        for token in access.tokens(in: request) {
            if let session = try sessions.session(of: token) { return session }
        }
        return nil
    }

    /// Returns the value of `Set-Cookie` for a session.
    func cookie(of session: ConsoleSession) throws -> String {
        access.cookie(try sessions.token(of: session), seconds: sessions.secondsLeft(of: session))
    }

    /// Reads the query, or the form of a POST. Throws 400, 413 and 415.
    private func fields(of request: HTTPRequest) async throws -> HTTPQuery {
        guard request.method == .post else {
            guard let query = request.query else { throw Refusal.malformedQuery }
            return query
        }
        let type = request.headers["Content-Type"]?.split(separator: ";").first.map { $0.lowercased() }
        guard type == "application/x-www-form-urlencoded" else {
            throw ConsoleRefusal(415, "Not a form", "Send a form of the console.")
        }
        let body = try await RequestBody.bytes(of: request, upTo: Self.maximumForm)
        guard let text = String(utf8: body), let fields = HTTPQuery(parsing: text) else {
            throw ConsoleRefusal(400, "Malformed", "A percent-escape in the form is incomplete or is not UTF-8.")
        }
        return fields
    }

    private func environment(named name: String?) throws -> StoreEnvironment {
        guard let name, !name.isEmpty else { return environments[0] }
        guard let environment = environments.first(where: { $0 == StoreEnvironment(rawValue: name) }) else {
            throw ConsoleRefusal.invalid("environment", "should be one of this server")
        }
        return environment
    }

    // MARK: - Responses

    func response(to refusal: ConsoleRefusal) -> HTTPResponse {
        var response = Self.response(RefusalPage(refusal: refusal).page, status: refusal.status)
        if let seconds = refusal.retryAfter { response.headers.add("Retry-After", String(seconds)) }
        return response
    }

    /// Returns a response with a page that other origins cannot use. Its referrer policy is `same-origin`: with
    /// `no-referrer`, which Souk's other pages have, browsers send forms with the origin "null".
    static func response(_ page: Page, status: Int = 200) -> HTTPResponse {
        var response = HTTPResponse(status: status, page: page)
        response.headers["Referrer-Policy"] = "same-origin"
        response.headers.add("Cross-Origin-Opener-Policy", "same-origin")
        response.headers.add("Cross-Origin-Resource-Policy", "same-origin")
        return response
    }

    static func redirect(to path: String) -> HTTPResponse {
        HTTPResponse(status: 303, headers: ["Location": path, "Cache-Control": "no-store"])
    }
}
