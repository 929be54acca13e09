import BaseTestSupport
import Foundation
import HTTPCore
import HostTestSupport
import Primitives
import SignedData
import StoreModel
import Testing

@testable import EntitlementServer

@Suite struct TracingTests {
    private let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

    /// A collector that keeps what it receives, and the App Store, which keeps the `traceparent` of each call.
    private final class Network: HTTPTransport {
        private let state = Locked<(bodies: [JSONValue], headers: [HTTPHeaders], traces: [String?])>(([], [], []))
        private let statuses = Locked<[Int]>([])
        let status = Locked<JSONValue?>(nil)

        var bodies: [JSONValue] { state.withLock { $0.bodies } }
        var headers: [HTTPHeaders] { state.withLock { $0.headers } }
        /// The headers of the calls of the App Store.
        var traces: [String?] { state.withLock { $0.traces } }
        var spans: [JSONValue] {
            bodies.flatMap { body in
                body["resourceSpans"]?[0]?["scopeSpans"]?[0]?["spans"]?.arrayValue ?? []
            }
        }

        /// Answers the next requests of the server with these statuses instead of 200.
        func answer(_ next: Int...) { statuses.withLock { $0 = next } }

        func send(_ request: HTTPRequest) async throws -> HTTPResponse {
            guard request.url == "http://collector.test/v1/traces" else {
                state.withLock { $0.traces.append(request.headers["traceparent"]) }
                guard !request.url.hasPrefix("http://broken.test/") else { return HTTPResponse(status: 500) }
                return HTTPResponse(json: status.withLock { $0 } ?? [:])
            }
            let body = try await request.body.json(upTo: 1 << 22)
            let next = statuses.withLock { $0.isEmpty ? 200 : $0.removeFirst() }
            guard next == 200 else { return HTTPResponse(status: next) }
            state.withLock { state in
                state.bodies.append(body)
                state.headers.append(request.headers)
            }
            return HTTPResponse(json: [:])
        }
    }

    private func bench(
        _ network: Network, exports: Bool = true, ratio: Double = 1,
        log: @escaping @Sendable (RequestRecord) -> Void = { _ in }
    ) async throws -> ServerBench {
        var client = AppStoreServerAPIClient.Configuration(
            key: AppStoreConnectKey(
                try SigningKey.generate(), id: "KEY", issuerID: "issuer", bundleID: ServerBench.app),
            baseURL: "http://store.test")
        client.backoff = .none
        let appStore = AppStoreServerAPIClient(configuration: client, transport: network)
        return try await ServerBench(environments: [.sandbox]) {
            $0.apps[0].appStore = [.sandbox: appStore]
            $0.version = "0.1"
            $0.log = log
            $0.logsEveryRequest = true
            guard exports else { return }
            var traces = TraceExport(endpoint: "http://collector.test", transport: network)
            traces.headers = ["x-key": "collector key"]
            traces.ratio = ratio
            $0.traces = traces
        }
    }

    /// Validates a receipt whose subscription has ended, so that the server asks the App Store about it.
    private func validateEndedSubscription(_ bench: ServerBench, _ network: Network, trace: String?) async throws {
        let receipt = try bench.receipt([bench.receiptPurchase("1")])
        bench.clock.advance(by: 31 * 86400)
        let renewed = try bench.renewed()
        network.status.withLock { $0 = renewed }
        let reply = try await bench.validate(receipt, headers: trace.map { ["traceparent": $0] } ?? [:])
        #expect(reply.status == 200)
    }

    private func export(_ bench: ServerBench) async throws {
        let job = try #require(bench.service.jobs.first { $0.name == "traces" })
        while try await job.step() {}
    }

    @Test(.outsideJudge(OutsideJudge.python != nil, "SOUK_PYTHON names no interpreter with opentelemetry-proto"))
    func `a request and its call of the App Store are spans of the trace of the client`() async throws {
        let network = Network()
        let records = Locked<[RequestRecord]>([])
        let bench = try await bench(network) { record in records.withLock { $0.append(record) } }
        try await validateEndedSubscription(bench, network, trace: parent)
        try await export(bench)
        #expect(network.headers.map { $0["x-key"] } == ["collector key"])
        let body = try #require(network.bodies.first)
        let verdict = try await OutsideJudge.judge("otlp.py", ["request": body])
        #expect(verdict.status == 0, "\(verdict.output)\(verdict.errors)")
        #expect(verdict.json?["resource"] == ["service.name": "souk", "service.version": "0.1"])
        let spans = try #require(verdict.json?["spans"]?.arrayValue)
        try #require(spans.count == 2)
        let (call, request) = (spans[0], spans[1])
        let trace: JSONValue = "0af7651916cd43dd8448eb211c80319c"
        #expect(call["traceID"] == trace && request["traceID"] == trace)
        #expect(request["parentID"] == "b7ad6b7169203331" && call["parentID"] == request["spanID"])
        #expect(request["name"] == "POST /v1/receipts/validate" && request["kind"] == "SPAN_KIND_SERVER")
        #expect(call["name"] == "GET inApps/v1/subscriptions" && call["kind"] == "SPAN_KIND_CLIENT")
        #expect(request["failed"] == false && call["failed"] == false)
        let record = try #require(records.withLock { $0.first })
        let attributes = try #require(request["attributes"]?.objectValue)
        #expect(attributes["http.route"] == "/v1/receipts/validate" && attributes["http.response.status_code"] == 200)
        #expect(attributes["souk.request_id"] == .string(record.requestID))
        #expect(attributes["souk.app"] == "com.example.darkroom" && record.traceID == trace.stringValue)
        let sent = try #require(network.traces.first ?? nil)
        #expect(sent == "00-\(trace.stringValue ?? "")-\(call["spanID"]?.stringValue ?? "")-01")
        await bench.close()
    }

    /// Delivers an event to a webhook that fails, and to one for batches, as the server does.
    private func deliver(_ network: Network, exports: Bool) async throws -> ServerBench {
        let secret = try WebhookSecret(ServerBench.webhookSecret)
        let bench = try await ServerBench {
            $0.webhooks = [
                Webhook(name: "crm", app: ServerBench.app, url: "http://broken.test/?token=abc", secrets: [secret]),
                Webhook(name: "log", app: ServerBench.app, url: "http://log.test/", secrets: [secret], batchSize: 5),
            ]
            $0.webhookTransport = network
            if exports { $0.traces = TraceExport(endpoint: "http://collector.test", transport: network) }
        }
        _ = try await bench.post(bench.purchase("1"))
        try await bench.numberEvents()
        let jobs = Task { try await bench.service.run() }
        try await until("both webhooks have a request") { network.traces.count >= 2 }
        jobs.cancel()
        try await jobs.value
        await bench.service.finishTraces()
        return bench
    }

    @Test(.outsideJudge(OutsideJudge.python != nil, "SOUK_PYTHON names no interpreter with opentelemetry-proto"))
    func `each attempt of a webhook is a span of a trace of its own, which the receiver can continue`() async throws {
        let network = Network()
        let bench = try await deliver(network, exports: true)
        var spans: [JSONValue] = []
        for body in network.bodies {
            let verdict = try await OutsideJudge.judge("otlp.py", ["request": body])
            #expect(verdict.status == 0, "\(verdict.output)\(verdict.errors)")
            spans += verdict.json?["spans"]?.arrayValue?.filter { $0["name"] == "POST webhook" } ?? []
        }
        try #require(spans.count == 2)
        for span in spans {
            let attributes = try #require(span["attributes"]?.objectValue)
            let isBatch = attributes["souk.webhook"] == "log"
            #expect(span["kind"] == "SPAN_KIND_CLIENT" && span["parentID"] == "")
            #expect(attributes["souk.app"] == "com.example.darkroom" && span["failed"] == .bool(!isBatch))
            #expect(attributes["http.response.status_code"] == (isBatch ? 200 : 500))
            let sent = "00-\(span["traceID"]?.stringValue ?? "")-\(span["spanID"]?.stringValue ?? "")-01"
            #expect(network.traces.contains(sent))
        }
        #expect(Set(spans.map { $0["traceID"]?.stringValue }).count == 2)
        #expect(!network.bodies.contains { $0.text().contains("token=abc") })
        await bench.close()
    }

    @Test func `without a collector a webhook gets no trace`() async throws {
        let network = Network()
        let bench = try await deliver(network, exports: false)
        #expect(network.traces.count == 2 && network.traces.allSatisfy { $0 == nil })
        await bench.close()
    }

    @Test func `without a collector the trace of the client is passed on as it is`() async throws {
        let network = Network()
        let bench = try await bench(network, exports: false)
        try await validateEndedSubscription(bench, network, trace: parent)
        #expect(network.traces == [parent] && network.bodies.isEmpty)
        #expect(!bench.service.jobs.contains { $0.name == "traces" })
        await bench.close()
    }

    @Test func `a trace that the client does not record is passed on, and not exported`() async throws {
        let network = Network()
        let bench = try await bench(network)
        try await validateEndedSubscription(bench, network, trace: String(parent.dropLast()) + "0")
        try await export(bench)
        let sent = try #require(network.traces.first ?? nil)
        #expect(sent.hasPrefix("00-0af7651916cd43dd8448eb211c80319c-") && sent.hasSuffix("-00"))
        #expect(!sent.contains("b7ad6b7169203331") && network.bodies.isEmpty)
        await bench.close()
    }

    @Test func `a failure, an unknown path and an unknown method have spans without the path of the client`()
        async throws
    {
        let network = Network()
        let bench = try await bench(network)
        _ = try await bench.send(.get, "/v1/customers/anna-secret")
        _ = try await bench.send(.get, "/secret-path")
        _ = try await bench.send("STEAL", "/v1/customers/anna-secret")
        try await export(bench)
        #expect(network.spans.map { $0["name"] } == ["GET /v1/customers/{customer}", "GET", "HTTP"])
        #expect(network.spans.allSatisfy { $0["parentSpanId"] == nil && $0["status"] == nil })
        #expect(Set(network.spans.compactMap { $0["traceId"]?.stringValue }).count == 3)
        let text = network.bodies.map { $0.text() }.joined()
        #expect(!text.contains("secret") && !text.contains("STEAL"))
        await bench.database.close()
        _ = try await bench.get()
        try await export(bench)
        #expect(network.spans.last?["status"] == ["code": 2])
    }

    @Test func `a batch that did not arrive is sent again, and one that was refused is not`() async throws {
        let network = Network()
        let clock = ManualClock()
        let counter = Counter("spans", by: "result", "Spans.")
        let tracer = Tracer(
            TraceExport(endpoint: "http://collector.test", transport: network), version: nil, clock: clock,
            monotonicClock: clock.monotonic, counting: counter)
        tracer.begin(.server, after: nil).end("first", [], hasFailed: false)
        network.answer(503, 429, 400)
        await #expect(throws: (any Error).self) { try await tracer.step() }
        // The collector rests, and one report of its failure is enough.
        #expect(try await tracer.step() == false)
        clock.advance(by: 5)
        #expect(try await tracer.step() == false)
        clock.advance(by: 5)
        #expect(try await tracer.step() == false && network.bodies.isEmpty)
        tracer.begin(.server, after: nil).end("second", [], hasFailed: false)
        clock.advance(by: 5)
        #expect(try await tracer.step() == false)
        #expect(network.spans.map { $0["name"] } == ["second"])
        var text = PrometheusText()
        counter.write(to: &text)
        #expect(text.text.contains("spans{result=\"exported\"} 1\nspans{result=\"failed\"} 1\n"))
    }

    @Test func `spans wait in bounded memory, and are sent in batches`() async throws {
        let network = Network()
        let counter = Counter("spans", by: "result", "Spans.")
        let tracer = Tracer(
            TraceExport(endpoint: "http://collector.test", transport: network), version: nil, clock: ManualClock(),
            monotonicClock: MonotonicClock(), counting: counter)
        for number in 0..<(Tracer.capacity + 10) {
            tracer.begin(.server, after: nil).end("\(number)", [], hasFailed: false)
        }
        await tracer.finish()
        #expect(network.bodies.count == Tracer.capacity / Tracer.batchSize && network.spans.count == Tracer.capacity)
        #expect(network.spans.last?["name"] == .string("\(Tracer.capacity - 1)"))
        var text = PrometheusText()
        counter.write(to: &text)
        #expect(text.text.contains("spans{result=\"dropped\"} 10\n"))
    }

    @Test(arguments: [(0.0, 0...0), (1.0, 2000...2000), (0.5, 800...1200)])
    func `the share of new traces is configured`(ratio: Double, expected: ClosedRange<Int>) {
        var export = TraceExport(endpoint: "http://collector.test", transport: Network())
        export.ratio = ratio
        let tracer = Tracer(
            export, version: nil, clock: ManualClock(), monotonicClock: MonotonicClock(),
            counting: Counter("spans", by: "result", "Spans."))
        #expect(expected.contains((0..<2000).count { _ in tracer.begin(.server, after: nil).context.isSampled }))
        // The decision of a client is kept.
        let parent = Traceparent(parent)
        #expect(tracer.begin(.server, after: parent).context.isSampled)
    }

    @Test(arguments: ["collector:4318", "http://collector.test/", "ftp://collector.test"])
    func `an endpoint that cannot be used is refused`(endpoint: String) {
        #expect(throws: EntitlementServerError.self) {
            try TraceExport(endpoint: endpoint, transport: Network()).check()
        }
    }
}
