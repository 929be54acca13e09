import Foundation
import HTTPCore
import Primitives

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// One task of a session on its way through an interceptor: asks, follows redirects, and tells URLSession, always where
/// it may be told, and nothing after it has been stopped.
final class Loading: @unchecked Sendable {
    // Sendable: `urlProtocol` and its client are used where `surroundings.tell` leads to alone.

    private struct State {
        var work: Task<Void, Never>?
        var held: [@Sendable () -> Void] = []
        var isHeld = false
        /// The app thinks about a credential.
        var isAsking = false
        var isOver = false
        var lastSign = ContinuousClock.now
    }

    /// The session keeps it as long as it has to be told something.
    private weak var urlProtocol: URLProtocol?
    private let surroundings: Surroundings
    private let transport: any HTTPTransport
    private let request: URLRequest
    private let state = Locked(State())

    init(_ urlProtocol: URLProtocol, _ surroundings: Surroundings, over transport: any HTTPTransport) {
        self.urlProtocol = urlProtocol
        self.surroundings = surroundings
        self.transport = transport
        request = urlProtocol.request
    }

    func begin() {
        let work = Task { await run() }
        state.withLock { $0.work = work }
    }

    /// The app has suspended its task: it is told nothing until it goes on.
    func hold() { state.withLock { $0.isHeld = true } }

    /// The app goes on with its task. To be called where URLSession may be told.
    func goOn() {
        let held = state.withLock { state in
            defer { state.held = [] }
            state.isHeld = false
            state.lastSign = .now
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
            group.addTask { await self.watchTheClock() }
            await group.next()
            group.cancelAll()
        }
    }

    // MARK: - The way of the request

    private func load() async {
        do {
            var next = try asked()
            var (redirects, refusals) = (0, 0)
            while true {
                let response = try await SessionTransport.$template.withValue(request) {
                    try await transport.send(next)
                }
                sign()
                if let redirected = next.redirected(by: response) {
                    redirects += 1
                    guard redirects <= HTTPRequest.mostRedirects else { throw URLError(.httpTooManyRedirects) }
                    await finish(response)
                    next = redirected
                } else if let authorization = try await authorization(after: response, from: next.url, refusals) {
                    refusals += 1
                    next.headers["Authorization"] = authorization
                } else {
                    return end { client, it in client.urlProtocolDidFinishLoading(it) }
                }
                if case .stream = next.body { next.body = try bodyAnew() }
                // A credential may have come before the app cancelled, and be read after it.
                try Task.checkCancellation()
            }
        } catch {
            fail(error)
        }
    }

    /// Gives the app the answer. When it asks for a credential and the app has one: that, for a further request.
    private func authorization(
        after response: HTTPResponse, from url: String, _ refusals: Int
    ) async throws -> String? {
        let challenge = BasicChallenge(response, from: url, refusals: refusals)
        // A data delegate is told of every answer, as URLSession tells it; who awaits one gets the last.
        let isTold = challenge == nil || surroundings.takesPieces
        if isTold { try await deliver(response, from: url) }
        guard let challenge else { return nil }
        let verdict = await verdict(on: challenge)
        if case .none = verdict {
            if !isTold { try await deliver(response, from: url) }
            return nil
        }
        if !isTold { await finish(response) }
        guard case .authorization(let value) = verdict else { throw URLError(.cancelled) }
        return value
    }

    private func verdict(on challenge: BasicChallenge) async -> BasicChallenge.Verdict {
        let (answers, answer) = AsyncStream.makeStream(of: BasicChallenge.Verdict.self)
        state.withLock { $0.isAsking = true }
        defer {
            state.withLock { state in
                state.isAsking = false
                state.lastSign = .now
            }
        }
        let asked = Unchecked(challenge)
        tell { _, it in asked.value.ask(it.task) { answer.yield($0) } }
        return await answers.first { _ in true } ?? .cancelled
    }

    /// Reads an answer that nobody gets to its end, so that the connection can be used again; a long one is let go.
    private func finish(_ response: HTTPResponse) async {
        _ = try? await response.body.collect(upTo: 64 << 10)
    }

    /// The request as `HTTPRequest` has it: what the session adds is added, so that florets see it.
    private func asked() throws -> HTTPRequest {
        guard let url = request.url else { throw URLError(.badURL) }
        var headers = HTTPHeaders(
            (request.allHTTPHeaderFields ?? [:]).sorted { $0.key < $1.key }.map { .init(name: $0.key, value: $0.value) }
        )
        for (name, value) in surroundings.additionalHeaders.sorted(by: { $0.key < $1.key })
        where !headers.contains(name) {
            headers.add(name, value)
        }
        return HTTPRequest(
            method: .init(request.httpMethod ?? "GET"), url: url.absoluteString, headers: headers,
            body: watched(body), timeout: .seconds(surroundings.resourceTimeout))
    }

    private var body: HTTPBody {
        if let data = request.httpBody { return .bytes([UInt8](data)) }
        if let upload = surroundings.upload { return upload() }
        if let stream = request.httpBodyStream { return .stream(HTTPBodyStream(reading: stream, length: nil)) }
        return .empty
    }

    /// A redirect wants the body once more; the app's own stream has been read.
    private func bodyAnew() throws -> HTTPBody {
        guard request.httpBodyStream == nil else { throw URLError(.requestBodyStreamExhausted) }
        return watched(body)
    }

    /// The same body, of which each piece is a sign of life.
    private func watched(_ body: HTTPBody) -> HTTPBody {
        guard case .stream(let stream) = body else { return body }
        return .stream(
            HTTPBodyStream(
                length: stream.length,
                next: { [self] in
                    sign()
                    return try await stream.next()
                }, cancel: { stream.cancel() }))
    }

    // MARK: - What the app gets

    private func deliver(_ response: HTTPResponse, from address: String) async throws {
        guard let url = URL(string: address),
            let head = HTTPURLResponse(
                url: url, statusCode: response.status, httpVersion: "HTTP/1.1", headerFields: fields(of: response))
        else { throw URLError(.badServerResponse) }
        tell { client, it in client.urlProtocol(it, didReceive: head, cacheStoragePolicy: .notAllowed) }
        var whole = Data()
        switch response.body {
        case .bytes(let bytes): whole = Data(bytes)
        case .stream(let stream):
            while let piece = try await stream.next() {
                sign()
                guard surroundings.takesPieces else {
                    whole += piece
                    continue
                }
                let data = Data(piece)
                tell { client, it in client.urlProtocol(it, didLoad: data) }
            }
        }
        if !whole.isEmpty { tell { [whole] client, it in client.urlProtocol(it, didLoad: whole) } }
    }

    private func fields(of response: HTTPResponse) -> [String: String] {
        var fields = response.headers.joined
        #if !canImport(Darwin)
            // URLSession would wait for a credential, for ever where there is none.
            if response.status == 401, !surroundings.cancelsChallenges,
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

    // MARK: - Telling URLSession

    private typealias Step = @Sendable (any URLProtocolClient, URLProtocol) -> Void

    private func tell(_ step: @escaping Step) {
        surroundings.tell { [self] in
            take { [self] in
                if let urlProtocol, let client = urlProtocol.client { step(client, urlProtocol) }
            }
        }
    }

    /// The last word.
    private func end(_ step: @escaping Step) {
        surroundings.tell { [self] in
            take { [self] in
                guard stopTelling(), let urlProtocol, let client = urlProtocol.client else { return }
                step(client, urlProtocol)
                // A challenge is not the end: the session cancels the task, and has to be told so.
                if !surroundings.cancelsChallenges { urlProtocol.forgetClient() }
            }
        }
    }

    private func stopTelling() -> Bool {
        state.withLock { state in
            defer { state.isOver = true }
            return !state.isOver
        }
    }

    /// Where URLSession may be told: does it now, or when the app goes on, or never.
    private func take(_ step: @escaping @Sendable () -> Void) {
        let isNow = state.withLock { state in
            if state.isHeld { state.held.append(step) }
            return !state.isHeld && !state.isOver
        }
        if isNow { step() }
    }

    // MARK: - Deadlines

    private func sign() { state.withLock { $0.lastSign = .now } }

    /// URLSession does not look after a protocol's deadline: so long nothing may pass in either direction.
    private func watchTheClock() async {
        let limit = Duration.seconds(surroundings.timeout)
        while true {
            let (isHeld, lastSign) = state.withLock { ($0.isHeld || $0.isAsking, $0.lastSign) }
            let left = isHeld ? limit : limit - (.now - lastSign)
            if left <= .zero { return fail(URLError(.timedOut)) }
            do { try await Task.sleep(for: left) } catch { return }
        }
    }
}

extension URLProtocol {
    /// To be called after the last word. On Linux `URLSessionTask.cancel()` may report a task that has just ended once
    /// more, and Foundation stops the program over a report of a task it has forgotten.
    func forgetClient() {
        #if !canImport(Darwin)
            client = nil
        #endif
    }
}

extension HTTPHeaders {
    /// One value a name, as URLSession has headers.
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
    /// What `stream` gives, read on a queue of its own because reading it blocks.
    init(reading stream: InputStream, length: Int?) {
        let queue = DispatchQueue(label: "NetworkInterception.upload")
        let source = Unchecked(stream)
        self.init(
            length: length,
            next: {
                let piece = Promise<[UInt8]?>()
                queue.async { piece.resolve(Result { try source.value.piece() }) }
                return try await piece.value()
            }, cancel: { queue.async { source.value.close() } })
    }
}

extension InputStream {
    fileprivate func piece() throws -> [UInt8]? {
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
