import HTTPCore
import Primitives

/// Something that goes wrong with an exchange.
public struct Fault: Sendable {
    /// Where a connection ends.
    public enum Moment: String, Sendable, Hashable, CaseIterable {
        /// Nothing arrives: the request fails with `HTTPError.connectionFailed`.
        case beforeSending
        /// It arrives and is acted on; the answer does not come back: `HTTPError.connectionLost`.
        case afterSending
        /// The answer's head comes and the first half of its body, or at most 1 KiB where the length is not known; then
        /// `HTTPError.connectionLost`.
        case inAnswer
    }

    enum Kind: Sendable {
        case latency(Latency)
        case drop(Moment)
        case status(Int, HTTPHeaders, [UInt8], isSent: Bool)
        case truncation(Int)
        case corruption(every: Int)
    }

    let kind: Kind

    /// The request is sent that much later.
    public static func latency(_ latency: Latency) -> Fault { Fault(kind: .latency(latency)) }

    /// The connection ends.
    public static func drop(_ moment: Moment) -> Fault { Fault(kind: .drop(moment)) }

    /// Somebody answers with this status. Unless `afterSending`, the request never gets to its server; else the server's
    /// own answer is lost.
    public static func status(
        _ status: Int, headers: HTTPHeaders = [:], body: [UInt8] = [], afterSending: Bool = false
    ) -> Fault {
        Fault(kind: .status(status, headers, body, isSent: afterSending))
    }

    /// The answer's body ends after `count` bytes as if that were all; its headers say what they said.
    public static func truncated(after count: Int) -> Fault { Fault(kind: .truncation(max(0, count))) }

    /// One byte in each `every` bytes of the answer's body is another one.
    public static func corrupted(every: Int = 64) -> Fault { Fault(kind: .corruption(every: max(1, every))) }
}

extension Fault: CustomStringConvertible {
    public var description: String {
        switch kind {
        case .latency(let latency): "latency of \(latency)"
        case .drop(.beforeSending): "no connection"
        case .drop(.afterSending): "connection lost before the answer"
        case .drop(.inAnswer): "connection lost in the answer"
        case .status(let status, _, _, let isSent): "status \(status)\(isSent ? " after the request was acted on" : "")"
        case .truncation(let count): "body cut after \(count) bytes"
        case .corruption(let every): "one damaged byte in \(every)"
        }
    }
}

// MARK: - What it does

extension Fault {
    /// What happens to a request before it is sent; `nil` when it is sent.
    func resultInsteadOfSending() -> Result<Response, any Error>? {
        switch kind {
        case .drop(.beforeSending):
            .failure(HTTPError(.connectionFailed, "No connection could be made (FaultFloret)."))
        case .status(let status, let headers, let body, isSent: false):
            .success(Response(status: status, headers: headers, body: .bytes(body)))
        default: nil
        }
    }

    /// What becomes of an answer, if anything does.
    func result(insteadOf response: Response, seed: UInt64, request: UInt64) -> Result<Response, any Error>? {
        var response = response
        switch kind {
        case .drop(.afterSending):
            response.body.abandon()
            return .failure(HTTPError(.connectionLost, "The connection ended before the answer (FaultFloret)."))
        case .status(let status, let headers, let body, isSent: true):
            response.body.abandon()
            return .success(Response(status: status, headers: headers, body: .bytes(body)))
        case .drop(.inAnswer):
            response.body = response.body.ending(
                after: response.body.length.map { $0 / 2 } ?? 1024,
                HTTPError(.connectionLost, "The connection ended in the middle of the answer (FaultFloret)."))
        case .truncation(let count): response.body = response.body.ending(after: count, nil)
        case .corruption(let every):
            response.body = response.body.corrupted(every: every, seed: seed, request: request)
        default: return nil
        }
        return .success(response)
    }
}

extension HTTPBody {
    /// The first bytes, and then `failure` or the end. A body with fewer bytes fails at its end.
    fileprivate func ending(after count: Int, _ failure: HTTPError?) -> HTTPBody {
        let source: HTTPBodyStream
        switch self {
        case .bytes(let bytes):
            guard failure != nil else { return .bytes(Array(bytes.prefix(count))) }
            source = HTTPBodyStream([bytes])
        case .stream(let stream): source = stream
        }
        let passed = Countdown(count)
        return .stream(
            HTTPBodyStream(
                length: failure == nil ? nil : source.length,
                next: {
                    if !passed.isOver, let chunk = try await source.next() {
                        return Array(chunk.prefix(passed.take(chunk.count)))
                    }
                    source.cancel()
                    if let failure { throw failure }
                    return nil
                }, cancel: { source.cancel() }))
    }

    fileprivate func corrupted(every: Int, seed: UInt64, request: UInt64) -> HTTPBody {
        let block = min(every, max(1, length ?? every))
        let damage: @Sendable ([UInt8], Int) -> [UInt8] = { bytes, offset in
            guard !bytes.isEmpty else { return bytes }
            var bytes = bytes
            for number in (offset / block)...((offset + bytes.count - 1) / block) {
                // A damage at a place follows from the place alone, however the body is cut into pieces.
                var draws = SeededDraws(seed: seed, for: request, UInt64(number))
                let position = number * block + Int(draws.next() % UInt64(block)) - offset
                if bytes.indices.contains(position) { bytes[position] ^= UInt8(1 + draws.next() % 255) }
            }
            return bytes
        }
        switch self {
        case .bytes(let bytes): return .bytes(damage(bytes, 0))
        case .stream(let stream):
            let passed = Countdown(.max)
            return .stream(
                HTTPBodyStream(
                    length: stream.length,
                    next: {
                        guard let chunk = try await stream.next() else { return nil }
                        let offset = passed.taken
                        _ = passed.take(chunk.count)
                        return damage(chunk, offset)
                    }, cancel: { stream.cancel() }))
        }
    }
}

/// How many bytes of a body may still pass, and how many did. A stream has one reader, so calls come one after another.
private final class Countdown: Sendable {
    private let state: Locked<(left: Int, taken: Int)>

    init(_ count: Int) { state = Locked((count, 0)) }

    var taken: Int { state.withLock { $0.taken } }
    var isOver: Bool { state.withLock { $0.left == 0 } }

    /// How many of `count` bytes pass.
    func take(_ count: Int) -> Int {
        state.withLock { state in
            let passing = min(count, state.left)
            state.left -= passing
            state.taken += passing
            return passing
        }
    }
}
