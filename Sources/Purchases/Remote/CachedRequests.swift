import Foundation
import HTTPCore
import Primitives
import StoreModel

/// An answer that knows when it is outdated by itself, and what of it cannot be used.
protocol RemoteAnswerBody: Decodable, Sendable {
    /// The dates at which what it says begins or ends.
    var turningPoints: [Date] { get }
    var leftOut: [UnreadableRow] { get }
}

extension FeaturesResponse: RemoteAnswerBody {
    var turningPoints: [Date] { features.flatMap { [$0.actualFrom, $0.actualTill].compactMap { $0 } } }
    var leftOut: [UnreadableRow] { [] }
}

extension SubscriptionsResponse: RemoteAnswerBody {
    var turningPoints: [Date] { subscriptions.flatMap { [$0.currentPeriodStartAt, $0.currentPeriodEndAt] } }
    var leftOut: [UnreadableRow] { usable.leftOut }
}

extension PricePointsResponse: RemoteAnswerBody {
    var turningPoints: [Date] { [] }
    var leftOut: [UnreadableRow] { usable.leftOut }
}

/// What all questions of one plugin share.
struct RemoteContext: Sendable {
    let connection: ServiceConnection
    let environment: StoreEnvironment?
    let pluginName: String
    let clock: any WallClock
    /// How long an answer stands now.
    let freshness: @Sendable () -> Duration
    /// Hears of every answer, and of every question that had none.
    let report: @Sendable (RemoteAnswer) -> Void
}

/// What was answered, and from where that came.
struct Sourced<Value: Sendable>: Sendable {
    let value: Value
    let origin: AnswerOrigin

    func map<Other>(_ transform: (Value) -> Other) -> Sourced<Other> {
        Sourced<Other>(value: transform(value), origin: origin)
    }
}

/// One kind of question to the backend: asked, unless it gave a fresh answer lately.
final class CachedRequests<Answer: RemoteAnswerBody>: Sendable {
    private let context: RemoteContext
    private let memory = Locked(AnswerMemory<PaymentsHTTPRequest, Answer>())

    init(_ context: RemoteContext) { self.context = context }

    /// - Parameter again: asks the backend however fresh its last answer is.
    func answer(to request: PaymentsHTTPRequest, again: Bool) async throws -> Sourced<Answer> {
        let clock = context.clock
        if !again {
            let (now, freshness) = (clock.now(), context.freshness())
            if let known = memory.withLock({ $0.fresh(request, at: now, for: freshness) }) {
                let answer = Sourced(
                    value: known.answer, origin: AnswerOrigin(.cache, asOf: known.receivedAt))
                report(request, answer, from: known.address, at: now)
                return answer
            }
        }
        let ticket = memory.withLock { $0.ticket() }
        do {
            let reply = try await context.connection.send(
                request.httpRequest(environment: context.environment))
            let answer = try reply.decoded(Answer.self)
            let now = clock.now()
            let change = answer.turningPoints.filter { $0 > now }.min()
            memory.withLock {
                $0.keep(answer, to: request, from: reply.address, at: now, until: change, ticket: ticket)
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

    func forget() { memory.withLock { $0.forget() } }

    private func report(
        _ request: PaymentsHTTPRequest, _ answer: Sourced<Answer>, from address: String, at now: Date
    ) {
        context.report(
            RemoteAnswer(
                pluginName: context.pluginName, question: request.question, origin: answer.origin,
                address: address, age: now.timeIntervalSince(answer.origin.asOf),
                unreadableRows: answer.value.leftOut))
    }
}
