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
struct RemoteSurroundings: Sendable {
    let connection: ServiceConnection
    let environment: StoreEnvironment?
    let pluginName: String
    let clock: any WallClock
    /// How long an answer stands now.
    let freshness: @Sendable () -> Duration
    /// Hears of every answer, and of every question that had none.
    let tell: @Sendable (RemoteAnswer) -> Void
}

/// One kind of question to the backend: asked, unless it gave a fresh answer lately.
final class Inquiry<Answer: RemoteAnswerBody>: Sendable {
    private let surroundings: RemoteSurroundings
    private let memory = Locked(AnswerMemory<PaymentsHTTPRequest, Answer>())

    init(_ surroundings: RemoteSurroundings) { self.surroundings = surroundings }

    /// - Parameter again: asks the backend however fresh its last answer is.
    func answer(to request: PaymentsHTTPRequest, again: Bool) async throws -> Answer {
        let clock = surroundings.clock
        if !again {
            let (now, freshness) = (clock.now(), surroundings.freshness())
            if let known = memory.withLock({ $0.fresh(request, at: now, for: freshness) }) {
                tell(request, known.answer, .memory, from: known.address, receivedAt: known.receivedAt, at: now)
                return known.answer
            }
        }
        let ticket = memory.withLock { $0.ticket() }
        do {
            let reply = try await surroundings.connection.send(
                request.httpRequest(environment: surroundings.environment))
            let answer = try reply.decoded(Answer.self)
            let now = clock.now()
            let change = answer.turningPoints.filter { $0 > now }.min()
            memory.withLock {
                $0.keep(answer, to: request, from: reply.address, at: now, until: change, ticket: ticket)
            }
            tell(request, answer, .server, from: reply.address, receivedAt: now, at: now)
            return answer
        } catch let error as PurchaseError {
            surroundings.tell(
                RemoteAnswer(pluginName: surroundings.pluginName, question: request.question, error: error))
            throw error
        }
    }

    func forget() { memory.withLock { $0.forget() } }

    private func tell(
        _ request: PaymentsHTTPRequest, _ answer: Answer, _ origin: RemoteAnswer.Origin, from address: String,
        receivedAt: Date, at now: Date
    ) {
        surroundings.tell(
            RemoteAnswer(
                pluginName: surroundings.pluginName, question: request.question, origin: origin, address: address,
                receivedAt: receivedAt, age: now.timeIntervalSince(receivedAt), unreadableRows: answer.leftOut))
    }
}
