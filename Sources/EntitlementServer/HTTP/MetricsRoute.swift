import HTTPCore

/// GET `/metrics`: the server's figures for Prometheus.
struct MetricsRoute: Sendable {
    let metrics: ServerMetrics

    var endpoints: [Endpoint<ServerHandler>] {
        [
            Endpoint(
                .get, "/metrics", "getMetrics", "The server's figures, for Prometheus", tag: .server, answer: .text,
                type: "text/plain", handler: .open { _ in .ready(try answer()) })
        ]
    }

    /// The same for a port that has nothing else.
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
