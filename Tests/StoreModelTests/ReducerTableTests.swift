import Foundation
import StoreModel
import Testing

/// Compares the reducer with the tables of `Documentation/Entitlements.md`.
@Suite struct ReducerTableTests {
    private static let rows = Result { try ReducerRow.all() }

    @Test(arguments: (try? rows.get()) ?? [])
    func `the answer for each row is the one in the document`(row: ReducerRow) throws {
        #expect(try row.answered() == row.expected)
    }

    @Test func `the order of the facts of a row does not matter`() throws {
        for row in try Self.rows.get() {
            let reversed = row.facts.split(separator: ";").reversed().joined(separator: ";")
            #expect(try ReducerRow(facts: reversed, instant: row.instant, expected: []).answered() == row.expected)
            let twice = row.facts + ";" + row.facts
            #expect(try ReducerRow(facts: twice, instant: row.instant, expected: []).answered() == row.expected)
        }
    }

    @Test func `every state and every reason has a row`() throws {
        let rows = try Self.rows.get()
        #expect(rows.count > 40)
        let states: [CustomerSubscription.State] = [.active, .inGracePeriod, .inBillingRetry, .expired, .revoked]
        let found = Set(rows.flatMap { $0.expected[1].components(separatedBy: "; ") })
        #expect(found == Set(states.map(\.rawValue) + ["–"]))
        let reasons = Set(rows.flatMap { $0.expected[3].split(separator: ";") }.map { $0.trimmingPrefix(" ") })
        let known: Set<Substring> = [
            "active subscription", "active subscription, renews", "active subscription, does not renew",
            "active subscription, renews as pro.yearly", "active subscription, shared by the family", "free trial",
            "free trial, renews", "payment failed, within the store's grace period",
            "payment failed, the store is still trying", "refunded or revoked by the store", "subscription expired",
            "upgraded to another subscription", "bought", "shared by the family", "its time is over",
            "granted: support", "grant ended: support", "–",
            "active subscription, is billed until its commitment ends",
            "active subscription, renews, shared by the family",
            "active subscription, renews, but two subscriptions pay for this: cancel one in the App Store",
            "active subscription, renews, but two subscriptions pay for this: cancel one in the App Store or at Google Play",
            "free trial, renews, but two subscriptions pay for this: cancel one in the App Store or at Google Play",
            "payment failed, within the store's grace period, but two subscriptions pay for this: cancel one in the App Store",
        ]
        #expect(reasons == known)
    }

    @Test func `a row whose facts are in other words is an error`() {
        for facts in [
            "month", "month 0", "month 0–x", "moon 0–30", "month 0–30 eclipsed", "said x: renews", "tools 0 signed",
            "play 0", "play 0–30 sings",
        ] {
            #expect(throws: ReducerRowError.self) {
                try ReducerRow(facts: facts, instant: 0, expected: []).answered()
            }
        }
    }
}
