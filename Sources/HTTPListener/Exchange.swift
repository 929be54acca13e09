import CMicrohttpd
import Dispatch
import HTTPCore
import Primitives

/// One request, from its request line to the last byte of its response.
///
/// Sendable: only microhttpd's calls for one connection use `step`, `request`, `body` and `refusal`. These calls come
/// one after another on one thread. The state that tasks and the sweeper use is in `answer`.
final class Exchange: @unchecked Sendable {
    private enum Step { case headers, body, discarding, waiting }

    private struct Answer {
        var response: HTTPResponse?
        var task: Task<Void, Never>?
        var feed: BodyFeed?
        var isAbandoned = false
    }

    private let service: Service
    private let connection: Connection
    private let target: RawRequestTarget
    private var step = Step.headers
    private var request = HTTPRequest(method: .get, url: "")
    private let body: IncomingBody
    private var received = 0
    private var refusal: HTTPProblem?
    private let answer = Locked(Answer())

    init(service: Service, connection: Connection, target: RawRequestTarget) {
        self.service = service
        self.connection = connection
        self.target = target
        body = IncomingBody(service.bodyAllowance)
    }

    // MARK: - The request

    /// Handles one call of microhttpd: after the headers, then for each part of the body, then for the response, and
    /// whenever a parked connection is resumed. `method` and `version` are microhttpd's own strings.
    func advance(
        _ handle: MHDConnection, method: UnsafePointer<CChar>, version: UnsafePointer<CChar>,
        data: UnsafeRawBufferPointer
    ) -> MHD_Result {
        switch step {
        case .headers:
            return begin(handle, method, version)
        case .body, .discarding:
            if !data.isEmpty { return receive(data) }
            connection.enter(.serving, self)
            return reply(handle)
        case .waiting:
            return awaitAnswer(handle)
        }
    }

    private func begin(
        _ handle: MHDConnection, _ method: UnsafePointer<CChar>, _ version: UnsafePointer<CChar>
    ) -> MHD_Result {
        let head = RequestHeaders(of: handle, method, target, version)
        switch head.check(service.limits) {
        case .accept(let length):
            request = HTTPRequest(
                method: .init(head.method), url: target.text ?? "", headers: head.headers)
            step = .body
            if let length { body.reserveCapacity(min(length, 1 << 16)) }
        case .discard(let problem):
            refusal = problem
            step = .discarding
        case .refuse(let problem):
            connection.enter(.serving, self)
            connection.lingerAfterClose()
            return refuse(problem, on: handle)
        }
        connection.enter(.readingBody, self)
        return .YES
    }

    private func receive(_ data: UnsafeRawBufferPointer) -> MHD_Result {
        received += data.count
        if received > service.limits.maximumBodyBytes, step == .body {
            refuseBody(RequestHeaders.tooLarge(service.limits))
        }
        if step == .body {
            do { try body.append(data) } catch { refuseBody(Self.noRoom) }
        } else if received > service.limits.maximumDiscardedBytes {
            connection.lingerAfterClose()
            return .NO
        }
        return .YES
    }

    /// Refuses the request, but reads and discards the rest of the body, so that the client reads the error response.
    private func refuseBody(_ problem: HTTPProblem) {
        refusal = problem
        body.discard()
        step = .discarding
    }

    // MARK: - The answer

    private func reply(_ handle: MHDConnection) -> MHD_Result {
        if let refusal { return refuse(refusal, on: handle) }
        request.body = body.finish()
        switch service.handler.respond(to: request) {
        case .ready(let response):
            return send(response, to: handle)
        case .suspended(let work):
            step = .waiting
            begin(work)
            return awaitAnswer(handle)
        }
    }

    private func begin(_ work: @escaping @Sendable () async -> HTTPResponse) {
        let runningTasks = service.runningTasks
        runningTasks.enter()
        let task = Task {
            let response = await work()
            answer.withLock { $0.response = response }
            connection.unpark()
            runningTasks.leave()
        }
        let isAbandoned = answer.withLock { answer in
            answer.task = task
            return answer.isAbandoned
        }
        if isAbandoned { task.cancel() }
    }

    private func awaitAnswer(_ handle: MHDConnection) -> MHD_Result {
        while true {
            if let response = answer.withLock({ $0.response }) { return send(response, to: handle) }
            switch connection.park(handle) {
            case .parked: return .YES
            case .again: continue
            case .refused: return refuse(Self.stopping, on: handle)
            }
        }
    }

    /// Sends an error response without the handler.
    private func refuse(_ problem: HTTPProblem, on handle: MHDConnection) -> MHD_Result {
        send(service.limits.response(to: problem), to: handle, closes: true)
    }

    private func send(_ response: HTTPResponse, to handle: MHDConnection, closes: Bool = false) -> MHD_Result {
        let writer = ResponseWriter(
            isHead: request.method == .head, closesConnection: closes || service.connections.isDraining,
            invalidAnswer: { [service] in service.limits.response(to: Self.invalidAnswer) })
        switch writer.prepare(response) {
        case .nothing: return .NO
        case .bytes(let prepared): return writer.queue(prepared, on: handle)
        case .stream(let prepared, let stream):
            let feed = BodyFeed(stream) { [connection] in connection.unpark() }
            let isAbandoned = answer.withLock { answer in
                answer.feed = feed
                return answer.isAbandoned
            }
            feed.start()
            if isAbandoned { feed.cancel() }
            let reader = ResponseReader(feed: feed, connection: connection, handle: handle)
            return writer.queue(prepared, length: stream.length, reader, on: handle)
        }
    }

    // MARK: - The end

    /// Cancels the work on the response, because the client has disconnected or the listener must stop.
    func abandon() {
        let (task, feed) = answer.withLock { answer in
            answer.isAbandoned = true
            return (answer.task, answer.feed)
        }
        task?.cancel()
        feed?.cancel()
    }

    private static let invalidAnswer = HTTPProblem(
        status: 500, code: "invalid_answer", title: "Invalid answer",
        detail: "The server produced an answer that cannot be sent.")

    private static let noRoom = HTTPProblem(
        status: 503, code: "no_room", title: "No room",
        detail: "The server cannot store the request body in a temporary file; try again later.",
        isRetryable: true)

    private static let stopping = HTTPProblem(
        status: 503, code: "stopping", title: "Stopping", detail: "The server is stopping; try again later.",
        isRetryable: true)
}
