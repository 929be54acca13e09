import Foundation
import HTTPCore
import Primitives
import StoreModel

/// Runs requests that carry an `Idempotency-Key` once, and answers their repetitions with the first answer.
final class IdempotentRequests: Sendable {
    private struct Running: Hashable {
        let book: Book
        let sender: KeyKind
        let key: ExactString
    }

    private static let header = "Idempotency-Key"
    /// Answers to who asked or how busy it was, not to what was asked.
    private static let unkept: Set<Int> = [401, 403, 408, 409, 413, 429]

    private let ledger: Ledger
    private let realClock: any WallClock
    private let running = Locked<Set<Running>>([])

    init(ledger: Ledger, realClock: any WallClock) {
        self.ledger = ledger
        self.realClock = realClock
    }

    /// Calls `work`, which keeps its answer together with what it changes; a refusal changes nothing and is kept here.
    ///
    /// - Parameter namesCustomer: whether the path has a `{customer}`.
    func respond(
        to visit: Visit, body: [UInt8], namesCustomer: Bool = true,
        _ work: (IdempotentRequest?) async throws -> KeptAnswer
    ) async throws -> HTTPResponse {
        guard let key = visit.request.headers[Self.header] else { return try await work(nil).response }
        guard (1...255).contains(key.utf8.count) else {
            throw Refusal.invalid(Self.header, "should have 1 to 255 characters")
        }
        // The listener puts U+FFFD where bytes are not UTF-8, and so makes one key of two.
        guard !key.unicodeScalars.contains("\u{FFFD}") else {
            throw Refusal.invalid(Self.header, "should be UTF-8 without the replacement character U+FFFD")
        }
        let name = Running(book: visit.book, sender: visit.caller.kind, key: ExactString(key))
        guard running.withLock({ $0.insert(name).inserted }) else { throw Refusal.idempotencyInProgress }
        defer { running.withLock { _ = $0.remove(name) } }

        let request = IdempotentRequest(
            book: visit.book, sender: visit.caller.kind, key: key, digest: Self.digest(of: visit.request, body),
            customer: namesCustomer ? CustomerID(rawValue: visit.path["customer"]) : nil, now: realClock.now())
        if let kept = try ledger.database.read({ try request.kept($0) }) { return kept.response }
        do {
            return try await work(request).response
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

    private static func digest(of request: HTTPRequest, _ body: [UInt8]) -> [UInt8] {
        var digest = SHA256()
        // Not the query: a nonce may differ.
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
