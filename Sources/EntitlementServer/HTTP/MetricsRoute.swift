import HTTPCore

/// The endpoint GET `/metrics`, for Prometheus.
struct MetricsRoute: Sendable {
    let metrics: ServerMetrics

    var endpoints: [Endpoint<ServerHandler>] {
        [
            Endpoint(
                .get, "/metrics", "getMetrics", "Get the server's metrics for Prometheus", tag: .server, answer: .text,
                type: "text/plain", handler: .open { _ in .ready(answer()) })
        ]
    }

    /// A handler of this endpoint alone, for a port of its own.
    var handler: any HTTPHandler {
        var router = Router()
        router.on(.get, "/metrics") { _, _ in .ready(answer()) }
        return router
    }

    private func answer() -> HTTPResponse {
        HTTPResponse(
            status: 200, headers: ["Content-Type": PrometheusText.contentType],
            body: .text(metrics.exposition()))
    }
}
