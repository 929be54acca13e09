import AppStorePayloads
import SimulatorControl
import BaseTestSupport
import Foundation
import SQLStorage
import SignedData
import StoreKitAdapter
import StoreModel
import Testing

@testable import AppStoreSimulator

/// Data that the store keeps, and documents that it signs.
struct SimulatorDatabaseTests {
    @Test func `an unfinished transaction, accounts and time survive a restart`() async throws {
        let folder = try ScratchFolder()
        let base = ManualClock()
        var bought: StoreTransaction?
        var root = ""
        try await TestStore.with(in: folder, base: base) { test in
            let device = try await test.device()
            try await test.store.add(Payment(id: "p", productID: "pack"), from: device)
            bought = try await test.store.updates(for: device, after: nil).updates.first?.transaction
            let finished = try await test.buy("coins")
            try await test.store.finish(finished.transactionID, from: device)
            try await test.advance(.months(1))
            root = test.store.summary.rootFingerprint
        }
        try await TestStore.with(in: folder, base: base) { test in
            #expect(try test.store.accounts() == ["anna"])
            #expect(test.store.clock.now() == Fixtures.date("2026-02-28T10:00:00Z"))
            #expect(test.store.summary.rootFingerprint == root)
            let device = try await test.device()
            let updates = try await test.store.updates(for: device, after: nil).updates
            #expect(updates.map(\.transaction?.id) == [bought?.id])
            let signed = try #require(updates.first?.transaction?.signedTransaction)
            #expect(try test.verifier().transaction(signed).payload.productId == "pack")
            try await test.store.add(Payment(id: "p", productID: "pack"), from: device)
            #expect(try await test.store.transactions(of: "anna").count == 2)
            try await test.store.finish(try #require(bought?.id), from: device)
        }
        try await TestStore.with(in: folder, base: base) { test in
            let device = try await test.device()
            #expect(try await test.store.updates(for: device, after: nil).updates.isEmpty)
        }
    }

    @Test func `a restart does not change the renewals of a subscription`() async throws {
        let folder = try ScratchFolder()
        try await TestStore.with(in: folder) { test in
            try await test.buy("monthly.alt")
            try await test.advance(.months(2))
        }
        try await TestStore.with(in: folder) { test in
            try await test.advance(.months(2))
            let ends = try await test.payloads().compactMap { $0.expiresDate?.formatted(.iso8601) }
            let days = ["02-28", "03-31", "04-30", "05-31", "06-30"]
            #expect(ends == days.map { "2026-\($0)T10:00:00Z" })
        }
    }

    @Test func `time continues at its rate while the store is closed`() async throws {
        let folder = try ScratchFolder()
        let base = ManualClock()
        try await TestStore.with(rate: .real, in: folder, base: base) { test in
            base.advance(by: 100)
            #expect(test.store.clock.now() == Fixtures.start.addingTimeInterval(100))
        }
        base.advance(by: 50)
        var revision: Int64 = 0
        try await TestStore.with(rate: .real, in: folder, base: base) { test in
            #expect(test.store.clock.now() == Fixtures.start.addingTimeInterval(150))
            revision = await test.store.clockState().revision
        }
        try await TestStore.with(rate: .frozen, in: folder, base: base) { test in
            base.advance(by: 1000)
            let state = await test.store.clockState()
            #expect(state.now == Fixtures.start.addingTimeInterval(150))
            #expect(state.rate == 0 && state.revision == revision + 1)
        }
    }

    @Test func `a year in one jump and in steps gives the same transactions`() async throws {
        func year(_ steps: [StoreControlWire.Advance]) async throws -> [JWSTransactionDecodedPayload] {
            var payloads: [JWSTransactionDecodedPayload] = []
            try await TestStore.with(seed: 5) { test in
                for product: ProductID in ["monthly", "weekly", "paygo"] { try await test.buy(product) }
                for step in steps { _ = try await test.store.advance(step) }
                payloads = try await test.payloads()
            }
            return payloads.map { payload in
                var payload = payload
                payload.signedDate = nil
                return payload
            }
        }
        let whole = try await year([.init(period: .years(1))])
        #expect(whole.count == 79)
        let days = 365 * 86400.0
        let divided = try await year((0..<50).map { _ in .init(seconds: days / 50) })
        #expect(divided == whole)
        #expect(whole.first?.transactionId == "200005000001000000")
    }

    @Test func `transaction ids are unique and grow, and differ with the seed`() async throws {
        var first: [TransactionID] = []
        try await TestStore.with(seed: 0) { test in
            for _ in 0..<3 { first.append(try await test.buy("coins").transactionID) }
        }
        #expect(first == ["200000000001000000", "200000000002000000", "200000000003000000"])
        try await TestStore.with(seed: 3) { test in
            let bought = try await test.buy("coins")
            #expect(bought.transactionID == "200003000001000000")
        }
    }

    @Test func `a folder of another bundle is refused and stays as it is`() async throws {
        let folder = try ScratchFolder()
        try await TestStore.with(in: folder) { try await $0.buy("coins") }
        let error = await #expect(throws: SimulatorError.self) {
            try await TestStore.open(in: folder) { $0.bundleID = "com.example.other" }
        }
        #expect(error?.code == .otherBundle && error?.reason.contains("com.example.souk") == true)
        try await TestStore.with(in: folder) { test in
            let kept = try await test.store.transactions(of: "anna")
            #expect(kept.count == 1)
        }
    }

    @Test func `only one process can use a folder`() async throws {
        let folder = try ScratchFolder()
        try await TestStore.with(in: folder) { test in
            await #expect(processExitsWith: .success) { [path = folder.path as String] in
                let configuration = SimulatedAppStore.Configuration(
                    catalogue: try Fixtures.catalogue(), dataDirectory: path)
                let error = await #expect(throws: SQLError.self) { try await SimulatedAppStore.open(configuration) }
                #expect(error?.code == .alreadyOpen && error?.message.contains(path) == true)
            }
            try await test.buy("coins")
        }
        try await TestStore.with(in: folder) { test in
            let kept = try await test.store.transactions(of: "anna")
            #expect(kept.count == 1)
        }
    }

    @Test func `the error names a data folder that cannot be created`() async throws {
        let folder = try ScratchFolder()
        let file = folder.path + "/file"
        try Data().write(to: URL(fileURLWithPath: file))
        let error = await #expect(throws: SimulatorError.self) {
            try await TestStore.open(in: folder) { $0.dataDirectory = file + "/data" }
        }
        #expect(error?.code == .dataFolder && error?.reason.contains(file) == true)
    }

    @Test func `a failed event leaves no change`() async throws {
        struct Fault: Error {}
        try await TestStore.with { test in
            try await test.store.createAccount("anna")
            await #expect(throws: Fault.self) {
                try await test.store.recordEvent({ try $0.existingAccount("anna") }) { event in
                    _ = try event.sell(Order(accountID: event.account.id, productID: "coins"))
                    throw Fault()
                }
            }
            #expect(try await test.store.transactions(of: "anna").isEmpty)
            #expect(try await test.buy("coins").transactionID == "200000000001000000")
        }
    }

    @Test func `a signed transaction has the fields of Apple's transactions`() async throws {
        try await TestStore.with { test in
            let token = UUID()
            try await test.buy("monthly", token: token)
            try await test.advance(.weeks(1))
            let payloads = try await test.payloads()
            let trial = try #require(payloads.first)
            #expect(trial.type == .autoRenewableSubscription && trial.environment == .sandbox)
            #expect(trial.bundleId == "com.example.souk" && trial.productId == "monthly")
            #expect(trial.subscriptionGroupIdentifier == "plus" && trial.appAccountToken == token)
            #expect(trial.offerType == .introductory && trial.offerDiscountType == .freeTrial)
            #expect(trial.offerPeriod == "P1W" && trial.price == 0 && trial.currency == "USD")
            #expect(trial.storefront == "USA" && trial.storefrontId == "143441")
            #expect(trial.transactionReason == .purchase && trial.inAppOwnershipType == .purchased)
            #expect(trial.purchaseDate == Fixtures.start && trial.originalPurchaseDate == Fixtures.start)
            #expect(trial.expiresDate == Fixtures.start.addingTimeInterval(7 * 86400))
            #expect(trial.signedDate == test.store.clock.now())
            #expect(trial.isUpgraded == false && trial.revocationDate == nil)
            #expect(trial.webOrderLineItemId != nil && trial.appTransactionId?.hasPrefix("70") == true)
            let renewal = try #require(payloads.last)
            #expect(renewal.transactionReason == .renewal && renewal.price == 4990 && renewal.offerType == nil)
            #expect(renewal.originalTransactionId == trial.transactionId && renewal.appAccountToken == token)
            #expect(renewal.appTransactionId == trial.appTransactionId)
        }
    }

    @Test func `renewal info follows the subscription through cancellation and expiry`() async throws {
        try await TestStore.with { test in
            func info(_ transaction: StoreControlWire.Transaction) throws -> JWSRenewalInfoDecodedPayload {
                try test.verifier().renewalInfo(try #require(transaction.signedRenewalInfo)).payload
            }
            let bought = try await test.buy("paygo")
            let running = try info(bought)
            #expect(running.autoRenewStatus == .on && running.autoRenewProductId == "paygo")
            #expect(running.renewalPrice == 990 && running.offerType == .introductory)
            #expect(running.renewalDate == Fixtures.date("2026-02-28T10:00:00Z") && running.expirationIntent == nil)
            #expect(running.recentSubscriptionStartDate == Fixtures.start)
            let cancelled = try await test.store.cancel("paygo", for: "anna")
            #expect(cancelled.transactionID == bought.transactionID && cancelled.state == "purchased")
            let off = try info(cancelled)
            #expect(off.autoRenewStatus == .off && off.renewalPrice == nil)
            try await test.advance(.months(1))
            let expired = try #require(try await test.store.transactions(of: "anna").last)
            #expect(expired.state == "expired")
            #expect(try info(expired).expirationIntent == .customerCancelled)
            #expect(try info(expired).originalTransactionId == bought.transactionID.rawValue)
            await #expect(throws: SimulatorError(.unknownSubscription, "")) {
                try await test.store.cancel("paygo", for: "anna")
            }
        }
    }

    @Test func `a cancellation is reported to every device`() async throws {
        try await TestStore.with { test in
            let devices = [try await test.device(), try await test.device()]
            let bought = try await test.buy("weekly")
            try await test.store.finish(bought.transactionID, from: devices[0])
            _ = try await test.store.cancel("weekly", for: "anna")
            for device in devices {
                let answer = try await test.store.updates(for: device, after: nil)
                #expect(answer.updates.map(\.state) == ["renewalChanged"])
                #expect(answer.updates.first?.transaction?.id == bought.transactionID)
                #expect(answer.updates.first?.transaction?.signedRenewalInfo != nil)
                #expect(try await test.store.updates(for: device, after: answer.cursor).updates.isEmpty)
            }
        }
    }

    @Test func `another store's root certificate does not verify this store's documents`() async throws {
        try await TestStore.with { one in
            try await TestStore.with { other in
                let signed = try await one.buy("coins").signedTransaction
                #expect(throws: SignedDataError(.untrustedRoot, "")) { try other.verifier().transaction(signed) }
                #expect(try one.verifier().transaction(signed).payload.productId == "coins")
            }
        }
    }

    @Test func `the same state is signed once for updates, and again for each restore`() async throws {
        try await TestStore.with(rate: .real) { test in
            let device = try await test.device()
            try await test.buy("pack")
            let first = try await test.store.updates(for: device, after: nil).updates.first?.transaction
            test.base.advance(by: 60)
            let again = try await test.store.updates(for: device, after: nil).updates.first?.transaction
            #expect(again == first)
            let restored = try #require(try await test.store.restore(for: device).first)
            #expect(restored.signedTransaction != first?.signedTransaction)
            let payload = try test.verifier().transaction(restored.signedTransaction).payload
            #expect(payload.signedDate == Fixtures.start.addingTimeInterval(60))
        }
    }

    @Test func `a change in the same instant is signed later than earlier reports`() async throws {
        try await TestStore.with { test in
            let device = try await test.device()
            try await test.buy("monthly")
            let bought = try #require(try await test.store.updates(for: device, after: nil).updates.first?.transaction)
            let before = try test.verifier().renewalInfo(try #require(bought.signedRenewalInfo))
            try await test.store.cancel("monthly", for: "anna")
            let changed = try #require(try await test.store.updates(for: device, after: nil).updates.last?.transaction)
            let after = try test.verifier().renewalInfo(try #require(changed.signedRenewalInfo))
            #expect(before.payload.autoRenewStatus == .on && after.payload.autoRenewStatus == .off)
            #expect(after.signedDate > before.signedDate)
        }
    }

    @Test func `the key of the server API is created once and readable by its owner only`() async throws {
        let folder = try ScratchFolder()
        var key: ServerAPIKey?
        try await TestStore.with(in: folder) { key = $0.store.summary.serverAPI }
        let made = try #require(key)
        #expect(made.keyID.count == 10 && UUID(uuidString: made.issuerID) != nil)
        let attributes = try FileManager.default.attributesOfItem(atPath: made.privateKey)
        #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
        _ = try SigningKey(Array(Data(contentsOf: URL(fileURLWithPath: made.privateKey))))
        try await TestStore.with(in: folder) { test in #expect(test.store.summary.serverAPI == made) }
        let line = try await TestStore.open(in: folder)
        let announcement = line.store.summary.announcement(listeningAt: "http://127.0.0.1:1")
        #expect(announcement["control"] == "http://127.0.0.1:1/control/v1")
        #expect(announcement["serverAPI"]?["keyID"]?.stringValue == made.keyID)
        await line.store.close()
    }

    @Test(arguments: [
        ("real", 1.0), ("frozen", 0), ("2s", 1_296_000), ("30s", 86400), ("monthly-30s", 86400), ("5m", 8640),
        ("15m", 2880),
    ])
    func `a time rate has its name and factor`(name: String, factor: Double) throws {
        let rate = try #require(TimeRate(name))
        #expect(rate.factor == factor && rate.description == name)
        #expect(TimeRate.names.contains(name))
        #expect(TimeRate("3s") == nil && TimeRate("") == nil)
    }

    @Test func `at the rate monthly-30s a month passes in thirty seconds`() async throws {
        let rate = try #require(TimeRate("monthly-30s"))
        try await TestStore.with(rate: rate) { test in
            try await test.buy("weekly")
            test.base.advance(by: 30)
            #expect(test.store.clock.now() == Fixtures.start.addingTimeInterval(30 * 86400))
            #expect(try await test.store.transactions(of: "anna").count == 5)
        }
    }

    @Test(arguments: [
        StoreControlWire.Advance(), .init(period: .days(1), seconds: 1), .init(seconds: 0), .init(seconds: -1),
        .init(seconds: .infinity), .init(seconds: .nan), .init(period: .years(1000)),
    ])
    func `an invalid advance changes nothing`(request: StoreControlWire.Advance) async throws {
        try await TestStore.with { test in
            let error = await #expect(throws: SimulatorError.self) { try await test.store.advance(request) }
            #expect(error?.code == ((request.period == nil) == (request.seconds == nil) ? .malformed : .invalidValue))
            #expect(await test.store.clockState().revision == 1)
        }
    }
}
