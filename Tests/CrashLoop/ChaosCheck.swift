import SimulatorControl
import EntitlementServer
import Foundation
import HTTPCore
import Primitives
import SQLStorage
import StoreKitAdapter
import StoreModel

/// Checks the final state after all requests, without further kills.
struct ChaosCheck: Sendable {
    let chaos: Chaos
    let settings: ChaosServer.Settings
    let network: any HTTPTransport

    /// Returns the number of facts.
    func run(customers: [String]) async throws -> Int {
        await chaos.server.kill()
        try await checkFile()
        try await chaos.server.killAndStart()
        let replay = try await self.replay(customers)
        var facts = 0
        for customer in customers {
            let answer = try await self.answer(of: customer, from: chaos.server)
            try await compare(answer, of: customer)
            facts += try await checkFacts(of: customer)
            let again = try await self.answer(of: customer, from: replay)
            guard again == answer else {
                throw CrashFailure("\(customer): the replay answers \(again), the server \(answer)")
            }
        }
        await replay.kill()
        return facts
    }

    /// Checks that the file is intact and its state follows from its facts and claims.
    private func checkFile() async throws {
        let clock = SimulatorClock(url: settings.store, transport: network)
        try await clock.start()
        let database = try SQLiteDatabase(path: chaos.server.database)
        let answer = try database.read { try $0.query("PRAGMA integrity_check", []).map { try $0[0] as String } }
        guard answer == ["ok"] else { throw CrashFailure("the ledger is damaged: \(answer)") }
        let report = try LedgerReplay(
            database: database, apps: [.init(bundleID: settings.bundleID)], clock: clock
        ).run()
        await database.close()
        await clock.stop()
        guard report.differences.isEmpty, report.facts > 0 else {
            throw CrashFailure("of \(report.facts) facts: the ledger differs from the replay: \(report.differences)")
        }
    }

    /// Starts a server that is never killed, and sends it all data again in another order.
    private func replay(_ customers: [String]) async throws -> ChaosServer {
        let server = try await ChaosServer.start(settings, name: "replay", network: network)
        let presented = chaos.client.state.withLock { $0.presented }
        for payload in chaos.notifications.all.shuffled() {
            try await NotificationRelay.post(payload, to: server, chaos.client)
        }
        for customer in customers.shuffled() {
            let texts = (presented[customer] ?? []).shuffled()
            for start in stride(from: 0, to: texts.count, by: 100) {
                let some = texts[start..<min(start + 100, texts.count)]
                _ = try await chaos.client.sendUntilSuccess(
                    .post, "/v1/customers/\(customer)/transactions", of: server, key: server.publicKey,
                    body: ["signedTransactions": .array(some.map { .string($0) })])
            }
        }
        return server
    }

    private func answer(of customer: String, from server: ChaosServer) async throws -> Customer {
        let bytes = try await chaos.client.sendUntilSuccess(
            .get, "/v1/customers/\(customer)", of: server, key: server.publicKey)
        var answer = try WireJSON.decode(Customer.self, from: bytes)
        answer.asOf = Date(timeIntervalSince1970: 0)
        return answer
    }

    /// Checks that the store has the same purchases, refunds, active entitlements and last expiry.
    private func compare(_ answer: Customer, of customer: String) async throws {
        let sold = try await chaos.store.transactions(of: customer)
        let once = sold.filter { $0.productID != "monthly" }
        guard answer.purchases.count == once.count else {
            throw CrashFailure("\(customer) bought \(once.count) times, the server lists \(answer.purchases.count)")
        }
        let revoked = Set(answer.purchases.filter { $0.revokedAt != nil }.map(\.transactionID))
        guard revoked == Set(once.filter { $0.state == "revoked" }.map(\.transactionID)) else {
            throw CrashFailure("\(customer): refunds differ; the server says \(revoked)")
        }
        let open = try await chaos.store.ask(
            .get, "/control/v1/accounts/\(customer)/entitlements", as: StoreControlWire.Transactions.self)
        let products = Set(open.transactions.map(\.productID).filter { $0 != "coins" })
        guard Set(answer.features.filter(\.isActive).compactMap(\.productID)) == products else {
            throw CrashFailure("\(customer): the store gives access to \(products), the server: \(answer.features)")
        }
        let ends = sold.filter { $0.productID == "monthly" }.compactMap(\.expiresDate)
        guard answer.subscriptions.map(\.expiresAt).max() == ends.max() else {
            throw CrashFailure("\(customer): the subscription ends at \(ends.max() as Any): \(answer.subscriptions)")
        }
    }

    /// Checks that all acknowledged transactions are among the facts, that each fact is there once, and that the store
    /// has the same transactions. Returns the number of facts.
    private func checkFacts(of customer: String) async throws -> Int {
        var facts: [JSONValue] = []
        var cursor: String?
        repeat {
            let page = try JSONValue(
                parsing: try await chaos.client.sendUntilSuccess(
                    .get, "/v1/customers/\(customer)/facts?limit=100" + (cursor.map { "&cursor=\($0)" } ?? ""),
                    of: chaos.server, key: chaos.server.secretKey))
            facts += page["facts"]?.arrayValue ?? []
            cursor = page["nextCursor"]?.stringValue
        } while cursor != nil
        let keys = facts.map { fact in
            [fact["kind"], fact["transactionID"], fact["originalTransactionID"], fact["signedAt"], fact["payload"]]
                .map { $0?.text() ?? "" }.joined(separator: " ")
        }
        guard Set(keys).count == keys.count else { throw CrashFailure("\(customer): a fact is in the ledger twice") }
        let known = Set(facts.compactMap { $0["transactionID"]?.stringValue })
        let promised = chaos.client.state.withLock { $0.acknowledged[customer] ?? [] }.map(\.rawValue)
        guard known.isSuperset(of: promised) else {
            throw CrashFailure("\(customer): \(Set(promised).subtracting(known)) were acknowledged and are lost")
        }
        let sold = Set(try await chaos.store.transactions(of: customer).map(\.transactionID.rawValue))
        guard known == sold else {
            throw CrashFailure("\(customer): \(known.symmetricDifference(sold)) are not in both databases")
        }
        return facts.count
    }
}
