import Foundation
import Primitives
import Testing

@testable import Purchases

@Suite struct PurchaseSessionTests {
    private let ada = UserId.string("ada")
    private let bob = UserId.string("bob")

    private func session() throws -> (PurchaseSession, [PurchaseSession.Member]) {
        var session = PurchaseSession()
        let members = try session.setUp(with: [StubPlugin("a"), StubPlugin("b")])
        return (session, members)
    }

    private func answers(
        _ members: [PurchaseSession.Member], _ results: PaidFeatures?...
    ) -> [PluginAnswer<PaidFeatures>] {
        zip(members, results).map { member, features in
            PluginAnswer(
                member: member, result: features.map { .success($0) } ?? .failure(Refusal(member.index)),
                origin: features.map { _ in AnswerOrigin(.plugin, asOf: .distantPast) })
        }
    }

    /// Changes between a request and its answer, and whether the answer is stored.
    static let changes: [(name: String, change: @Sendable (inout PurchaseSession) -> Void, isKept: Bool)] = [
        ("nothing", { _ in }, true),
        ("a newer answer", { _ = $0.record(.of("young"), from: 0, at: .distantPast) }, false),
        ("the user is about to change", { $0.userWillChange(to: .string("bob")) }, false),
        (
            "the user changed",
            {
                $0.userWillChange(to: .string("bob"))
                _ = $0.userChanged(to: .string("bob"))
            }, false
        ),
        ("the user logged out", { _ = $0.userChanged(to: nil) }, false),
    ]

    @Test(arguments: changes.indices) func `an answer is stored unless a newer one is known or the user changes`(
        index: Int
    ) throws {
        var (session, members) = try session()
        _ = session.userChanged(to: ada)
        let ticket = session.ticket()
        Self.changes[index].change(&session)
        let answered = session.collect(paidFeatures: answers(members, .of("asked"), .of("b")), ticket: ticket)
        #expect(answered.collected.value.names == ["asked", "b"], "the caller gets what was answered")
        #expect(answered.revision.features.names.contains("asked") == Self.changes[index].isKept)
    }

    @Test func `a restore or purchase without features is no answer, and a gained feature is remembered`() throws {
        var (session, members) = try session()
        _ = session.userChanged(to: ada)
        _ = session.record(gained: PaidFeatures(), from: 0, ticket: session.ticket(), at: .distantPast)
        let unanswered = session.collect(answers(members, nil, nil), ticket: session.ticket())
        #expect(unanswered.hasNoAnswer)
        _ = session.record(gained: .of("x"), from: 0, ticket: session.ticket(), at: .distantPast)
        let remembered = session.collect(answers(members, nil, nil), ticket: session.ticket())
        #expect(!remembered.hasNoAnswer && remembered.collected.value.names == ["x"])
    }

    @Test func `the answer to a request made during a change of the user is not stored`() throws {
        var (session, members) = try session()
        session.userWillChange(to: ada)
        let ticket = session.ticket()
        _ = session.userChanged(to: ada)
        let answered = session.collect(paidFeatures: answers(members, .of("x"), .of("y")), ticket: ticket)
        #expect(answered.revision.features == PaidFeatures())
    }

    @Test func `after a failed request the last answer stays, marked as last known`() throws {
        var (session, members) = try session()
        _ = session.collect(paidFeatures: answers(members, .of("a"), .of("b")), ticket: session.ticket())
        let second = session.collect(paidFeatures: answers(members, nil, .of("b")), ticket: session.ticket())
        #expect(!second.hasNoAnswer)
        #expect(second.revision.features.features.map(\.authority) == [.lastKnown, .device])
        let third = session.collect(paidFeatures: answers(members, .of("a"), .of("b")), ticket: session.ticket())
        #expect(third.revision.features.features.map(\.authority) == [.device, .device])
    }

    @Test func `when every plugin fails and no earlier answer is known, there is no answer`() throws {
        var (session, members) = try session()
        let first = session.collect(paidFeatures: answers(members, nil, nil), ticket: session.ticket())
        #expect(first.hasNoAnswer)
        let none = session.collect(paidFeatures: [], ticket: session.ticket())
        #expect(!none.hasNoAnswer)
    }

    @Test func `the log-in of the same user keeps the answers`() throws {
        var (session, members) = try session()
        _ = session.userChanged(to: ada)
        _ = session.collect(paidFeatures: answers(members, .of("a"), .of("b")), ticket: session.ticket())
        session.userWillChange(to: ada)
        #expect(session.userChanged(to: ada).features.names == ["a", "b"])
        session.userWillChange(to: bob)
        #expect(session.userChanged(to: bob).features == PaidFeatures())
    }

    @Test func `a late log-in counts only for its user`() throws {
        var (session, _) = try session()
        _ = session.userChanged(to: ada, unreached: [0, 1])
        session.loggedIn(0, as: ada)
        session.loggedIn(1, as: bob)
        #expect(session.awaitingLogIn == [1])
        #expect(session.isAwaitingLogIn(1, as: ada))
        #expect(!session.isAwaitingLogIn(1, as: bob) && !session.isAwaitingLogIn(0, as: ada))
    }

    @Test func `an older revision that arrives later is not sent`() async throws {
        var (session, _) = try session()
        let old = session.record(.of("old"), from: 0, at: .distantPast)
        let new = session.record(.of("new"), from: 0, at: .distantPast)
        let updates = PaidFeaturesUpdates()
        updates.send(new)
        updates.send(old)
        updates.finish()
        var readers = updates.stream().makeAsyncIterator()
        #expect(await readers.next()?.names == ["new"])
        #expect(await readers.next() == nil)
    }

    @Test func `revision numbers grow`() throws {
        var (session, _) = try session()
        let numbers = (0..<3).map { _ in session.record(.of("a"), from: 0, at: .distantPast).number }
        #expect(numbers == numbers.sorted() && Set(numbers).count == 3)
    }
}
