import Foundation
import Primitives

/// The counters and gauges of a server.
final class ServerMetrics: Sendable {
    /// The id under which requests to unknown paths are counted.
    static let unknownPath = "none"

    /// A metric whose values are read when the metrics are exported. If it has several values, `label` is the name of
    /// the label that distinguishes them. Each value is a time series, so limit their number. A gauge that cannot be read
    /// has no value, and the other metrics are exported without it.
    struct Gauge: Sendable {
        let name: String
        let help: String
        var label: String?
        /// A counter is a value that only grows while the process runs.
        var kind = PrometheusText.Kind.gauge
        let values: @Sendable () throws -> [(label: String, value: Double)]
    }

    let refusals = Counter("souk_refusals_total", by: "code", "Refused requests, by the code of the problem.")
    let facts = Counter("souk_facts_total", by: "kind", "New facts, by kind.")
    let rejected = Counter(
        "souk_rejected_total", by: "code", "Rejected signed data, by code.")
    let notifications = Counter(
        "souk_notifications_total", by: "type", "Verified notifications of the App Store, including repetitions.")
    let playNotifications = Counter(
        "souk_play_notifications_total", by: "type", "Verified notifications of Google Play, including repetitions.")
    let playAcknowledgements = Counter(
        "souk_play_acknowledgements_total", by: "result",
        "Attempts to acknowledge purchases of Google Play, by result.")
    let revocationRequests = Counter(
        "souk_revocation_requests_total", by: "result", "Requests for the revocation status of certificates (OCSP).")
    let retentionMessages = Counter(
        "souk_retention_messages_total", by: "answer",
        "Answers to verified requests for a retention message, by kind.")
    let webhookAttempts = Counter(
        "souk_webhook_attempts_total", by: "outcome", "Attempts to deliver webhooks, by result.")
    let refundAnswers = Counter(
        "souk_refund_answers_total", by: "result", "Handled refund requests, by result, and repeated attempts.")
    let traceSpans = Counter(
        "souk_trace_spans_total", by: "result", "Spans for the collector of traces, by what became of them.")
    let jobFailures = Counter(
        "souk_job_failures_total", by: "background_job", "Failed steps of background jobs, by name.")
    /// The durations of writes to the ledger, from their call to their commit.
    let writeDurations = Locked(DurationHistogram())
    /// Returns how long writes have waited for a connection; `nil` without a pool of connections.
    let writeWaits = Locked<(@Sendable () -> DurationHistogram)?>(nil)
    /// The slow requests, which the console shows.
    let slowRequests = SlowRequests()
    private let endpoints = Locked<[EndpointMetrics]>([])
    private let gauges = Locked<[Gauge]>([])

    /// Returns the metrics of an endpoint, created on first use.
    func endpoint(_ id: String, route: String? = nil) -> EndpointMetrics {
        endpoints.withLock { endpoints in
            if let existing = endpoints.first(where: { $0.id == id }) { return existing }
            let endpointMetrics = EndpointMetrics(id: id, route: route)
            endpoints.append(endpointMetrics)
            return endpointMetrics
        }
    }

    func add(_ gauge: Gauge) { gauges.withLock { $0.append(gauge) } }

    /// Returns all metrics in Prometheus' text format.
    func exposition() -> String {
        var text = PrometheusText()
        EndpointMetrics.write(endpoints.withLock { $0 }, to: &text)
        for counter in [
            refusals, facts, rejected, notifications, playNotifications, revocationRequests, retentionMessages,
            webhookAttempts,
            refundAnswers, playAcknowledgements, traceSpans, jobFailures,
        ] {
            counter.write(to: &text)
        }
        let writes = "souk_ledger_write_duration_seconds"
        text.family(writes, .histogram, "Time from the call of a write to its commit.")
        writeDurations.withLock { $0 }.write(writes, [], to: &text)
        let waits = "souk_database_write_wait_seconds"
        text.family(waits, .histogram, "Time that a write waited for a connection to PostgreSQL.")
        writeWaits.withLock({ $0 })?().write(waits, [], to: &text)
        for gauge in gauges.withLock({ $0 }) {
            text.family(gauge.name, gauge.kind, gauge.help)
            for (label, value) in (try? gauge.values()) ?? [] {
                if let name = gauge.label {
                    text.sample(gauge.name, [name: label], value)
                } else {
                    text.sample(gauge.name, [:], value)
                }
            }
        }
        return text.text
    }
}
