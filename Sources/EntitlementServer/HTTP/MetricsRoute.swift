import HTTPCore

/// The endpoint GET `/metrics`, for Prometheus.
struct MetricsRoute: Sendable {
    let metrics: ServerMetrics

    var endpoints: [Endpoint<ServerHandler>] {
        [
            Endpoint(
                .get, "/metrics", "getMetrics", "Get the server's metrics for Prometheus", tag: .server, answer: .text,
                type: "text/plain", handler: .open { _ in .ready(try answer()) })
        ]
    }

    /// A handler of this endpoint alone, for a port of its own.
    var handler: any HTTPHandler {
        var router = Router()
        router.on(.get, "/metrics") { _, _ in
            do { return .ready(try answer()) } catch { return .ready(Refusal.failure(error).response) }
        }
        return router
    }

    private func answer() throws -> HTTPResponse {
        HTTPResponse(
            status: 200, headers: ["Content-Type": PrometheusText.contentType],
            body: .text(try metrics.exposition()))
    }
}
