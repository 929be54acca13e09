import BaseTestSupport
import Foundation
import HTTPCore
import HostTestSupport
import NetworkTestSupport
import Primitives
import Testing

/// The files for Prometheus and Grafana, judged by the programs of Debian's package `prometheus`.
@Suite struct AlertTests {
    private static let rules = "Packaging/prometheus/souk.rules.yml"
    private static let ruleTests = "Packaging/prometheus/souk.rules.test.yml"
    private static let panels = "Packaging/grafana/souk.json"
    private static let hasPrometheus = ["/usr/bin/prometheus", "/usr/bin/promtool"].allSatisfy {
        FileManager.default.isExecutableFile(atPath: $0)
    }

    private func text(_ path: String) throws -> String {
        try String(contentsOfFile: TestFiles.repository + "/" + path, encoding: .utf8)
    }

    private func promtool(_ arguments: String...) async throws -> ChildProgram.Outcome {
        try await ChildProgram.run("/usr/bin/promtool", arguments, in: TestFiles.repository)
    }

    private func alerts() throws -> [String] {
        try text(Self.rules).matches(of: /- alert: (\w+)/).map { String($0.output.1) }
    }

    /// The expressions of the rules, each on one line.
    private func ruleExpressions() throws -> [String] {
        let lines = try text(Self.rules).split(separator: "\n", omittingEmptySubsequences: false)
        var expressions: [String] = []
        var isFolded = false
        for line in lines {
            let trimmed = line.trimmingCharacters(in: .whitespaces)
            if trimmed.hasPrefix("expr:") {
                let rest = trimmed.dropFirst(5).trimmingCharacters(in: .whitespaces)
                isFolded = rest == ">-"
                expressions.append(isFolded ? "" : rest)
            } else if isFolded, line.hasPrefix("          "), !expressions.isEmpty {
                expressions[expressions.count - 1] += " " + trimmed
            } else {
                isFolded = false
            }
        }
        return expressions
    }

    /// The expressions of the dashboard, with values for Grafana's variables.
    private func panelExpressions() throws -> [String] {
        let panels = try JSONValue(parsing: Array(text(Self.panels).utf8))["panels"]?.arrayValue ?? []
        return panels.flatMap { $0["targets"]?.arrayValue ?? [] }.compactMap { $0["expr"]?.stringValue }.map {
            $0.replacingOccurrences(of: "$__rate_interval", with: "10s").replacingOccurrences(
                of: "$instance", with: ".*")
        }
    }

    @Test(.outsideJudge(hasPrometheus, "Debian's package prometheus is missing"))
    func `the rules are valid, and each alert fires once and is silent otherwise`() async throws {
        let check = try await promtool("check", "rules", Self.rules)
        #expect(check.status == 0, "\(check.output)\(check.errors)")
        let test = try await promtool("test", "rules", Self.ruleTests)
        #expect(test.status == 0, "\(test.output)\(test.errors)")
        let (names, cases) = (try alerts(), try text(Self.ruleTests))
        #expect(names.count >= 15 && Set(names).count == names.count)
        for name in names {
            #expect(cases.contains("name: \(name) fires\n") && cases.contains("name: \(name) is silent\n"), "\(name)")
        }
    }

    @Test(.outsideJudge(hasPrometheus, "Debian's package prometheus is missing"))
    func `an alert that does not fire as expected fails its test`() async throws {
        let folder = try TemporaryFolder()
        let (rules, cases) = (try text(Self.rules), try text(Self.ruleTests))
        let path = try folder.write("rules.yml", rules.replacingOccurrences(of: "> 0.01 *", with: "> 0.2 *"))
        let file = try folder.write(
            "test.yml",
            cases.replacingOccurrences(of: "[souk.rules.yml]", with: "[\(path)]"))
        let test = try await promtool("test", "rules", file)
        #expect(test.status != 0 && (test.output + test.errors).contains("SoukErrors"))
    }

    @Test func `the documentation says what to do at each alert`() throws {
        let page = try text("Documentation/Alerts.md")
        let sections = page.matches(of: /(?m)^## (Souk\w+)$/).map { String($0.output.1) }
        #expect(try sections == alerts())
    }

    @Test(.outsideJudge(hasPrometheus, "Debian's package prometheus is missing"), .timeLimit(.minutes(2)))
    func `Prometheus has data for every expression of the dashboard and every metric of the alerts`() async throws {
        let shop = try await LoadedShop()
        let port = try ReservedPort()
        let settings = try shop.folder.write(
            "prometheus.yml",
            """
            global: {scrape_interval: 500ms, evaluation_interval: 1s}
            rule_files: [\(TestFiles.repository)/\(Self.rules)]
            scrape_configs:
              - job_name: souk
                static_configs: [{targets: [\(shop.servers.map { "\"\($0.url.dropFirst("http://".count))\"" }.joined(separator: ", "))]}]
            """)
        let prometheus = try ChildProgram(
            "/usr/bin/prometheus",
            [
                "--config.file=\(settings)", "--storage.tsdb.path=\(shop.folder.file("prometheus"))",
                "--web.listen-address=127.0.0.1:\(port.number)",
            ], errors: .captured)
        let load = Task { try await shop.load() }
        var missing = Set(try panelExpressions())
        if shop.servers.count < 2 {
            for metric in ["souk_database_connections", "souk_database_write_wait_seconds"] {
                missing = missing.filter { !$0.contains(metric) }
            }
        }
        #expect(missing.count >= 30)
        for expression in try ruleExpressions() {
            for metric in expression.matches(of: /\b(souk|process)_\w+/) { missing.insert(String(metric.output.0)) }
        }
        do {
            try await until("each expression has data") {
                for expression in missing where try await hasData(expression, at: port.url) {
                    missing.remove(expression)
                }
                return missing.isEmpty
            }
        } catch is NeverHappened {
            Issue.record("no data: \(missing.sorted())")
        }
        let rules = try await loopbackTransport().send(HTTPRequest(method: .get, url: port.url + "/api/v1/rules"))
        let groups = try await rules.body.json()["data"]?["groups"]?.arrayValue ?? []
        let health = groups.flatMap { $0["rules"]?.arrayValue ?? [] }.map { $0["health"]?.stringValue ?? "" }
        #expect(try health.count == alerts().count && !health.contains("err"), "\(health)")
        load.cancel()
        _ = await load.result
        prometheus.terminate()
        #expect(await prometheus.end() == 0, "\(prometheus.errors.soFar)")
        #expect(await shop.stop().allSatisfy { $0 == 0 })
    }

    private func hasData(_ expression: String, at url: String) async throws -> Bool {
        let query = HTTPQuery([("query", expression)]).encoded
        let request = HTTPRequest(method: .get, url: "\(url)/api/v1/query?\(query)")
        // Prometheus needs a moment before it answers.
        guard let response = try? await loopbackTransport().send(request), response.status != 503 else { return false }
        let body = try await response.body.json()
        try #require(body["status"] == "success", "\(expression): \(body.text())")
        return body["data"]?["result"]?.arrayValue.map { !$0.isEmpty } ?? false
    }
}

/// A simulator and a server whose customers buy and read, with every kind of request that has a metric.
private struct LoadedShop {
    let folder: TemporaryFolder
    let simulator: SoukService
    let server: SoukService
    /// A server on PostgreSQL, if it is installed.
    private let shared: SoukService?
    var servers: [SoukService] { [server] + (shared.map { [$0] } ?? []) }
    private let publicKey: String
    private let secretKey: String
    private let transport = loopbackTransport()

    init() async throws {
        folder = try TemporaryFolder()
        // Deliveries and traces go to a port without a listener.
        let dead = try ReservedPort()
        simulator = try await SoukService(
            ["simulate", "--catalog", TestFiles.darkroom, "--data", folder.file("store"), "--port", "0"])
        let root = try #require(simulator.greeting["rootCertificate"]?.stringValue)
        let secret = try folder.write("secret", "0123456789abcdef0123456789abcdef")
        server = try await SoukService([
            "serve", "--database", "sqlite:" + folder.file("ledger.sqlite"), "--bundle-id", "com.example.souk",
            "--environment", "sandbox", "--root", root, "--clock", simulator.url, "--webhook", dead.url + "/hook",
            "--webhook-secret", secret, "--otlp-endpoint", dead.url,
        ])
        shared =
            PostgresCluster.isAvailable
            ? try await SoukService(
                [
                    "serve", "--database", try await PostgresCluster.shared().makeDatabase(), "--bundle-id",
                    "com.example.b",
                ],
                in: folder.path) : nil
        publicKey = try #require(server.greeting["publicKey"]?.stringValue)
        let file = try #require(server.greeting["secretKeyFile"]?.stringValue)
        secretKey = try String(contentsOfFile: file, encoding: .utf8).trimmingCharacters(in: .newlines)
        try await control("accounts", ["name": "anna"])
        let url = "\(server.url)/v1/notifications/app-store"
        let set = try await SoukExecutable.run(
            ["store", "--url", simulator.url, "settings", "set", "notificationsURL", url])
        try #require(set.status == 0, "\(set.errors)")
    }

    /// Buys, reads and errs until the task is cancelled.
    func load() async throws {
        while !Task.isCancelled {
            let sale = try await control("accounts/anna/buy", ["productID": "com.example.darkroom.prints.10"])
            let signed = try #require(sale["signedTransaction"]?.stringValue)
            try await present(["signedTransactions": [.string(signed), .string("x" + signed)]], as: publicKey)
            try await present(["signedTransaction": .string("x" + signed)], as: publicKey)
            // An event for the webhook.
            try await send("/v1/customers/anna/grants", ["feature": "pro", "reason": "support"], as: secretKey)
            for path in ["/v1/customers/anna", "/v1/customers/anna/facts", "/nowhere"] {
                _ = try await transport.send(
                    HTTPRequest(
                        method: .get, url: server.url + path, headers: ["Authorization": "Bearer \(publicKey)"]))
            }
        }
    }

    private func present(_ body: JSONValue, as key: String) async throws {
        try await send("/v1/customers/anna/transactions", body, as: key)
    }

    private func send(_ path: String, _ body: JSONValue, as key: String) async throws {
        let response = try await transport.send(
            HTTPRequest(
                method: .post, url: server.url + path, headers: ["Authorization": "Bearer \(key)"], json: body))
        _ = try await response.body.collect(upTo: 1 << 20)
    }

    @discardableResult
    private func control(_ path: String, _ body: JSONValue) async throws -> JSONValue {
        let response = try await transport.send(
            HTTPRequest(method: .post, url: "\(simulator.url)/control/v1/\(path)", json: body))
        return try await response.body.json()
    }

    /// Stops all programs, and returns their exit statuses.
    func stop() async -> [Int32] {
        var statuses: [Int32] = []
        for service in servers + [simulator] { statuses.append(await service.stop()) }
        return statuses
    }
}
