import Foundation
import NetworkTestSupport
import Purchases
import StoreModel
import Testing

/// Compares `Documentation/Outages.md` with the behaviour of an app during an outage: each kind of outage at each
/// server, each operation, with a process for each server.
@Suite(.serialized, .timeLimit(.minutes(5))) struct OutageTests {
    @Test func `the outages are tried with every operation of the client`() {
        #expect(Set(OutageOperation.all.map(\.method)) == Set(PurchaseOperation.all.map(\.name)))
    }

    @Test func `each row of the document is the result of an app during the outage`() async throws {
        try await OutageWorld.during { world in
            let hole = try ListeningPort()
            let cases = OutageDevice.Source.allCases.flatMap { source in Outage.allCases.map { (source, $0) } }
            let table = try await withThrowingTaskGroup(of: (OutageDevice.Source, Outage, [String]).self) { group in
                for (number, (source, outage)) in cases.enumerated() {
                    group.addTask {
                        (source, outage, try await results("ada-\(number)", outage, of: source, in: world, hole))
                    }
                }
                return try await group.reduce(into: OutageTable()) { $0.record($1.2, of: $1.0, $1.1) }
            }
            let documented = try Self.documented()
            let difference = table.rows.difference(from: documented)
            #expect(
                difference.isEmpty,
                "\(difference.map { "\($0)" }.joined(separator: "\n"))\n\(table.rows.joined(separator: "\n"))")
        }
    }

    /// Purchases that were not acknowledged during an outage are acknowledged when the server is back.
    @Test func `a purchase during an outage is not lost`() async throws {
        try await OutageWorld.during { world in
            let hole = try ListeningPort()
            try await world.createCustomer("eve")
            let before = try await OutageDevice.launch(world, "eve", hole: hole)
            try await before.client.logIn(appUserId: .string("eve"))
            before.transports[.entitlementServer]?.begin(.failing)
            await #expect(throws: PurchaseError(.acknowledgementPending)) {
                try await before.client.purchase(OutageOperation.filmPack)
            }
            await before.close()
            let after = try await OutageDevice.launch(world, "eve", hole: hole)
            try await after.client.logIn(appUserId: .string("eve"))
            for await features in after.client.paidFeaturesUpdates where features.hasActiveFeature(with: "filmLooks") {
                break
            }
            #expect(try await after.client.getPaidFeatures().hasActiveFeature(with: "filmLooks"))
            await after.close()
        }
    }

    @Test func `a purchase that souk store promote began reaches the client, and is made once`() async throws {
        try await OutageWorld.during { world in
            try await world.createCustomer("kim")
            let device = try await OutageDevice.launch(world, "kim", hole: try ListeningPort())
            try await device.client.logIn(appUserId: .string("kim"))
            let promoted = try await SoukExecutable.run([
                "store", "--url", world.simulator.url, "promote", "kim", OutageOperation.filmPack.productIdentifier,
            ])
            #expect(promoted.status == 0, "\(promoted.errors)")
            var promotions = device.client.promotedPurchases.makeAsyncIterator()
            let promotion = try #require(await promotions.next())
            #expect(promotion.product.productIdentifier == OutageOperation.filmPack.productIdentifier)
            #expect(promotion.product.price > 0)
            #expect(device.store.postponedPurchases.count == 1)
            async let first = promotion.purchase()
            async let second = promotion.purchase()
            #expect(try await first.transaction == second.transaction)
            #expect(try await first.paidFeatures.hasActiveFeature(with: "filmLooks"))
            #expect(device.store.postponedPurchases.isEmpty)
            let transactions = try await SoukExecutable.run([
                "store", "--url", world.simulator.url, "transactions", "kim", "--json",
            ])
            #expect(transactions.json?["transactions"]?.arrayValue?.count == 1, "\(transactions.output)")
            await device.close()
        }
    }

    // MARK: - One run

    /// Buys and reads without an outage, and then runs the operations with it. Before the outage "never reached",
    /// nothing is bought or read.
    private func results(
        _ customer: String, _ outage: Outage, of source: OutageDevice.Source, in world: OutageWorld,
        _ hole: ListeningPort
    ) async throws -> [String] {
        try await world.createCustomer(customer)
        if outage != .never {
            let healthy = try await OutageDevice.launch(world, customer, hole: hole)
            try await healthy.client.logIn(appUserId: .string(customer))
            for product in [OutageOperation.filmPack, OutageOperation.subscription, OutageOperation.code] {
                _ = try await healthy.client.purchase(product)
            }
            _ = try await healthy.client.getFeatures()
            let all = try await healthy.client.collectPaidFeatures()
            #expect(Set(all.value.activeFeatures().map(\.name)) == ["filmLooks", "filters", "magazine", "plus"])
            #expect(all.isComplete)
            await healthy.close()
        }
        let device = try await OutageDevice.launch(world, customer, outage, of: source, hole: hole)
        let run = OutageRun(world: world, customer: customer, outage: outage, source: source, device: device)
        var cells: [String] = []
        for operation in OutageOperation.all { cells.append(await operation.result(in: run)) }
        await device.close()
        return cells
    }

    private static func documented() throws -> [String] {
        let text = try String(contentsOfFile: TestFiles.repository + "/Documentation/Outages.md", encoding: .utf8)
        return text.split(separator: "\n", omittingEmptySubsequences: false)
            .drop { $0 != OutageTable.head }.dropFirst(2)
            .prefix { $0.hasPrefix("|") }
            .map(String.init)
    }
}
