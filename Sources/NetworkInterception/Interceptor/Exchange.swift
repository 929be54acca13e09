import Foundation
import HTTPCore
import Primitives

/// One request on its way through the florets and the network, and the record of it.
final class Exchange: Sendable {
    private let interceptor: Interceptor
    private let florets: [any InterceptableFloret]
    private let record: Locked<Record>
    private let limit: Int
    /// How it ended, its request's bodies not yet merged in: a server may answer before it has read the request.
    private let ending = Locked<Record?>(nil)

    init(_ record: Record, _ florets: [any InterceptableFloret], _ interceptor: Interceptor) {
        self.florets = florets
        self.interceptor = interceptor
        limit = interceptor.configuration.maximumRecordedBytes
        self.record = Locked(record)
    }

    /// What the app gets: the answer, or the failure thrown.
    func run(over transport: any HTTPTransport) async throws -> HTTPResponse {
        var record = record.withLock { $0 }
        record.timing.started = interceptor.configuration.clock.now()
        record.originalRequest.body = watched(record.originalRequest.body, as: .original)
        record.designatedRequest.body = record.originalRequest.body
        record = await asked(record) { await $0.willRequest($1) }
        if record.result == nil {
            record.designatedRequest.body = watched(record.designatedRequest.body, as: .designated)
            record.timing.sent = interceptor.configuration.clock.now()
            await keep(record)
            record.result = await Self.answer(to: record.designatedRequest, from: transport)
        }
        record.timing.answered = interceptor.configuration.clock.now()
        record = await asked(record) { await $0.didRespond($1) }
        return try await delivered(record)
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

// MARK: - Bodies and the record

extension Exchange {
    private enum Place { case original, designated }

    /// The same body, of which the record takes the first bytes while it passes.
    private func watched(_ body: HTTPBody, as place: Place) -> HTTPBody {
        guard case .stream = body else { return body }
        note(.empty, Record.Passage(byteCount: 0, end: .underway), place)
        return body.tapped(upTo: limit) { [self] bytes, passage in
            note(.bytes(bytes), passage, place)
            if let ending = ending.withLock({ $0 }) { interceptor.keepLater(merged(ending)) }
        }
    }

    private func note(_ body: HTTPBody, _ passage: Record.Passage, _ place: Place) {
        record.withLock { record in
            switch place {
            case .original:
                record.originalRequest.body = body
                record.bodies.original = passage
            case .designated:
                record.designatedRequest.body = body
                record.bodies.designated = passage
            }
        }
    }

    /// Stores the record as it stands; bodies that are streams with the bytes that have passed.
    private func keep(_ current: Record) async { await interceptor.keep(merged(current)) }

    /// Stores how the exchange ended. What a body notes meanwhile is stored once more.
    private func keepEnding(_ current: Record) async {
        ending.withLock { $0 = current }
        let noted = record.withLock { $0.bodies }
        await keep(current)
        if record.withLock({ $0.bodies }) != noted { await keep(current) }
    }

    /// What `current` says, with bodies as bytes and what their taps have noted.
    private func merged(_ current: Record) -> Record {
        var whole = current
        let limit = limit
        record.withLock { noted in
            whole.bodies = noted.bodies
            whole.originalRequest.body = whole.originalRequest.body.recorded(
                noted.originalRequest.body, &whole.bodies.original, limit)
            whole.designatedRequest.body = whole.designatedRequest.body.recorded(
                noted.designatedRequest.body, &whole.bodies.designated, limit)
        }
        if case .success(var response)? = whole.result {
            response.body = response.body.recorded(.empty, &whole.bodies.response, limit)
            whole.result = .success(response)
        }
        return whole
    }

    /// Stores how the exchange ended and hands the answer on; an answer that streams is stored again when it was read.
    private func delivered(_ record: Record) async throws -> HTTPResponse {
        let isKept = interceptor.configuration.recordSelector.selects(record)
        if !isKept { await interceptor.storage.remove(record.id) }
        switch record.result {
        case .success(var response):
            guard isKept else { return response }
            guard case .stream(let stream) = response.body else {
                await keepEnding(record.ended(record.timing.answered))
                return response
            }
            await keep(record)
            response.body = .stream(recorded(stream, in: record))
            return response
        case .failure(let error):
            if isKept { await keepEnding(record.ended(record.timing.answered)) }
            throw error
        case nil:
            throw InterceptionError(
                .noResult, "A floret took the answer away and put nothing in its place; set `result` in didRespond.")
        }
    }

    private func recorded(_ stream: HTTPBodyStream, in record: Record) -> HTTPBodyStream {
        let unsaved = Locked<Record?>(nil)
        let tapped = HTTPBody.stream(stream).tapped(upTo: limit) { [self] bytes, passage in
            var last = record.ended(interceptor.configuration.clock.now())
            if case .success(var response)? = last.result {
                response.body = .bytes(bytes)
                last.result = .success(response)
            }
            note(passage)
            unsaved.withLock { [last] in $0 = last }
        }
        guard case .stream(let source) = tapped else { return stream }
        let take: @Sendable () -> Record? = {
            unsaved.withLock { record in
                defer { record = nil }
                return record
            }
        }
        return HTTPBodyStream(
            length: stream.length,
            next: { [self] in
                do {
                    let chunk = try await source.next()
                    if chunk == nil, let last = take() { await keepEnding(last) }
                    return chunk
                } catch {
                    if let last = take() { await keepEnding(last) }
                    throw error
                }
            },
            cancel: { [self] in
                source.cancel()
                guard let last = take() else { return }
                ending.withLock { $0 = last }
                interceptor.keepLater(merged(last))
            })
    }

    private func note(_ passage: Record.Passage) { record.withLock { $0.bodies.response = passage } }
}

extension Record {
    fileprivate func ended(_ instant: Date?) -> Record {
        var record = self
        record.timing.ended = instant
        return record
    }
}

extension HTTPBody {
    /// This body as it is stored: bytes up to the limit; for a stream what its tap noted.
    fileprivate func recorded(_ noted: HTTPBody, _ passage: inout Record.Passage?, _ limit: Int) -> HTTPBody {
        switch self {
        case .bytes(let bytes):
            // What a stream's tap has noted says more than its first bytes do.
            passage = passage ?? Record.Passage(byteCount: bytes.count, isCut: bytes.count > limit)
            return bytes.count > limit ? .bytes(Array(bytes[..<limit])) : self
        case .stream:
            if passage == nil { passage = Record.Passage(byteCount: 0, end: .underway) }
            if case .bytes = noted { return noted }
            return .empty
        }
    }
}
