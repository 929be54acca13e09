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

    /// - Parameter logsEveryRequest: Whether successful requests are logged, which its owner can change; `nil` takes the
    ///   value of the configuration.
    init(
        _ configuration: EntitlementService.Configuration, _ metrics: ServerMetrics,
        logsEveryRequest: Locked<Bool>? = nil
    ) {
        self.metrics = metrics
        self.logsEveryRequest = logsEveryRequest ?? Locked(configuration.logsEveryRequest)
        log = configuration.log
        realClock = configuration.realClock
    }

    func now() -> ContinuousClock.Instant { .now }

    func observe(
        _ response: HTTPResponse, to request: HTTPRequest, as id: String, of caller: Caller?, by rule: String? = nil,
        since start: ContinuousClock.Instant, counting endpointMetrics: EndpointMetrics
    ) {
        let duration = start.duration(to: .now)
        endpointMetrics.count(status: response.status, duration)
        let isSlow = duration >= SlowRequests.threshold
        let isLogged = response.status >= 400 || logsEveryRequest.withLock { $0 }
        guard isLogged || isSlow else { return }
        let code = response.status >= 400 ? response.body.buffered.flatMap { HTTPProblem(parsing: $0)?.code } : nil
        if let code { metrics.refusals.add(code) }
        let record = RequestRecord(
            answeredAt: realClock.now(), requestID: id, endpoint: endpointMetrics.id, status: response.status,
            duration: duration, app: caller?.app, keyID: caller.map { APIKeys.id(of: $0.keyDigest) }, code: code,
            rule: rule, traceID: Traceparent(request.headers[Traceparent.field]).map { String($0.traceID) })
        if isSlow { metrics.slowRequests.add(record) }
        if isLogged { log(record) }
    }
}
