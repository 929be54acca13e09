import Foundation
import HTTPCore

/// One request on its way through the florets and the network.
struct Exchange: Sendable {
    private let florets: [any InterceptableFloret]
    private let interceptor: Interceptor
    private let keeper: RecordKeeper

    init(_ florets: [any InterceptableFloret], _ interceptor: Interceptor) {
        self.florets = florets
        self.interceptor = interceptor
        keeper = RecordKeeper(interceptor)
    }

    /// What the app gets of what `record` asks for: the answer, or the failure thrown.
    ///
    /// Florets are asked in the app's task, so they hear when it is cancelled. Whatever they make of that, nothing is sent
    /// any more, and the call throws `HTTPError.cancelled`. A transport that answers nevertheless is believed.
    func run(_ record: consuming Record, over transport: any HTTPTransport) async throws -> HTTPResponse {
        let clock = interceptor.configuration.clock
        // Who was cancelled before is for the transport to refuse.
        var isHeeded = Task.isCancelled
        record.timing.started = clock.now()
        record.originalRequest.body = keeper.watched(record.originalRequest.body, as: .original)
        record.designatedRequest.body = record.originalRequest.body
        record = await asked(record) { await $0.willRequest($1) }
        if !isHeeded, Task.isCancelled { record.giveUp() }
        if record.result == nil {
            record.designatedRequest.body = keeper.watched(record.designatedRequest.body, as: .designated)
            record.timing.sent = clock.now()
            await keeper.keep(&record)
            record.result = await Self.answer(to: record.designatedRequest, from: transport)
            isHeeded = Task.isCancelled
        }
        record.timing.answered = clock.now()
        record = await asked(record) { await $0.didRespond($1) }
        if !isHeeded, Task.isCancelled { record.giveUp() }
        return try await delivered(&record)
    }

    /// Stores how the exchange ended and hands the answer on; an answer that streams is stored again when it was read.
    private func delivered(_ record: inout Record) async throws -> HTTPResponse {
        let result = record.result ?? .failure(Self.noResult)
        record.result = result
        let isKept = interceptor.configuration.recordSelector.selects(record)
        if case .success(var response) = result, isKept, case .stream(let stream) = response.body {
            await keeper.keep(&record, isAnswered: true)
            response.body = .stream(keeper.watched(answer: stream))
            return response
        }
        if isKept {
            record.timing.ended = record.timing.answered
            await keeper.keep(&record, isAnswered: true)
        } else {
            await keeper.forget(record.id)
        }
        return try result.get()
    }

    private static var noResult: InterceptionError {
        InterceptionError(
            .noResult, "A floret took the answer away and put nothing in its place; set `result` in didRespond.")
    }

    private static func answer(
        to request: HTTPRequest, from transport: any HTTPTransport
    ) async -> Result<Response, any Error> {
        do { return .success(try await transport.send(request)) } catch { return .failure(error) }
    }
}

// MARK: - Florets

extension Exchange {
    /// The record after each floret, in order, has seen it. Only what a floret may decide is taken from its answer.
    private func asked(
        _ record: Record, _ ask: (any InterceptableFloret, Record) async -> Record
    ) async -> Record {
        guard !florets.isEmpty else { return record }
        return await Interceptor.$current.withValue(interceptor) {
            var record = record
            for floret in florets {
                let answer = await ask(floret, record)
                if answer.isUntouched(since: record) { continue }
                if let kind = record.change(to: answer) {
                    record.changes.append(.init(floret: floret.name, kind: kind))
                }
                record.originalRequest = answer.originalRequest
                record.designatedRequest = answer.designatedRequest
                record.result = answer.result
            }
            return record
        }
    }
}

extension Record {
    /// The app has stopped waiting: what was answered is not wanted any more.
    fileprivate mutating func giveUp() {
        if case .stream(let stream)? = response?.body { stream.cancel() }
        if failure == nil { result = .failure(HTTPError(.cancelled, "The request was cancelled.")) }
    }

    /// What a floret did that was given this record and answered `other`. Streams count as what they were.
    fileprivate func change(to other: Record) -> Change.Kind? {
        switch (result, other.result) {
        case (nil, .success): .answered
        case (nil, .failure), (.success, .failure): .failed
        case (.failure, .success): .answered
        case (.success(let before), .success(let after)):
            before.status == after.status && before.headers == after.headers && before.body.isSame(as: after.body)
                ? nil : .changedResponse
        case (.some, nil): .changedResponse
        case (.failure, .failure): nil
        case (nil, nil): designatedRequest.isSame(as: other.designatedRequest) ? nil : .changedRequest
        }
    }
}

extension HTTPRequest {
    fileprivate func isSame(as other: HTTPRequest) -> Bool {
        method == other.method && url == other.url && timeout == other.timeout && headers == other.headers
            && body.isSame(as: other.body)
    }
}

extension HTTPBody {
    fileprivate func isSame(as other: HTTPBody) -> Bool {
        switch (self, other) {
        case (.bytes(let left), .bytes(let right)): left == right
        case (.stream, .stream): true
        default: false
        }
    }
}
