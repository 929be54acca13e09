import HTTPCore
import NetworkInterception
import Primitives

/// A floret made of two functions.
final class Probe: InterceptableFloret {
    typealias Step = @Sendable (inout Record) async -> Void

    let name: String
    private let isEnabled = Locked(true)
    private let before: Step
    private let after: Step

    init(_ name: String = "Probe", before: @escaping Step = { _ in }, after: @escaping Step = { _ in }) {
        self.name = name
        self.before = before
        self.after = after
    }

    var enabled: Bool {
        get { isEnabled.withLock { $0 } }
        set { isEnabled.withLock { $0 = newValue } }
    }

    func willRequest(_ record: Record) async -> Record {
        var record = record
        await before(&record)
        return record
    }

    func didRespond(_ record: Record) async -> Record {
        var record = record
        await after(&record)
        return record
    }
}

/// A gate that is closed until it is opened. Waiting ignores cancellation.
final class Gate: Sendable {
    private let opened = Promise<Void>()

    func open() { opened.resolve(.success(())) }
    func wait() async { try? await opened.value() }
}

/// A log of texts in order.
final class Diary: Sendable {
    private let lines = Locked<[String]>([])

    func write(_ line: String) { lines.withLock { $0.append(line) } }
    var all: [String] { lines.withLock { $0 } }
}

extension Interceptor {
    /// A running interceptor that stores in memory.
    static func running(
        _ florets: [any Floret], _ change: (inout Configuration) -> Void = { _ in }
    ) -> Interceptor {
        var configuration = Configuration.standard
        change(&configuration)
        let interceptor = Interceptor(florets, configuration: configuration)
        interceptor.run()
        return interceptor
    }

    /// All records, newest first.
    var records: [Record] { get async { await storage.records(.max, after: nil) } }
}

extension HTTPTransport where Self == InProcessTransport {
    /// A transport that echoes its requests.
    static var echo: InProcessTransport {
        InProcessTransport(
            AnyHTTPHandler { request in
                .suspended {
                    let body = (try? await request.body.collect(upTo: 1 << 20)) ?? []
                    return HTTPResponse(status: 200, headers: ["X-Target": request.url], body: .bytes(body))
                }
            })
    }
}

/// A transport that is a function.
struct AnyTransport: HTTPTransport {
    let answer: @Sendable (HTTPRequest) async throws -> HTTPResponse

    func send(_ request: HTTPRequest) async throws -> HTTPResponse { try await answer(request) }
}

let getRoot = HTTPRequest(method: .get, url: "http://a/")
