import EntitlementServer
import Foundation
import HTTPCore
import HTTPListener
import Primitives
import SQLStorage

/// Reads one customer with `wrk` and 32 connections. The reference is nginx with two workers, which serves the same bytes
/// from a file. Needs the programs `nginx` and `wrk` (`Scripts/install-dependencies bench`).
enum NginxBenchmark {
    private static let connections = 32
    private static let rounds = 11

    static func run() async throws -> [BenchmarkResult] {
        let folder = FileManager.default.temporaryDirectory.path + "/souk-bench-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try FileManager.default.createDirectory(atPath: folder + "/files", withIntermediateDirectories: true)
        // nginx runs its workers as another user.
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder)
        let ledger = try await FilledLedger.make(1000, in: folder + "/ledger")
        let database = try SQLiteDatabase(path: ledger.path)
        var configuration = FilledLedger.configuration(database, ledger.chain)
        // All requests name one customer.
        configuration.apps[0].customerRateLimit = nil
        let service = try await EntitlementService(configuration: configuration)
        let path = "/v1/customers/\(FilledLedger.name(1))"
        let sample = await service.respond(
            to: HTTPRequest(method: .get, url: path, headers: ["Authorization": "Bearer \(ledger.publicKey)"])
        ).response()
        guard sample.status == 200, let bytes = sample.body.buffered else {
            throw BenchmarkFailure("a customer got status \(sample.status)")
        }
        try Data(bytes).write(to: URL(fileURLWithPath: folder + "/files/customer.json"))
        let listener = HTTPListener(handler: service)
        let url = try listener.start().url + path
        let nginx = try await Nginx(in: folder)
        defer { nginx.stop() }
        var latencies: [(ours: Double, theirs: Double)] = []
        var last = (ours: 0.0, theirs: 0.0)
        let measured = try await alternating(rounds) {
            let load = try wrk(url, ["Authorization: Bearer \(ledger.publicKey)"])
            last.ours = load.p99
            return load.each
        } reference: {
            let load = try wrk(nginx.url + "/customer.json", [])
            last.theirs = load.p99
            latencies.append(last)
            return load.each
        }
        await listener.stop()
        await database.close()
        return [
            BenchmarkResult(
                name: "customer read by wrk, \(connections) connections",
                reference: "nginx with 2 workers, the same bytes from a file", rounds: measured,
                budget: .throughput(0.8),
                more: [
                    ("requestsPerSecond", .number((1e9 / measured.operation).rounded())),
                    ("referenceRequestsPerSecond", .number((1e9 / measured.reference).rounded())),
                    ("p99Microseconds", rounded(median(latencies.map(\.ours)))),
                    ("referenceP99Microseconds", rounded(median(latencies.map(\.theirs)))),
                    ("answerBytes", .number(bytes.count)),
                ])
        ]
    }

    /// Sends requests for two seconds. Returns the nanoseconds of one request, and the 99th percentile of the latency in
    /// microseconds.
    private static func wrk(_ url: String, _ headers: [String]) throws -> (each: Double, p99: Double) {
        let arguments = ["--threads", "1", "--connections", "\(connections)", "--duration", "2s", "--latency"]
        let output = try Program.run("wrk", arguments + headers.flatMap { ["--header", $0] } + [url])
        func value(_ label: String) -> Substring? {
            output.split(separator: "\n").map { $0.split(separator: " ") }.first { $0.first?[...] == label[...] }?.last
        }
        guard let rate = value("Requests/sec:").flatMap({ Double($0) }), rate > 0,
            let p99 = value("99%").flatMap({ microseconds($0) }), !output.contains("Non-2xx"),
            !output.contains("Socket errors")
        else { throw BenchmarkFailure("wrk did not measure \(url): \(output)") }
        return (1e9 / rate, p99)
    }

    /// Reads a duration of wrk, such as `1.25ms`.
    private static func microseconds(_ text: Substring) -> Double? {
        for (unit, factor) in [("us", 1.0), ("ms", 1e3), ("s", 1e6)] where text.hasSuffix(unit) {
            return Double(text.dropLast(unit.count)).map { $0 * factor }
        }
        return nil
    }
}

/// nginx on a port of 127.0.0.1, which serves a folder.
private final class Nginx {
    let url: String
    private let process: Process

    init(in folder: String) async throws {
        let probe = HTTPListener(handler: AnyHTTPHandler { _ in .ready(HTTPResponse(status: 204)) })
        let port = try probe.start().port
        await probe.stop()
        url = "http://127.0.0.1:\(port)"
        let settings = """
            worker_processes 2;
            daemon off;
            pid \(folder)/nginx.pid;
            error_log \(folder)/error.log;
            events { worker_connections 1024; }
            http {
                access_log off;
                sendfile on;
                tcp_nopush on;
                keepalive_requests 1000000000;
                types { application/json json; }
                client_body_temp_path \(folder)/body;
                proxy_temp_path \(folder)/proxy;
                fastcgi_temp_path \(folder)/fastcgi;
                uwsgi_temp_path \(folder)/uwsgi;
                scgi_temp_path \(folder)/scgi;
                server { listen 127.0.0.1:\(port); location / { root \(folder)/files; } }
            }
            """
        try Data(settings.utf8).write(to: URL(fileURLWithPath: folder + "/nginx.conf"))
        process = try Program.start("nginx", ["-c", folder + "/nginx.conf", "-e", folder + "/error.log"])
        for _ in 0..<500 {
            if (try? LoadClient(port: port)) != nil { return }
            try await Task.sleep(for: .milliseconds(10))
        }
        let log = (try? String(contentsOfFile: folder + "/error.log", encoding: .utf8)) ?? ""
        throw BenchmarkFailure("nginx did not start: \(log)")
    }

    func stop() {
        process.terminate()
        process.waitUntilExit()
    }
}

/// A program of the system, found on the path or in the folders for administrators.
private enum Program {
    static func start(_ name: String, _ arguments: [String], output: Pipe? = nil) throws -> Process {
        let path = (ProcessInfo.processInfo.environment["PATH"] ?? "") + ":/usr/sbin:/sbin"
        let file = path.split(separator: ":").map { "\($0)/\(name)" }.first {
            FileManager.default.isExecutableFile(atPath: $0)
        }
        guard let file else {
            throw BenchmarkFailure("\(name) is missing: run Scripts/install-dependencies bench")
        }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: file)
        process.arguments = arguments
        if let output { process.standardOutput = output }
        try process.run()
        return process
    }

    /// Returns the output of a program that ends by itself.
    static func run(_ name: String, _ arguments: [String]) throws -> String {
        let pipe = Pipe()
        let process = try start(name, arguments, output: pipe)
        let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw BenchmarkFailure("\(name) ended with status \(process.terminationStatus): \(output)")
        }
        return output
    }
}
