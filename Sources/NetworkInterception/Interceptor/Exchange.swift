import Foundation
import HTTPCore

/// The processing of one request by the florets and the network.
///
/// The functions run on the executor of their caller. Otherwise each call would first ask the runtime for an executor,
/// which takes about as long as the work of a function here.
struct Exchange: Sendable {
    private let florets: [any InterceptableFloret]
    private let interceptor: Interceptor

    init(_ florets: [any InterceptableFloret], _ interceptor: Interceptor) {
        self.florets = florets
        self.interceptor = interceptor
    }

    /// Sends `record` through the florets and `transport`, stores it, and returns the response that the app receives.
    ///
    /// Florets run in the app's task and can observe its cancellation. If the task is cancelled while a floret runs,
    /// nothing more is sent and the call throws `HTTPError.cancelled`. If it is cancelled during the transport, a
    /// response that the transport still returns is delivered. If the exchange fails, the call throws its failure.
    nonisolated(nonsending) func run(_ record: consuming Record, over transport: any HTTPTransport) async throws
        -> HTTPResponse
    {
        let clock = interceptor.configuration.clock
        var recorder = BufferedRecorder(interceptor)
        // If the task was cancelled before the exchange, the transport reports the cancellation.
        var isCancellationHandled = Task.isCancelled
        record.timing.started = clock.now()
        if record.requests.original.body.isStream {
            record.originalRequest.body = recorder.watched(record.originalRequest.body, as: .original)
            record.designatedRequest.body = record.originalRequest.body
        }
        await process(&record, .request)
        if !isCancellationHandled, Task.isCancelled { record.failAsCancelled() }
        if record.result == nil {
            if record.requests.designated.body.isStream {
                record.designatedRequest.body = recorder.watched(record.designatedRequest.body, as: .designated)
            }
            record.timing.sent = clock.now()
            if !recorder.keepInMemory(&record) { await recorder.keep(&record) }
            do {
                record.result = .success(try await transport.send(record.designatedRequest))
            } catch {
                record.result = .failure(error)
            }
            isCancellationHandled = Task.isCancelled
        }
        record.timing.answered = clock.now()
        await process(&record, .response)
        if !isCancellationHandled, Task.isCancelled { record.failAsCancelled() }
        return try await delivered(&record, &recorder)
    }

    /// Stores the result of the exchange and returns the response. A streamed response is stored again when its body
    /// ends.
    nonisolated(nonsending) private func delivered(
        _ record: inout Record, _ recorder: inout BufferedRecorder
    ) async throws -> HTTPResponse {
        let result = record.result ?? .failure(Self.noResult)
        if record.result == nil { record.result = result }
        guard interceptor.configuration.recordSelector.selects(record) else {
            await recorder.forget(record.id)
            return try result.get()
        }
        if case .success(var response) = result, case .stream(let stream) = response.body {
            await recorder.keep(&record, isAnswered: true)
            response.body = .stream(recorder.watched(answer: stream))
            return response
        }
        record.timing.ended = record.timing.answered
        if !recorder.keepInMemory(&record) { await recorder.keep(&record, isAnswered: true) }
        return try result.get()
    }

    private static var noResult: InterceptionError {
        InterceptionError(
            .noResult, "A floret removed the result of a request. Set `result` in didRespond.")
    }
}

extension Exchange {
    private enum Phase { case request, response }

    /// Lets each floret process the record, in order. Only properties that a floret may change are copied.
    nonisolated(nonsending) private func process(_ record: inout Record, _ phase: Phase) async {
        guard !florets.isEmpty else { return }
        await Interceptor.$current.withValue(interceptor) {
            for floret in florets {
                let answer =
                    switch phase {
                    case .request: await floret.willRequest(record)
                    case .response: await floret.didRespond(record)
                    }
                if answer.isUntouched(since: record) { continue }
                if let kind = record.change(to: answer) {
                    record.changes.append(.init(floret: floret.name, kind: kind))
                }
                record.take(answer)
            }
        }
    }
}

extension Record {
    /// Replaces the result, unless it is a failure, with `HTTPError.cancelled`: the app no longer waits for the
    /// response.
    fileprivate mutating func failAsCancelled() {
        if case .stream(let stream)? = response?.body { stream.cancel() }
        if failure == nil { result = .failure(HTTPError(.cancelled, "The request was cancelled.")) }
    }

    /// The kind of change between this record and `other`, which a floret returned for it. Two streams count as equal.
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
