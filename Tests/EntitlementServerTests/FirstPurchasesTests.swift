import Foundation
import Primitives
import StoreModel
import Testing

@testable import EntitlementServer

/// The answer and the encrypted sources of a new customer, which are computed before a database transaction.
@Suite struct FirstPurchasesTests {
    private let ledgerID = LedgerID(app: ServerBench.app, environment: .sandbox)
    private let rules = ActiveRules.Entry(
        rules: AppRules(reducer: EntitlementReducer(features: ServerBench.map)), epoch: 1)
    private let now = Date(timeIntervalSince1970: 1_800_000_000)

    private func fact(_ id: String) -> PresentedFact {
        let transaction = TransactionFact(
            id: TransactionID(unchecked: id), originalID: TransactionID(unchecked: id), productID: "pro.monthly",
            kind: .autoRenewableSubscription, purchaseDate: now, expiresDate: now.addingTimeInterval(60),
            groupID: "group",
            source: .appStore, signedDate: now, digest: SHA256.hash(id.utf8))
        return PresentedFact(
            content: .transaction(transaction), environment: .sandbox, source: Array("a.\(id).c".utf8), index: 0)
    }

    @Test func `a precomputed answer is used only for its customer, facts and rules, and while it is valid`() {
        let facts = [fact("1"), fact("2")]
        let precomputed = FirstPurchases(of: "anna", facts, in: ledgerID, by: rules, at: now)
        let contents = facts.map(\.content)
        func isUsed(
            _ customer: CustomerID, _ facts: [PresentedFact.Content], _ seconds: Double, epoch: Int64? = 1,
            replacements: Int = 0
        ) -> Bool {
            precomputed.answer(
                of: customer, with: facts, in: .init(epoch: epoch, replacements: replacements),
                at: now.addingTimeInterval(seconds)) != nil
        }
        #expect(!isUsed("anna", contents, 0, epoch: 2), "Other rules are active.")
        #expect(!isUsed("anna", contents, 0, replacements: 1), "The rules were replaced.")
        #expect(isUsed("anna", contents, 0))
        #expect(isUsed("anna", contents.reversed(), 59))
        #expect(!isUsed("anna", contents, 60), "The period is over.")
        #expect(!isUsed("anna", contents, -1), "The clock went back.")
        #expect(!isUsed("ben", contents, 0))
        #expect(!isUsed("anna", [contents[0]], 0))
        #expect(!isUsed("anna", contents + [fact("3").content], 0))
        #expect(!isUsed("anna", [contents[0], fact("3").content], 0))
    }

    @Test func `a customer with earlier facts gets an answer with all of them`() async throws {
        let bench = try await ServerBench()
        let token = CustomerID("anna").appAccountToken
        let stated = try bench.period("1") { $0.appAccountToken = token }
        _ = try await bench.notify(bench.notification(transaction: stated))
        let first = try await bench.post([bench.purchase("2"), bench.purchase("3", product: "more")])
        #expect(try first.active() == ["more", "pro", "tools"])
        #expect(try await bench.get().active() == ["more", "pro", "tools"])
        await bench.close()
    }

    @Test func `a new customer's facts about one purchase are encrypted with one key`() async throws {
        let bench = try await ServerBench()
        let reply = try await bench.post([
            bench.period("1"), bench.period("2", of: "1"), bench.period("1"), bench.purchase("3"),
        ])
        #expect(reply.acknowledged == ["1", "2", "3"])
        #expect(try bench.count("fact") == 3 && bench.count("data_key") == 2)
        let report = try LedgerReplay(database: bench.database, apps: ReplayTests.apps, clock: bench.clock).run()
        #expect(report.factsWithoutSource == 0 && report.differences == [])
        await bench.close()
    }
}
