import Foundation
import StoreModel
import Testing

@testable import AppStoreSimulator

/// Notifications in random histories of three accounts that join and leave a family.
struct FamilyNotificationPropertyTests {
    private static let names: [AccountName] = ["anna", "berta", "carla"]

    /// Runs one history. Impossible steps change nothing.
    ///
    /// - Parameter writesOften: Whether due notifications are written after every step, or only at the end.
    private static func live(_ seed: UInt64, writesOften: Bool) async throws -> ReportedNotifications {
        var source = SubscriptionStatePropertyTests.Source(seed: seed)
        var reported: ReportedNotifications?
        try await TestStore.withScript { test in
            let store = test.store
            for name in names { try await store.createAccount(name) }
            try await store.createFamily("home", organizer: "anna")
            try await test.startNotifying()
            try await store.set(.notifySkippedTime, to: "all")
            var prices = 6
            for number in 0..<40 {
                let name = names.randomElement(using: &source) ?? "anna"
                let plan: ProductID = ["plain", "plain", "pro", "basic"].randomElement(using: &source) ?? "plain"
                let place = Int.random(in: 0...2, using: &source)
                let chance = Int.random(in: 0..<24, using: &source)
                let days = Int.random(in: 1...40, using: &source)
                let isOn = Bool.random(using: &source)
                let latest = try await store.transactions(of: name).suffix(3)
                let id = latest.dropFirst(place).first?.transactionID
                do {
                    switch chance {
                    case 0...5: try await test.advance(.days(days))
                    case 6...9: try await test.buy(plan, name)
                    case 10: try await store.cancel(plan, for: name)
                    case 11: try await store.resume(plan, renewingTo: isOn ? "basic" : nil, for: name)
                    case 12: try await store.failBilling(plan, for: name)
                    case 13: try await store.resolveBilling(plan, for: name)
                    case 14: try await store.set(.gracePeriod, to: isOn ? "16d" : "off")
                    case 15: try await store.set(.renewalsFail, to: .bool(isOn))
                    case 16:
                        prices += 1
                        try await store.increasePrice(of: plan, .init(price: "\(prices).99", needsConsent: isOn))
                    case 17: try await store.answerPriceIncrease(of: plan, agreeing: isOn, for: name)
                    case 18: if let id { try await store.refund(id) }
                    case 19: if let id { try await store.reverseRefund(id) }
                    case 20: _ = try await isOn ? store.join("home", name) : store.leave("home", name)
                    case 21: if let id { _ = try await store.extendRenewal(of: id, byDays: days, request: "\(number)") }
                    case 22: _ = try await store.extendRenewals(of: plan, byDays: days, request: "\(number)", in: nil)
                    default: try await store.expire(plan, for: name)
                    }
                } catch is SimulatorError {
                } catch is StoreFailure {
                } catch is ExtensionRefusal {
                }
                if writesOften { _ = try await store.writeDueNotifications() }
            }
            try await test.advance(.months(3))
            _ = try await store.writeDueNotifications()
            var sold: [String: [String]] = [:]
            for name in names {
                for transaction in try await test.payloads(name) {
                    sold[transaction.originalTransactionId ?? "", default: []].append(transaction.transactionId ?? "")
                }
            }
            reported = ReportedNotifications(try test.readNotifications(), sold)
        }
        return try #require(reported)
    }

    /// The notifications and the transactions of a history.
    struct ReportedNotifications: Sendable {
        /// The notifications in the order of their instants, by subscription.
        var lines: [String: [String]] = [:]
        /// The transactions in the notifications, by subscription.
        var known: [String: Set<String>] = [:]
        var sold: [String: [String]]

        init(_ read: [TestStore.ReadNotification], _ sold: [String: [String]]) {
            self.sold = sold
            for one in read {
                guard let transaction = one.transaction, let original = transaction.originalTransactionId else {
                    continue
                }
                let words = [
                    one.whole.signedDate?.formatted(.iso8601), transaction.productId, transaction.transactionId,
                    one.whole.notificationType?.rawValue, one.whole.subtype?.rawValue,
                    one.whole.data?.status.map { "\($0.rawValue)" },
                ]
                lines[original, default: []].append(words.compactMap(\.self).joined(separator: " "))
                known[original, default: []].insert(transaction.transactionId ?? "")
            }
        }
    }

    @Test(arguments: 1...10)
    func `the notifications do not depend on how often they are written, and cover every sale`(seed: Int) async throws {
        let often = try await Self.live(UInt64(seed), writesOften: true)
        let seldom = try await Self.live(UInt64(seed), writesOften: false)
        for original in Set(often.lines.keys).union(seldom.lines.keys).sorted() {
            let (one, other) = (often.lines[original] ?? [], seldom.lines[original] ?? [])
            guard one != other else { continue }
            let place = zip(one, other).prefix { $0 == $1 }.count
            let around =
                "\(one.dropFirst(max(0, place - 3)).prefix(6))\n\(other.dropFirst(max(0, place - 3)).prefix(6))"
            Issue.record("\(original) differs from \(place) on:\n\(around)")
        }
        for (original, transactions) in seldom.sold {
            let missing = transactions.filter { !(seldom.known[original] ?? []).contains($0) }
            #expect(missing.isEmpty, "of \(original): \(seldom.lines[original] ?? [])")
        }
    }
}
