import Foundation
import HTTPCore
import Primitives
import StoreModel

/// Runs each request with an `Idempotency-Key` once, and answers its repetitions with the first answer. Failures, and
/// refusals with a status of `unkept`, are not stored: after them a repetition runs again.
final class IdempotentRequests: Sendable {
    /// The identity of a request: its key, and the sender that the key belongs to.
    private struct RequestIdentity: Hashable {
        let ledgerID: LedgerID
        let sender: KeyKind
        let requester: CustomerID?
        let key: ExactString
    }

    private static let header = "Idempotency-Key"
    /// The statuses of refusals that are not stored, because a repetition of the same request can be accepted later.
    private static let unkept: Set<Int> = [401, 403, 408, 409, 413, 429]
    /// The longest time that a repetition waits for the first request, in seconds.
    private static let timeout = 5.0

    private let ledger: Ledger
    private let realClock: any WallClock
    private let monotonicClock: MonotonicClock
    /// Requests in progress. Each signal ends with its request.
    private let running = Locked<[RequestIdentity: ChangeSignal]>([:])

    init(ledger: Ledger, realClock: any WallClock, monotonicClock: MonotonicClock) {
        self.ledger = ledger
        self.realClock = realClock
        self.monotonicClock = monotonicClock
    }

    /// Calls `work`, which stores its answer in the transaction of its changes. A refusal with a status from 400 to 499
    /// changes nothing and is stored here, unless its status is one of `unkept`.
    ///
    /// A repetition waits up to 5 seconds for the answer to the first request, and is refused with 409 after that.
    ///
    /// - Parameter namesCustomer: Whether the path has a `{customer}`.
    func respond(
        to context: RequestContext, body: [UInt8], namesCustomer: Bool = true,
        _ work: (IdempotentRequest?) async throws -> KeptAnswer
    ) async throws -> HTTPResponse {
        guard let key = context.request.headers[Self.header] else { return response(try await work(nil)) }
        guard (1...255).contains(key.utf8.count), !key.unicodeScalars.contains(where: \.isControl) else {
            throw Refusal.invalid(Self.header, "should have 1 to 255 characters and no control characters")
        }
        // The listener replaces bytes that are not UTF-8 by U+FFFD, so different keys would become equal.
        guard !key.unicodeScalars.contains("\u{FFFD}") else {
            throw Refusal.invalid(Self.header, "should be UTF-8 without the replacement character U+FFFD")
        }
        let named = namesCustomer ? CustomerID(rawValue: context.path["customer"]) : nil
        // All devices share the public key: without a token, the key belongs to the customer in the path.
        let requester = context.requester ?? (context.caller.kind == .public ? named : nil)
        let identity = RequestIdentity(
            ledgerID: context.ledgerID, sender: context.caller.kind, requester: requester, key: ExactString(key))
        let changes = try await begin(identity)
        defer {
            running.withLock { _ = $0.removeValue(forKey: identity) }
            changes.end()
        }
        let request = IdempotentRequest(
            ledgerID: context.ledgerID, sender: context.caller.kind, requester: requester, key: key,
            digest: Self.digest(of: context.request, body), customer: named, now: realClock.now())
        // The read can find an answer that is not on the standby yet; the write waits until the standby has it.
        if try ledger.database.read({ try request.keptCheckingLimit($0) }) != nil,
            let kept = try await ledger.database.write({ try request.keptCheckingLimit($0) })
        {
            return response(kept)
        }
        do {
            return response(try await work(request))
        } catch let refusal as Refusal
            where (400..<500).contains(refusal.problem.status) && !Self.unkept.contains(refusal.problem.status)
        {
            let answer = KeptAnswer(
                status: refusal.problem.status, contentType: "application/problem+json",
                body: refusal.problem.json.encoded())
            try await ledger.database.write { try request.keep(answer, $0) }
            throw refusal
        }
    }

    private func response(_ answer: KeptAnswer) -> HTTPResponse {
        ledger.adding(answer.revision, to: answer.response)
    }

    /// Returns when no other request with this identity is in progress. Throws 409 after the timeout.
    private func begin(_ identity: RequestIdentity) async throws -> ChangeSignal {
        let start = monotonicClock.now
        let own = ChangeSignal(clock: realClock, monotonicClock: monotonicClock)
        while true {
            let other = running.withLock { running -> (changes: ChangeSignal, end: AsyncStream<Void>)? in
                if let other = running[identity] { return (other, other.listen()) }
                running[identity] = own
                return nil
            }
            guard let other else { return own }
            let left = Self.timeout - start.duration(to: monotonicClock.now) / .seconds(1)
            guard left > 0 else { throw Refusal.idempotencyInProgress }
            _ = await other.changes.wait(for: other.end, upTo: left)
            try Task.checkCancellation()
        }
    }

    private static func digest(of request: HTTPRequest, _ body: [UInt8]) -> [UInt8] {
        var digest = SHA256()
        digest.update("\(request.method)\n\(request.path)\n".utf8)
        digest.update(body)
        return digest.finalize()
    }
}

extension KeptAnswer {
    var response: HTTPResponse {
        HTTPResponse(status: status, headers: ["Content-Type": contentType], body: .bytes(body))
    }
}

extension Unicode.Scalar {
    /// Whether this is a control character of ASCII or Latin-1 (Unicode's category Cc).
    var isControl: Bool { value < 0x20 || (0x7F..<0xA0).contains(value) }
}
