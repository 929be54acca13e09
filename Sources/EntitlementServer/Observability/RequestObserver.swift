import Foundation
import HTTPCore
import Primitives
import StoreModel

/// Counts all responses, and logs those of refused and failed requests, or all with `logsEveryRequest`. A successful
/// request that is neither logged nor slow costs two clock readings and two locks.
struct RequestObserver: Sendable {
    private let metrics: ServerMetrics
    private let logsEveryRequest: Locked<Bool>
    private let log: @Sendable (RequestRecord) -> Void
    private let realClock: any WallClock
    private let tracer: Tracer?

    /// - Parameter logsEveryRequest: Whether successful requests are logged, which its owner can change; `nil` takes the
    ///   value of the configuration.
    init(
        _ configuration: EntitlementService.Configuration, _ metrics: ServerMetrics,
        logsEveryRequest: Locked<Bool>? = nil, tracer: Tracer? = nil
    ) {
        self.metrics = metrics
        self.logsEveryRequest = logsEveryRequest ?? Locked(configuration.logsEveryRequest)
        log = configuration.log
        realClock = configuration.realClock
        self.tracer = tracer
    }

    /// The beginning of an observed request.
    struct Beginning: Sendable {
        let instant: ContinuousClock.Instant
        /// `nil` if this server exports no traces.
        let span: OpenSpan?
    }

    func begin(_ request: HTTPRequest) -> Beginning {
        Beginning(
            instant: .now, span: tracer?.begin(.server, after: Traceparent(request.headers[Traceparent.field])))
    }

    func observe(
        _ response: HTTPResponse, to request: HTTPRequest, as id: String, of caller: Caller?, by rule: String? = nil,
        since start: Beginning, counting endpointMetrics: EndpointMetrics
    ) {
        let duration = start.instant.duration(to: .now)
        endpointMetrics.count(status: response.status, duration)
        let isSlow = duration >= SlowRequests.threshold
        let isLogged = response.status >= 400 || logsEveryRequest.withLock { $0 }
        let span = start.span.flatMap { $0.context.isSampled ? $0 : nil }
        guard isLogged || isSlow || span != nil else { return }
        let code = response.status >= 400 ? response.body.buffered.flatMap { HTTPProblem(parsing: $0)?.code } : nil
        if let code { metrics.refusals.add(code) }
        let record = RequestRecord(
            answeredAt: realClock.now(), requestID: id, endpoint: endpointMetrics.id, status: response.status,
            duration: duration, app: caller?.app, keyID: caller.map { APIKeys.id(of: $0.keyDigest) }, code: code,
            rule: rule,
            traceID: (start.span?.context ?? Traceparent(request.headers[Traceparent.field])).map {
                String($0.traceID)
            })
        span?.end(record, to: request, at: endpointMetrics.route)
        if isSlow { metrics.slowRequests.add(record) }
        if isLogged { log(record) }
    }
}

extension OpenSpan {
    /// The methods that a span names. A client can invent others.
    private static let methods: Set = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE"]

    /// Ends the span of a request, named as OpenTelemetry's conventions for HTTP demand.
    fileprivate func end(_ record: RequestRecord, to request: HTTPRequest, at route: String?) {
        let sent = request.method.rawValue
        let method = Self.methods.contains(sent) ? sent : "_OTHER"
        var attributes: [(String, Span.Value)] = [
            ("http.request.method", .text(method)), ("http.response.status_code", .number(record.status)),
            ("souk.request_id", .text(record.requestID)), ("souk.endpoint", .text(record.endpoint)),
        ]
        if let route { attributes.append(("http.route", .text(route))) }
        if let app = record.app { attributes.append(("souk.app", .text(app.rawValue))) }
        if let key = record.keyID { attributes.append(("souk.key_id", .text(key))) }
        if let code = record.code { attributes.append(("souk.problem", .text(code))) }
        let verb = method == "_OTHER" ? "HTTP" : method
        end(route.map { "\(verb) \($0)" } ?? verb, attributes, hasFailed: record.status >= 500)
    }
}
