import Foundation
import HTTPCore
import Primitives

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The load of one session task through an interceptor: sends the request, follows redirects, and calls the protocol
/// client on the task's queue, but not after the task was stopped.
///
/// Sendable: `urlProtocol` and its client are used only inside `context.perform`.
final class Loading: @unchecked Sendable {
    private struct State {
        var work: Task<Void, Never>?
        var held: [@Sendable () -> Void] = []
        var isHeld = false
        /// Whether a challenge waits for the app's delegate.
        var isChallengePending = false
        var isOver = false
        var lastActivity = ContinuousClock.now
    }

    /// The session keeps the protocol alive while calls of its client are pending.
    private weak var urlProtocol: URLProtocol?
    private let context: TaskContext
    private let transport: any HTTPTransport
    private let request: URLRequest
    private let state = Locked(State())

    init(_ urlProtocol: URLProtocol, _ context: TaskContext, over transport: any HTTPTransport) {
        self.urlProtocol = urlProtocol
        self.context = context
        self.transport = transport
        request = urlProtocol.request
    }

    func begin() {
        let work = Task { await run() }
        state.withLock { $0.work = work }
    }

    /// Holds all calls of the client while the app's task is suspended.
    func suspend() { state.withLock { $0.isHeld = true } }

    /// Makes the held calls after the app resumed its task. Call it on the task's queue.
    func resume() {
        let held = state.withLock { state in
            defer { state.held = [] }
            state.isHeld = false
            state.lastActivity = .now
            return state.held
        }
        for step in held { step() }
    }

    func stop() {
        let work = state.withLock { state in
            state.isOver = true
            state.held = []
            return state.work
        }
        work?.cancel()
    }

    private func run() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.load() }
            group.addTask { await self.enforceTimeout() }
            await group.next()
            group.cancelAll()
        }
    }

    // MARK: - Request

    private func load() async {
        do {
            var next = try convertedRequest()
            var (redirects, refusals) = (0, 0)
            while true {
                let response = try await SessionTransport.$template.withValue(request) {
                    try await transport.send(next)
                }
                noteActivity()
                if let redirected = next.redirected(by: response) {
                    redirects += 1
                    guard redirects <= HTTPRequest.maximumRedirects else { throw URLError(.httpTooManyRedirects) }
                    await finish(response)
                    next = redirected
                } else if let authorization = try await authorization(after: response, from: next.url, refusals) {
                    refusals += 1
                    next.headers["Authorization"] = authorization
                } else {
                    return end { client, it in client.urlProtocolDidFinishLoading(it) }
                }
                if case .stream = next.body { next.body = try renewedBody() }
                // The task may have been cancelled after the delegate gave a credential.
                try Task.checkCancellation()
            }
        } catch {
            fail(error)
        }
    }

    /// Returns the `Authorization` of a further request if the response is a challenge and the app has a credential.
    /// Delivers the response; an app with a completion handler receives a challenge only if no credential is available.
    private func authorization(
        after response: HTTPResponse, from url: String, _ refusals: Int
    ) async throws -> String? {
        let challenge = BasicChallenge(response, from: url, refusals: refusals)
        // A data delegate receives every response, as from URLSession; a completion handler receives only the last.
        let isDelivered = challenge == nil || context.receivesChunks
        if isDelivered { try await deliver(response, from: url) }
        guard let challenge else { return nil }
        let verdict = await verdict(on: challenge)
        if case .none = verdict {
            if !isDelivered { try await deliver(response, from: url) }
            return nil
        }
        if !isDelivered { await finish(response) }
        guard case .authorization(let value) = verdict else { throw URLError(.cancelled) }
        return value
    }

    private func verdict(on challenge: BasicChallenge) async -> BasicChallenge.Verdict {
        let (answers, answer) = AsyncStream.makeStream(of: BasicChallenge.Verdict.self)
        state.withLock { $0.isChallengePending = true }
        defer {
            state.withLock { state in
                state.isChallengePending = false
                state.lastActivity = .now
            }
        }
        let boxed = Unchecked(challenge)
        callClient { _, it in boxed.value.ask(it.task) { answer.yield($0) } }
        return await answers.first { _ in true } ?? .cancelled
    }

    /// Reads an unused response to its end, so that the connection can be reused. Abandons a long response.
    private func finish(_ response: HTTPResponse) async {
        _ = try? await response.body.collect(upTo: 64 << 10)
    }

    /// Converts the request, and adds the headers that the session adds, so that florets see them.
    private func convertedRequest() throws -> HTTPRequest {
        guard let url = request.url else { throw URLError(.badURL) }
        var headers = HTTPHeaders(
            (request.allHTTPHeaderFields ?? [:]).sorted { $0.key < $1.key }.map { .init(name: $0.key, value: $0.value) }
        )
        for (name, value) in context.additionalHeaders.sorted(by: { $0.key < $1.key })
        where !headers.contains(name) {
            headers.add(name, value)
        }
        return HTTPRequest(
            method: .init(request.httpMethod ?? "GET"), url: url.absoluteString, headers: headers,
            body: watched(body), timeout: .seconds(context.resourceTimeout))
    }

    private var body: HTTPBody {
        if let data = request.httpBody { return .bytes([UInt8](data)) }
        if let upload = context.upload { return upload() }
        if let stream = request.httpBodyStream { return .stream(HTTPBodyStream(reading: stream, length: nil)) }
        return .empty
    }

    /// Returns the body again, for a redirect. A stream that the app supplied can be read only once.
    private func renewedBody() throws -> HTTPBody {
        guard request.httpBodyStream == nil else { throw URLError(.requestBodyStreamExhausted) }
        return watched(body)
    }

    /// Returns the same body, and records activity with each chunk.
    private func watched(_ body: HTTPBody) -> HTTPBody {
        guard case .stream(let stream) = body else { return body }
        return .stream(
            HTTPBodyStream(
                length: stream.length,
                next: { [self] in
                    noteActivity()
                    return try await stream.next()
                }, cancel: { stream.cancel() }))
    }

    // MARK: - Response

    private func deliver(_ response: HTTPResponse, from address: String) async throws {
        guard let url = URL(string: address),
            let head = HTTPURLResponse(
                url: url, statusCode: response.status, httpVersion: "HTTP/1.1", headerFields: fields(of: response))
        else { throw URLError(.badServerResponse) }
        callClient { client, it in client.urlProtocol(it, didReceive: head, cacheStoragePolicy: .notAllowed) }
        var whole = Data()
        switch response.body {
        case .bytes(let bytes): whole = Data(bytes)
        case .stream(let stream):
            while let chunk = try await stream.next() {
                noteActivity()
                guard context.receivesChunks else {
                    whole += chunk
                    continue
                }
                let data = Data(chunk)
                callClient { client, it in client.urlProtocol(it, didLoad: data) }
            }
        }
        if !whole.isEmpty { callClient { [whole] client, it in client.urlProtocol(it, didLoad: whole) } }
    }

    private func fields(of response: HTTPResponse) -> [String: String] {
        var fields = response.headers.joined
        #if !canImport(Darwin)
            if response.status == 401, !context.cancelsChallenges,
                let name = fields.keys.first(where: { $0.equalsIgnoringCase("WWW-Authenticate") })
            {
                fields[name] = nil
            }
        #endif
        return fields
    }

    private func fail(_ error: any Error) {
        let error: any Error = (error as? HTTPError)?.asURLError ?? error
        end { client, it in client.urlProtocol(it, didFailWithError: error) }
    }

    // MARK: - Calls of the client

    private typealias Step = @Sendable (any URLProtocolClient, URLProtocol) -> Void

    private func callClient(_ step: @escaping Step) {
        context.perform { [self] in
            runOrHold { [self] in
                if let urlProtocol, let client = urlProtocol.client { step(client, urlProtocol) }
            }
        }
    }

    /// Makes the final call of the client.
    private func end(_ step: @escaping Step) {
        context.perform { [self] in
            runOrHold { [self] in
                guard endCalls(), let urlProtocol, let client = urlProtocol.client else { return }
                step(client, urlProtocol)
                // After a challenge the session cancels the task, and needs the client for that.
                if !context.cancelsChallenges { urlProtocol.releaseClient() }
            }
        }
    }

    private func endCalls() -> Bool {
        state.withLock { state in
            defer { state.isOver = true }
            return !state.isOver
        }
    }

    /// Runs the call now, or holds it until the app resumes the task. Drops it after the end of the task. Runs on the
    /// task's queue.
    private func runOrHold(_ step: @escaping @Sendable () -> Void) {
        let isNow = state.withLock { state in
            if state.isHeld { state.held.append(step) }
            return !state.isHeld && !state.isOver
        }
        if isNow { step() }
    }

    // MARK: - Deadlines

    private func noteActivity() { state.withLock { $0.lastActivity = .now } }

    /// Fails the task after its timeout without activity, because URLSession does not apply timeouts to protocols.
    private func enforceTimeout() async {
        let limit = Duration.seconds(context.timeout)
        while true {
            let (isHeld, lastActivity) = state.withLock { ($0.isHeld || $0.isChallengePending, $0.lastActivity) }
            let left = isHeld ? limit : limit - (.now - lastActivity)
            if left <= .zero { return fail(URLError(.timedOut)) }
            do { try await Task.sleep(for: left) } catch { return }
        }
    }
}

extension URLProtocol {
    /// Releases the client after the final call. On Linux `URLSessionTask.cancel()` may report a task once more after
    /// its end, and Foundation stops the process at a report of an unknown task.
    func releaseClient() {
        #if !canImport(Darwin)
            client = nil
        #endif
    }
}

extension HTTPHeaders {
    /// One value for each name, as URLSession represents headers.
    var joined: [String: String] {
        var fields: [String: String] = [:]
        for field in self {
            let name = fields.keys.first { $0.equalsIgnoringCase(field.name) } ?? field.name
            fields[name] = fields[name].map { "\($0), \(field.value)" } ?? field.value
        }
        return fields
    }
}

extension HTTPBodyStream {
    /// Reads `stream` on its own queue, because reading blocks.
    init(reading stream: InputStream, length: Int?) {
        let queue = DispatchQueue(label: "NetworkInterception.upload")
        let source = Unchecked(stream)
        self.init(
            length: length,
            next: {
                let chunk = Promise<[UInt8]?>()
                queue.async { chunk.resolve(Result { try source.value.chunk() }) }
                return try await chunk.value()
            }, cancel: { queue.async { source.value.close() } })
    }
}

extension InputStream {
    fileprivate func chunk() throws -> [UInt8]? {
        if streamStatus == .notOpen { open() }
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        let count = read(&buffer, maxLength: buffer.count)
        guard count >= 0 else {
            throw HTTPError(.bodyFailed, "The stream of the request's body could not be read.", underlying: streamError)
        }
        if count == 0 { close() }
        return count == 0 ? nil : Array(buffer[..<count])
    }
}
