import Foundation
import HTTPCore
import Primitives
import StoreModel

/// The body of a response, with the dates at which a cached copy becomes outdated and the rows that cannot be used.
protocol RemoteAnswerBody: Decodable, Sendable {
    /// The dates at which a feature or period begins or ends.
    var changeDates: [Date] { get }
    var unusable: [UnreadableRow] { get }
}

extension FeaturesResponse: RemoteAnswerBody {
    var changeDates: [Date] { features.flatMap { [$0.actualFrom, $0.actualTill].compactMap { $0 } } }
    var unusable: [UnreadableRow] { [] }
}

extension SubscriptionsResponse: RemoteAnswerBody {
    var changeDates: [Date] { subscriptions.flatMap { [$0.currentPeriodStartAt, $0.currentPeriodEndAt] } }
    var unusable: [UnreadableRow] { usable.unusable }
}

extension PricePointsResponse: RemoteAnswerBody {
    var changeDates: [Date] { [] }
    var unusable: [UnreadableRow] { usable.unusable }
}

/// The values that all requests of one plugin share.
struct RemoteContext: Sendable {
    let connection: ServiceConnection
    let environment: StoreEnvironment?
    let pluginName: String
    let clock: any WallClock
    /// Returns the current maximum age of a cached answer.
    let freshness: @Sendable () -> Duration
    /// Receives every answer, and the `PurchaseError` of every request that failed.
    let report: @Sendable (RemoteAnswer) -> Void
}

/// An answer with its origin.
struct Sourced<Value: Sendable>: Sendable {
    let value: Value
    let origin: AnswerOrigin

    func map<Other>(_ transform: (Value) -> Other) -> Sourced<Other> {
        Sourced<Other>(value: transform(value), origin: origin)
    }
}

/// The requests of one kind to the backend. A fresh cached answer is returned without a request.
final class CachedRequests<Answer: RemoteAnswerBody>: Sendable {
    private let context: RemoteContext
    private let cache = Locked(MemoryCache<PaymentsHTTPRequest, Answer>())

    init(_ context: RemoteContext) { self.context = context }

    /// Returns a fresh cached answer. Without one, or if `ignoringCache` is true, requests the answer from the backend.
    func answer(to request: PaymentsHTTPRequest, ignoringCache: Bool) async throws -> Sourced<Answer> {
        let clock = context.clock
        if !ignoringCache {
            let (now, freshness) = (clock.now(), context.freshness())
            if let known = cache.withLock({ $0.fresh(request, at: now, for: freshness) }) {
                let answer = Sourced(
                    value: known.answer, origin: AnswerOrigin(.cache, asOf: known.receivedAt))
                report(request, answer, from: known.address, at: now)
                return answer
            }
        }
        let ticket = cache.withLock { $0.ticket() }
        do {
            let reply = try await context.connection.send(
                request.httpRequest(environment: context.environment))
            let answer = try reply.decoded(Answer.self)
            let now = clock.now()
            let change = answer.changeDates.filter { $0 > now }.min()
            cache.withLock {
                $0.store(answer, to: request, from: reply.address, at: now, until: change, ticket: ticket)
            }
            let sourced = Sourced(value: answer, origin: AnswerOrigin(.network, asOf: now))
            report(request, sourced, from: reply.address, at: now)
            return sourced
        } catch let error as PurchaseError {
            context.report(
                RemoteAnswer(pluginName: context.pluginName, question: request.question, error: error))
            throw error
        }
    }

    func removeAll() { cache.withLock { $0.removeAll() } }

    private func report(
        _ request: PaymentsHTTPRequest, _ answer: Sourced<Answer>, from address: String, at now: Date
    ) {
        context.report(
            RemoteAnswer(
                pluginName: context.pluginName, question: request.question, origin: answer.origin,
                address: address, age: now.timeIntervalSince(answer.origin.asOf),
                unreadableRows: answer.value.unusable))
    }
}
