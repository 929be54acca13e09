import Foundation
import HTTPCore
import HostTestSupport
import Primitives
import StoreModel
import Testing

@testable import EntitlementServer

@Suite struct MetricsTests {
    private func lines(_ bench: ServerBench) async throws -> Set<String> {
        let reply = try await bench.send(.get, "/metrics", as: .none)
        #expect(reply.status == 200 && reply.wasReady)
        #expect(reply.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8")
        return Set(String(decoding: reply.bytes, as: UTF8.self).split(separator: "\n").map(String.init))
    }

    @Test func `answers are counted by endpoint and status`() async throws {
        let bench = try await ServerBench()
        for _ in 0..<3 { _ = try await bench.get() }
        _ = try await bench.get("%0A")
        _ = try await bench.send(.get, "/v1/customers/anna", as: .other("Bearer x"))
        _ = try await bench.send(.get, "/nowhere")
        _ = try await bench.send(.get, "/v1/customers/anna/facts")
        let lines = try await lines(bench)
        for line in [
            #"souk_http_requests_total{endpoint="getCustomer",status="200"} 3"#,
            #"souk_http_requests_total{endpoint="getCustomer",status="400"} 1"#,
            #"souk_http_requests_total{endpoint="getCustomer",status="401"} 1"#,
            #"souk_http_requests_total{endpoint="none",status="404"} 1"#,
            #"souk_http_request_duration_seconds_count{endpoint="getCustomer"} 5"#,
            #"souk_http_request_duration_seconds_bucket{endpoint="getCustomer",le="+Inf"} 5"#,
            #"souk_refusals_total{code="unknown_key"} 1"#, #"souk_refusals_total{code="secret_key_required"} 1"#,
        ] { #expect(lines.contains(line), "\(line)") }
        await bench.close()
    }

    @Test func `a response that is not ready at once is counted too`() async throws {
        let bench = try await ServerBench()
        _ = try await bench.post(bench.purchase("1"))
        let lines = try await lines(bench)
        #expect(lines.contains(#"souk_http_requests_total{endpoint="postTransactions",status="200"} 1"#))
        await bench.close()
    }

    @Test func `facts are counted once, and rejections by code`() async throws {
        let bench = try await ServerBench()
        let signed = try bench.period("1")
        _ = try await bench.post([signed, "x"], renewals: [bench.renewalInfo()])
        _ = try await bench.post([signed], renewals: [bench.renewalInfo()])
        let lines = try await lines(bench)
        #expect(lines.contains(#"souk_facts_total{kind="transaction"} 1"#))
        #expect(lines.contains(#"souk_facts_total{kind="renewal"} 1"#))
        #expect(lines.contains(#"souk_rejected_total{code="malformed"} 1"#))
        await bench.close()
    }

    @Test func `metrics can have a port of their own`() async throws {
        let bench = try await ServerBench { $0.servesMetrics = false }
        _ = try await bench.get()
        #expect(try await bench.send(.get, "/metrics").status == 404)
        let answer = await bench.service.metricsHandler.respond(to: HTTPRequest(method: .get, url: "/metrics"))
            .response()
        let text = String(decoding: try await answer.body.collect(upTo: 1 << 20), as: UTF8.self)
        #expect(text.contains(#"souk_http_requests_total{endpoint="getCustomer",status="200"} 1"#))
        await bench.close()
    }

    @Test func `the last use of each valid key is a gauge, with at most a hundred keys`() async throws {
        let bench = try await ServerBench()
        let keys = APIKeys(database: bench.database, clock: bench.realClock)
        func gauges() async throws -> [String: String] {
            let found = try await lines(bench).compactMap {
                $0.firstMatch(of: /^souk_key_last_use_timestamp_seconds\{key="([0-9a-f]{16})"\} (.+)$/)
            }
            return Dictionary(uniqueKeysWithValues: found.map { (String($0.output.1), String($0.output.2)) })
        }
        #expect(try await gauges().isEmpty)
        _ = try await bench.get()
        let start = Int(bench.realClock.now().timeIntervalSince1970)
        let own = try #require(try keys.list(of: ServerBench.app).first { $0.kind == .public })
        #expect(try await gauges() == [own.id: "\(start)"])
        bench.realClock.advance(by: 90)
        _ = try await bench.get()
        #expect(try await gauges() == [own.id: "\(start + 90)"])
        for job in bench.service.jobs where job.name == "key uses" { _ = try await job.step() }
        #expect(try await gauges() == [own.id: "\(start + 90)"])

        var ids: [String] = []
        for _ in 0..<120 {
            bench.realClock.advance(by: 1)
            let (entry, key) = try await keys.create(.secret, for: ServerBench.otherApp)
            #expect(try await bench.send(.get, "/v1/customers/x", as: .other("Bearer \(key)")).status == 200)
            ids.append(entry.id)
        }
        #expect(try await Set(gauges().keys) == Set(ids.suffix(100)))
        try await keys.revoke(ids[119])
        #expect(try await Set(gauges().keys) == Set(ids[19..<119]))
        let text = String(decoding: try await bench.send(.get, "/metrics", as: .none).bytes, as: UTF8.self)
        let issued = try #require(bench.keys[ServerBench.app])
        #expect(!text.contains(issued.publicKey) && !text.contains("souk_secret_") && !text.contains("souk_public_"))
        await bench.close()
        #expect(try await !lines(bench).contains { $0.hasPrefix("souk_key_last_use") })
    }

    @Test func `a gauge that cannot be read has no value, and the other metrics have theirs`() {
        struct Unreadable: Error {}
        let metrics = ServerMetrics()
        metrics.add(.init(name: "broken", help: "A gauge.") { throw Unreadable() })
        metrics.add(.init(name: "whole", help: "A gauge.") { [("", 1)] })
        metrics.refusals.add("x")
        let lines = metrics.exposition().split(separator: "\n")
        #expect(!lines.contains { $0.hasPrefix("broken") } && lines.contains("# TYPE broken gauge"))
        #expect(lines.contains("whole 1") && lines.contains(#"souk_refusals_total{code="x"} 1"#))
    }

    @Test func `made-up label values do not fill the memory`() {
        let counter = Counter("c", by: "code", "Codes.")
        for number in 0..<1000 { counter.add("code \(number)") }
        counter.add("code 0")
        var text = PrometheusText()
        counter.write(to: &text)
        #expect(text.text.split(separator: "\n").count == 2 + 201)
        #expect(text.text.contains("c{code=\"other\"} 800\n") && text.text.contains("c{code=\"code 0\"} 2\n"))
    }

    @Test func `a duration counts in the first bucket that holds it`() {
        let endpointMetrics = EndpointMetrics(id: "e")
        for duration in [Duration.microseconds(50), .microseconds(51), .seconds(60)] {
            endpointMetrics.count(status: 200, duration)
        }
        endpointMetrics.count(status: 9999, .zero)
        var text = PrometheusText()
        EndpointMetrics.write([endpointMetrics], to: &text)
        let buckets = text.text.split(separator: "\n").filter { $0.contains("_bucket") }.map {
            $0.split(separator: " ").last.map(String.init) ?? ""
        }
        #expect(buckets == ["2"] + Array(repeating: "3", count: 15) + ["4"])
        #expect(text.text.contains("souk_http_request_duration_seconds_sum{endpoint=\"e\"} 60.000101\n"))
        #expect(text.text.contains("souk_http_requests_total{endpoint=\"e\",status=\"599\"} 1\n"))
    }

    @Test(.outsideJudge(OutsideJudge.python != nil, "SOUK_PYTHON names no interpreter with prometheus-client"))
    func `the parser of Prometheus reads every metric`() async throws {
        let bench = try await ServerBench()
        _ = try await bench.post([bench.purchase("1"), "x"])
        _ = try await bench.get()
        _ = try await bench.get("%0A")
        bench.service.metrics.refusals.add("a \"b\"\\\n")
        let text = String(decoding: try await bench.send(.get, "/metrics", as: .none).bytes, as: UTF8.self)
        let verdict = try await OutsideJudge.judge("prometheus.py", ["text": .string(text)])
        #expect(verdict.status == 0, "\(verdict.output)\(verdict.errors)")
        #expect(verdict.json?["families"]?["souk_http_request_duration_seconds"]?["type"] == "histogram")
        #expect(verdict.json?["families"]?["souk_facts"]?["type"] == "counter")
        let samples = try #require(verdict.json?["samples"]?.arrayValue)
        #expect(samples.count == text.split(separator: "\n").count { !$0.hasPrefix("#") })
        #expect(samples.contains(["souk_refusals_total", ["code": "a \"b\"\\\n"], 1]))
        let broken = try await OutsideJudge.judge("prometheus.py", ["text": .string(text + "souk{ 1\n")])
        #expect(broken.status == 1)
        await bench.close()
    }
}
