import HTTPCore
import Primitives

/// A failure or a delay that a ``FaultFloret`` injects into an exchange.
public struct Fault: Sendable {
    /// The phase of an exchange in which its connection ends.
    public enum Phase: String, Sendable, Hashable, CaseIterable {
        /// The server receives nothing. The request fails with `HTTPError.connectionFailed`.
        case beforeSending
        /// The server processes the request, but the response is lost: `HTTPError.connectionLost`.
        case afterSending
        /// The head of the response and the first half of its body arrive, or at most 1 KiB if the length is not known.
        /// Then the exchange fails with `HTTPError.connectionLost`.
        case inAnswer
    }
    /// The old name of ``Phase``.
    @available(*, deprecated, renamed: "Phase")
    public typealias Moment = Phase

    enum Kind: Sendable {
        case latency(Latency)
        case drop(Phase)
        case status(Int, HTTPHeaders, [UInt8], isSent: Bool)
        case truncation(Int)
        case corruption(every: Int)
    }

    let kind: Kind

    /// Delays the request by a duration from `latency`.
    public static func latency(_ latency: Latency) -> Fault { Fault(kind: .latency(latency)) }

    /// Ends the connection in this `phase`.
    public static func drop(_ phase: Phase) -> Fault { Fault(kind: .drop(phase)) }

    /// Replaces the response.
    ///
    /// - Parameters:
    ///   - status: The status of the response.
    ///   - headers: The headers of the response.
    ///   - body: The body of the response.
    ///   - afterSending: Whether the server receives the request and its own response is lost. Otherwise the request is
    ///     not sent.
    public static func status(
        _ status: Int, headers: HTTPHeaders = [:], body: [UInt8] = [], afterSending: Bool = false
    ) -> Fault {
        Fault(kind: .status(status, headers, body, isSent: afterSending))
    }

    /// Ends the body of the response after `count` bytes, as if it were complete. The headers are unchanged.
    public static func truncated(after count: Int) -> Fault { Fault(kind: .truncation(max(0, count))) }

    /// Changes one byte in each block of `every` bytes of the response body. A shorter block at the end may stay
    /// unchanged.
    public static func corrupted(every: Int = 64) -> Fault { Fault(kind: .corruption(every: max(1, every))) }
}

extension Fault: CustomStringConvertible {
    public var description: String {
        switch kind {
        case .latency(let latency): "latency of \(latency)"
        case .drop(.beforeSending): "no connection"
        case .drop(.afterSending): "connection lost before the answer"
        case .drop(.inAnswer): "connection lost in the answer"
        case .status(let status, _, _, let isSent):
            "status \(status)\(isSent ? " after the request was processed" : "")"
        case .truncation(let count): "body cut after \(count) bytes"
        case .corruption(let every): "one damaged byte in \(every)"
        }
    }
}

extension Fault {
    /// The result of the request if the fault prevents its sending; `nil` if the request is sent.
    func resultInsteadOfSending() -> Result<Response, any Error>? {
        switch kind {
        case .drop(.beforeSending):
            .failure(HTTPError(.connectionFailed, "No connection could be made (FaultFloret)."))
        case .status(let status, let headers, let body, isSent: false):
            .success(Response(status: status, headers: headers, body: .bytes(body)))
        default: nil
        }
    }

    /// The result that replaces `response`, or `nil` if the fault does not change it.
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
    /// Returns the first `count` bytes, followed by `failure`, or by the end if `failure` is `nil`. With a failure, a
    /// body with fewer bytes fails at its end.
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
                // The damage depends only on the position, not on the division of the body into chunks.
                var draws = SeededRandom(seed: seed, for: request, UInt64(number))
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

/// Counts the bytes of a body that passed and that may still pass. A stream has one reader, so calls are serial.
private final class Countdown: Sendable {
    private let state: Locked<(left: Int, taken: Int)>

    init(_ count: Int) { state = Locked((count, 0)) }

    var taken: Int { state.withLock { $0.taken } }
    var isOver: Bool { state.withLock { $0.left == 0 } }

    /// Returns how many of `count` bytes may pass.
    func take(_ count: Int) -> Int {
        state.withLock { state in
            let passing = min(count, state.left)
            state.left -= passing
            state.taken += passing
            return passing
        }
    }
}
