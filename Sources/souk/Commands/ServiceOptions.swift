import CurlTransport
import EntitlementServer
import Foundation
import HTTPCore
import HTTPListener
import Primitives
import SignedData
import StoreModel

/// The options for a server's responses: cache, signatures, rate limits, logs, metrics, traces and webhooks.
struct ServiceOptions: Sendable {
    static let options: [Command.Option] = [
        .init(
            name: "signing-key", value: "FILE", repeats: true,
            help: "an Ed25519 key (souk keys create --signing); the first signs answers, all are published"),
        .init(
            name: "log", value: "WHAT", help: "refusals (the default), requests or nothing, as JSON on standard error",
            choices: [Log.refusals, .requests, .nothing].map(\.rawValue)),
        .init(
            name: "answer-memory", value: "MIB",
            help: "memory for cached answers, about 1200 bytes each (an eighth of the memory)"),
        .init(name: "metrics-port", value: "N", help: "a separate port for /metrics"),
        .init(
            name: "otlp-endpoint", value: "URL",
            help: "export traces to this OpenTelemetry collector, such as http://127.0.0.1:4318"),
        .init(
            name: "otlp-headers", value: "FILE",
            help: "headers for the collector, such as its key; each line of the file is NAME: VALUE"),
        .init(name: "trace-ratio", value: "R", help: "the share of new traces that is exported, 0 to 1 (1)"),
        webhook,
        .init(
            name: "webhook-secret", value: "FILE", repeats: true,
            help: "the secret that signs events; give two while you rotate it"),
    ]

    /// An option of each app.
    static let webhook = Command.Option(
        name: "webhook", value: "URL", help: "the URL for events of the app; needs --webhook-secret")

    static let rateLimit = Command.Option(
        name: "rate-limit", value: "N[:BURST]", help: "requests per second of each key, and BURST at once (2 N)")

    static let customerRateLimit = Command.Option(
        name: "customer-rate-limit", value: "N[:BURST]",
        help:
            "requests per second with public keys about one customer, and BURST at once; none: no limit (50:1000)"
    )

    enum Log: String { case nothing, refusals, requests }

    /// The listener of `/metrics`, if it has its own.
    let metrics: HTTPListener.Configuration?
    private let answerMemory: Int
    let signingKeys: [AnswerSigningKey]
    /// The requests that are logged. A reload changes the value.
    let log: Locked<Log>
    /// The webhook of the flags, if any.
    let webhooks: [Webhook]
    private let traces: TraceExport?

    init(_ arguments: Arguments, bundles: [BundleID]) throws {
        signingKeys = try arguments.texts("signing-key").map { path in
            let bytes = try InputFile.read(path, limit: 1 << 16)
            do {
                return AnswerSigningKey(try Ed25519.PrivateKey(bytes))
            } catch let error as SignedDataError {
                throw UsageError("\(path): \(error.reason)")
            }
        }
        guard let log = Log(rawValue: arguments.text("log") ?? "refusals") else {
            throw UsageError("--log is refusals, requests or nothing, not \((arguments.text("log") ?? "").quoted)")
        }
        self.log = Locked(log)
        answerMemory =
            try arguments.integer("answer-memory", in: 0...1 << 30).map { $0 << 20 } ?? Int(ProcessMemory.limit() / 8)
        metrics = try arguments.integer("metrics-port", in: 0...65535).map { port in
            var configuration = HTTPListener.Configuration(host: arguments.text("host") ?? "127.0.0.1", port: port)
            // Only monitors connect here; the limit leaves descriptors to customers.
            configuration.maximumConnections = 64
            return configuration
        }
        webhooks = try Self.webhooks(arguments, bundles)
        traces = try Self.traces(arguments)
    }

    private static func traces(_ arguments: Arguments) throws -> TraceExport? {
        let (headers, ratio) = (arguments.text("otlp-headers"), arguments.text("trace-ratio"))
        guard var endpoint = arguments.text("otlp-endpoint") else {
            guard headers == nil, ratio == nil else {
                throw UsageError("--otlp-headers and --trace-ratio go with --otlp-endpoint")
            }
            return nil
        }
        while endpoint.hasSuffix("/") { endpoint.removeLast() }
        var export = TraceExport(endpoint: endpoint, transport: CurlTransport())
        if let ratio {
            guard let share = Double(ratio), (0...1).contains(share) else {
                throw UsageError("--trace-ratio is a number from 0 to 1, not \(ratio.quoted)")
            }
            export.ratio = share
        }
        for line in try headers.map({ try InputFile.text($0).split(whereSeparator: \.isNewline) }) ?? [] {
            let parts = line.split(separator: ":", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
            guard parts.count == 2, !parts[0].isEmpty, !parts[1].isEmpty else {
                throw UsageError("\(headers ?? ""): each line should be NAME: VALUE")
            }
            export.headers.add(parts[0], parts[1])
        }
        return export
    }

    /// Each webhook has its own limit of concurrent attempts. With a common limit, one receiver that hangs would delay
    /// the others.
    private static var webhookTransport: any HTTPTransport {
        var configuration = CurlTransport.Configuration()
        configuration.maximumConnections = 100_000
        configuration.maximumConnectionsPerHost = 100_000
        return CurlTransport(configuration: configuration)
    }

    func apply(to configuration: inout EntitlementService.Configuration) {
        configuration.answerMemory = answerMemory
        configuration.signingKeys = signingKeys
        configuration.servesMetrics = metrics == nil
        configuration.webhooks += webhooks
        configuration.traces = traces
        configuration.webhookTransport = Self.webhookTransport
        configuration.reportFailure = { name, error in
            let line: JSONValue = [
                "time": .string(RFC3339.string(from: Date())), "level": "error", "requestID": .string(name),
                "failure": .string("\(error)"),
            ]
            Terminal.log(json: line)
        }
        configuration.log = { [log] record in
            if log.withLock({ $0 }) != .nothing { Terminal.log(json: record.json) }
        }
        configuration.logsEveryRequest = log.withLock { $0 } == .requests
    }

    static func rateLimit(_ text: String, of option: Command.Option = rateLimit) throws -> RateLimit {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count <= 2, let perSecond = Double(parts[0]), perSecond > 0, perSecond <= 1e6,
            let burst = parts.count == 2 ? Int(parts[1]) : max(1, Int(2 * perSecond)), (1...10_000_000).contains(burst)
        else {
            let forms = option.name == rateLimit.name ? "N or N:BURST" : "N, N:BURST or none"
            throw UsageError("--\(option.name) is \(forms), such as 50:200, not \(text.quoted)")
        }
        guard perSecond >= RateLimit.leastPerSecond else {
            throw UsageError("--\(option.name) is at least 0.00001, about one request a day, not \(text.quoted)")
        }
        return RateLimit(perSecond: perSecond, burst: burst)
    }

    private static func webhooks(_ arguments: Arguments, _ bundles: [BundleID]) throws -> [Webhook] {
        let files = arguments.texts("webhook-secret")
        guard let url = arguments.text("webhook") else {
            guard files.isEmpty else { throw UsageError("--webhook-secret goes with --webhook") }
            return []
        }
        guard bundles.count == 1, !files.isEmpty else {
            throw UsageError("--webhook is for one app: give one --bundle-id and at least one --webhook-secret with it")
        }
        let secrets = try files.map { path in
            let text = try InputFile.text(path)
            do { return try WebhookSecret(text) } catch { throw UsageError("\(path): \(error)") }
        }
        return bundles.map { Webhook(name: "default", app: $0, url: url, secrets: secrets) }
    }
}
