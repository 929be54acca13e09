import BaseTestSupport
import HTTPCore
import HTTPListener
import Primitives
import Testing

/// Runs `body` with a listener and then stops it.
///
/// The listener's time passes only when the test moves `time`, so that a slow machine closes no connection.
/// libmicrohttpd uses real time.
func withListener<Value>(
    _ handler: any HTTPHandler, _ time: ManualMonotonicClock = ManualMonotonicClock(),
    _ configure: (inout HTTPListener.Configuration) -> Void = { _ in },
    body: (HTTPListener.Address, HTTPListener) async throws -> Value
) async throws -> Value {
    var configuration = HTTPListener.Configuration()
    configuration.clock = time.clock
    configuration.idleTimeout = .seconds(3600)
    configure(&configuration)
    let listener = HTTPListener(handler: handler, configuration: configuration)
    let address = try listener.start()
    let value: Value
    do {
        value = try await body(address, listener)
    } catch {
        await time.advance(by: .seconds(1)) { await listener.stop() }
        throw error
    }
    await time.advance(by: .seconds(1)) { await listener.stop() }
    return value
}

/// An event that occurs once and can be awaited.
final class Signal: Sendable {
    private struct State {
        var hasHappened = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Locked(State())

    func fire() {
        let waiting = state.withLock { state in
            state.hasHappened = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    func wait() async {
        await withCheckedContinuation { continuation in
            let hasHappened = state.withLock { state in
                if !state.hasHappened { state.waiting.append(continuation) }
                return state.hasHappened
            }
            if hasHappened { continuation.resume() }
        }
    }
}

/// A handler that responds with the request: `METHOD target`, then the body.
let echo = AnyHTTPHandler { request in
    let body = request.body.buffered ?? []
    return .ready(
        HTTPResponse(
            status: 200, headers: ["Content-Type": "text/plain"],
            body: .bytes(Array("\(request.method) \(request.url)\n".utf8) + body)))
}
