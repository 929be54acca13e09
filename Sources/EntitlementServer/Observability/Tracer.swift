import Foundation
import HTTPCore
import Primitives

/// The destination of traces, and the share of traces that begin here.
package struct TraceExport: Sendable {
    /// The URL of the collector, to which `/v1/traces` is added, such as `http://127.0.0.1:4318`.
    package var endpoint: String
    /// Headers of each request to the collector, such as its key.
    package var headers: HTTPHeaders = [:]
    /// The share of the traces that begin at this server and are exported, from 0 to 1. A trace that began at a client
    /// is exported if the client records it.
    package var ratio = 1.0
    /// The transport of the requests to the collector.
    package var transport: any HTTPTransport

    package init(endpoint: String, transport: any HTTPTransport) {
        self.endpoint = endpoint
        self.transport = transport
    }

    /// Throws ``EntitlementServerError`` with `invalidConfiguration`.
    func check() throws(EntitlementServerError) {
        guard endpoint.hasPrefix("http://") || endpoint.hasPrefix("https://"), !endpoint.hasSuffix("/") else {
            throw EntitlementServerError(
                .invalidConfiguration,
                "The endpoint of traces should be a URL of http or https without a slash at its end, such as "
                    + "http://127.0.0.1:4318.")
        }
        guard (0...1).contains(ratio) else {
            throw EntitlementServerError(.invalidConfiguration, "The share of exported traces is from 0 to 1.")
        }
    }
}

/// A finished operation of a trace.
struct Span: Sendable {
    /// The role of an operation, with its number in OTLP.
    enum Kind: Int { case `internal` = 1, server, client }

    enum Value: Sendable, Equatable {
        case text(String)
        case number(Int)
    }

    let context: Traceparent
    let parentID: String?
    let name: String
    let kind: Kind
    let start: Date
    let duration: Duration
    let attributes: [(String, Value)]
    let hasFailed: Bool
}

/// An operation of a trace that has begun.
struct OpenSpan: Sendable {
    let context: Traceparent
    fileprivate let parentID: String?
    fileprivate let kind: Span.Kind
    fileprivate let start: Date
    fileprivate let begun: ContinuousClock.Instant
    let tracer: Tracer

    /// Ends the operation. Does nothing if its trace is not recorded.
    func end(_ name: String, _ attributes: [(String, Span.Value)], hasFailed: Bool) {
        guard context.isSampled else { return }
        tracer.add(
            Span(
                context: context, parentID: parentID, name: name, kind: kind, start: start,
                duration: begun.duration(to: .now), attributes: attributes, hasFailed: hasFailed))
    }
}

/// The trace of the current task.
struct CurrentTrace: Sendable {
    /// The trace of the request or the background job that the current task works for.
    @TaskLocal static var value: CurrentTrace?

    /// The span that calls of other servers belong to; `nil` in a background job, whose calls begin traces.
    let parent: Traceparent?
    /// `nil` if this server exports no traces.
    let tracer: Tracer?

    /// Adds the header `traceparent` to a request for another server. Returns its span; `nil` if this server exports no
    /// traces.
    static func send(with request: inout HTTPRequest) -> OpenSpan? {
        guard let current = value else { return nil }
        let span = current.tracer?.begin(.client, after: current.parent)
        if let context = span?.context ?? current.parent {
            request.headers.add(Traceparent.field, context.text)
        }
        return span
    }
}

/// Records the spans of this server, and sends them to a collector in batches, over OTLP/HTTP with JSON (OpenTelemetry
/// Protocol 1). While the collector is unreachable, the newest spans are lost. Requests never wait for it.
final class Tracer: Sendable {
    /// The largest number of spans that wait for the collector.
    static let capacity = 4096
    /// The largest number of spans in a request to the collector.
    static let batchSize = 512
    /// The time until the next request after a failed one.
    static let pauseAfterFailure = Duration.seconds(5)
    /// The largest pause that a collector can ask for.
    private static let longestPause = Duration.seconds(60)

    private struct State {
        var spans: [Span] = []
        /// The earliest time of the next request; `nil` if it can be sent at once.
        var nextRequest: ContinuousClock.Instant?
        var isFailing = false
    }

    private let export: TraceExport
    private let version: String?
    private let clock: any WallClock
    private let monotonicClock: MonotonicClock
    private let counter: Counter
    private let state = Locked(State())

    /// - Parameter counter: Counts the spans by what became of them: `exported`, `failed`, `dropped`.
    init(
        _ export: TraceExport, version: String?, clock: any WallClock, monotonicClock: MonotonicClock,
        counting counter: Counter
    ) {
        self.export = export
        self.version = version
        self.clock = clock
        self.monotonicClock = monotonicClock
        self.counter = counter
        for result in ["exported", "failed", "dropped"] { counter.add(result, 0) }
    }

    /// Begins an operation. Without a parent it begins a trace.
    func begin(_ kind: Span.Kind, after parent: Traceparent?) -> OpenSpan {
        var source = SystemRandomNumberGenerator()
        let traceID =
            parent.map { String($0.traceID) } ?? Self.hex(Self.random(&source)) + Self.hex(Self.random(&source))
        let context = Traceparent(
            traceID: traceID, spanID: Self.hex(Self.random(&source)),
            isSampled: parent?.isSampled ?? isChosen(traceID))
        return OpenSpan(
            context: context, parentID: parent.map { String($0.spanID) }, kind: kind, start: clock.now(), begun: .now,
            tracer: self)
    }

    /// Whether a trace that begins here is recorded. The decision depends on the last 56 bits of the trace id alone, as
    /// in other implementations of OpenTelemetry.
    private func isChosen(_ traceID: String) -> Bool {
        guard let bits = UInt64(traceID.suffix(14), radix: 16) else { return false }
        return Double(bits) < export.ratio * 0x1p56
    }

    /// Returns random bits that are not all 0, because ids of 0 are invalid.
    private static func random(_ source: inout SystemRandomNumberGenerator) -> UInt64 {
        .random(in: 1 ... .max, using: &source)
    }

    private static func hex(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    fileprivate func add(_ span: Span) {
        let isKept = state.withLock { state in
            guard state.spans.count < Self.capacity else { return false }
            state.spans.append(span)
            return true
        }
        if !isKept { counter.add("dropped") }
    }

    /// Sends the next batch, and returns whether there is more to send.
    ///
    /// Throws the first of consecutive failures. A batch that the collector refuses is dropped; one that did not reach
    /// it, or that it asks for again, is sent later.
    func step() async throws -> Bool {
        let now = monotonicClock.now
        let batch = state.withLock { state -> [Span] in
            if let next = state.nextRequest, now < next { return [] }
            let batch = Array(state.spans.prefix(Self.batchSize))
            state.spans.removeFirst(batch.count)
            return batch
        }
        guard !batch.isEmpty else { return false }
        do {
            let rejected = try await send(batch)
            counter.add("failed", rejected)
            counter.add("exported", batch.count - rejected)
            return state.withLock { state in
                state.isFailing = false
                state.nextRequest = nil
                return !state.spans.isEmpty
            }
        } catch {
            let pause = (error as? TraceExportError)?.retryAfter ?? Self.pauseAfterFailure
            let isLost = (error as? TraceExportError).map { !$0.isRetryable } ?? false
            let (dropped, isFirst) = state.withLock { state -> (Int, Bool) in
                let free = isLost ? 0 : max(0, Self.capacity - state.spans.count)
                state.spans.insert(contentsOf: batch.prefix(free), at: 0)
                state.nextRequest = now.advanced(by: min(pause, Self.longestPause))
                defer { state.isFailing = true }
                return (batch.count - min(free, batch.count), !state.isFailing)
            }
            counter.add(isLost ? "failed" : "dropped", dropped)
            if isFirst { throw error }
            return false
        }
    }

    /// Sends all spans that wait, at the end of the server. A failure loses them.
    func finish() async {
        state.withLock { $0.nextRequest = nil }
        while (try? await step()) == true {}
    }

    /// Returns the number of spans that the collector did not keep.
    private func send(_ batch: [Span]) async throws -> Int {
        var request = HTTPRequest(
            method: .post, url: export.endpoint + "/v1/traces", headers: export.headers,
            json: OTLP.traces(batch, version: version))
        request.timeout = .seconds(10)
        let response = try await export.transport.send(request)
        let body = try await response.body.collect(upTo: 1 << 16)
        guard response.isSuccess else {
            throw TraceExportError(status: response.status, retryAfter: response.headers["Retry-After"])
        }
        let answer = try? JSONValue(parsing: body)
        let rejected = answer?["partialSuccess"]?["rejectedSpans"]
        let number = rejected?.intValue ?? rejected?.stringValue.flatMap { Int($0) } ?? 0
        return min(max(0, number), batch.count)
    }
}

/// A collector refused a batch of spans.
private struct TraceExportError: Error, CustomStringConvertible {
    let status: Int
    let retryAfter: Duration?

    init(status: Int, retryAfter text: String?) {
        self.status = status
        retryAfter = text.flatMap { Int($0) }.map { .seconds(min(max(1, $0), 3600)) }
    }

    /// Whether OTLP allows to send the batch again.
    var isRetryable: Bool { [429, 502, 503, 504].contains(status) }

    var description: String {
        "The collector of traces answered \(status). "
            + (isRetryable ? "The spans are sent again later." : "The spans are lost; check the URL and its headers.")
    }
}

/// The JSON form of the OpenTelemetry Protocol (OTLP 1.0): member names in camel case, ids in hexadecimal, 64-bit numbers
/// as text.
enum OTLP {
    static func traces(_ spans: [Span], version: String?) -> JSONValue {
        var resource = [attribute("service.name", .text("souk"))]
        if let version { resource.append(attribute("service.version", .text(version))) }
        let scope: JSONValue = ["scope": ["name": "souk"], "spans": .array(spans.map(json))]
        return ["resourceSpans": [["resource": ["attributes": .array(resource)], "scopeSpans": [scope]]]]
    }

    private static func json(_ span: Span) -> JSONValue {
        let start = nanoseconds(span.start)
        let (seconds, attoseconds) = span.duration.components
        let end = start &+ seconds &* 1_000_000_000 &+ attoseconds / 1_000_000_000
        var json: JSONValue = [
            "traceId": .string(String(span.context.traceID)), "spanId": .string(String(span.context.spanID)),
            "name": .string(span.name), "kind": .number(span.kind.rawValue),
            "startTimeUnixNano": .string(String(start)), "endTimeUnixNano": .string(String(end)),
            "attributes": .array(span.attributes.map(attribute)),
        ]
        if let parent = span.parentID { json["parentSpanId"] = .string(parent) }
        if span.hasFailed { json["status"] = ["code": 2] }
        return json
    }

    private static func attribute(_ name: String, _ value: Span.Value) -> JSONValue {
        let value: JSONValue =
            switch value {
            case .text(let text): ["stringValue": .string(text)]
            case .number(let number): ["intValue": .string(String(number))]
            }
        return ["key": .string(name), "value": value]
    }

    private static func nanoseconds(_ date: Date) -> Int64 {
        Int64(exactly: (date.timeIntervalSince1970 * 1e6).rounded()).map { $0 &* 1000 } ?? 0
    }
}
