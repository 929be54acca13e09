import Foundation
import Primitives
import Purchases
import StoreModel
import Testing

/// `Documentation/Outages.md` says what an app has while one of its sources fails, and this is what it has: against a
/// simulator and two entitlement servers as processes, each kind of outage at each plugin, each operation.
@Suite(.serialized, .timeLimit(.minutes(5))) struct OutageTests {
    private let hole = DeafPort()
    private static let filmPack = Product(productIdentifier: "com.example.darkroom.filmpack")
    private static let prints = Product(
        productIdentifier: "com.example.darkroom.prints.10", productType: .consumable)

    @Test func `each row of the document is what an app has`() async throws {
        let world = try await OutageWorld()
        defer { world.stop() }
        // At once, a customer each: much of a row is waiting.
        let lives = OutageDevice.plugins.flatMap { plugin in Outage.allCases.map { (plugin, $0) } }
        let rows = try await withThrowingTaskGroup(of: (Int, String).self) { group in
            for (number, (plugin, outage)) in lives.enumerated() {
                group.addTask {
                    let cells = try await lived("ada-\(number)", outage, of: plugin, in: world)
                    return (number, "| " + ([plugin, outage.rawValue] + cells).joined(separator: " | ") + " |")
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }.sorted { $0.0 < $1.0 }.map(\.1)
        }
        #expect(try Self.documented("| plugin | outage |") == rows, "\(rows.joined(separator: "\n"))")
    }

    @Test func `a first launch without a source has what the other one says`() async throws {
        let world = try await OutageWorld()
        defer { world.stop() }
        var rows: [String] = []
        for (number, plugin) in OutageDevice.plugins.enumerated() {
            try await world.newcomer("bob-\(number)")
            let device = try await OutageDevice.launch(world, "bob-\(number)", .down, of: plugin, hole: hole)
            let cells = await operations(device, "bob-\(number)")
            await device.close()
            rows.append("| " + ([plugin] + cells).joined(separator: " | ") + " |")
        }
        #expect(try Self.documented("| first launch without |") == rows, "\(rows.joined(separator: "\n"))")
    }

    /// What was not acknowledged during an outage is, once the server is there again.
    @Test func `what was paid during an outage is not lost`() async throws {
        let world = try await OutageWorld()
        defer { world.stop() }
        try await world.newcomer("eve")
        let before = try await OutageDevice.launch(world, "eve", hole: hole)
        _ = try await before.client.logIn(appUserId: .string("eve"))
        before.judgeLine.begin(.failing)
        await #expect(throws: PurchaseError(.acknowledgementPending)) {
            try await before.client.purchase(Self.filmPack)
        }
        await before.close()
        let after = try await OutageDevice.launch(world, "eve", hole: hole)
        _ = try await after.client.logIn(appUserId: .string("eve"))
        for await features in after.client.paidFeaturesUpdates where features.hasActiveFeature(with: "filmLooks") {
            break
        }
        #expect(try await after.client.getPaidFeatures().hasActiveFeature(with: "filmLooks"))
        await after.close()
    }

    // MARK: - One row

    /// A run in which all is well and the film pack is bought, then one with the outage.
    private func lived(
        _ customer: String, _ outage: Outage, of plugin: String, in world: OutageWorld
    ) async throws -> [String] {
        try await world.newcomer(customer)
        let healthy = try await OutageDevice.launch(world, customer, hole: hole)
        _ = try await healthy.client.logIn(appUserId: .string(customer))
        _ = try await healthy.client.purchase(Self.filmPack)
        let all = try await healthy.client.collectPaidFeatures()
        #expect(names(all.value) == "filmLooks, magazine" && all.isComplete)
        await healthy.close()
        let device = try await OutageDevice.launch(world, customer, outage, of: plugin, hole: hole)
        let cells = await operations(device, customer)
        await device.close()
        return cells
    }

    private func operations(_ device: OutageDevice, _ customer: String) async -> [String] {
        let client = device.client
        return [
            await told { self.reported(try await client.logIn(appUserId: .string(customer))) ?? "logged in" },
            await told {
                let answer = try await client.collectPaidFeatures()
                return [self.names(answer.value), self.reported(answer.reports)].compactMap { $0 }
                    .joined(separator: "; ")
            },
            await told { "\(try await client.getSubscriptions().count) subscriptions" },
            await told {
                let products = try await client.getProductsAndPricePoints(with: [Self.prints.productIdentifier])
                return "\(products.count) product"
            },
            await told {
                let result = try await client.restorePurchases()
                return [self.names(result.paidFeatures), self.reported(result.reports)].compactMap { $0 }
                    .joined(separator: "; ")
            },
            await told { "bought; \(self.names(try await client.purchase(Self.prints).paidFeatures))" },
        ]
    }

    private func told(_ body: () async throws -> String) async -> String {
        do {
            return try await body()
        } catch {
            return "throws `\(Self.code(error))`"
        }
    }

    private func names(_ features: PaidFeatures) -> String {
        let names = Set(features.activeFeatures().map(\.name)).sorted()
        return names.isEmpty ? "nothing" : names.joined(separator: ", ")
    }

    private func reported(_ reports: [PluginReport]) -> String? {
        let failed = reports.compactMap { report in
            report.error.map { error in
                let used = report.usedLastKnownAnswer ? ", from \(report.origin?.source.rawValue ?? "?")" : ""
                return "\(report.pluginName) `\(Self.code(error))`\(used)"
            }
        }
        return failed.isEmpty ? nil : failed.joined(separator: ", ")
    }

    private static func code(_ error: any Error) -> String {
        (error as? PurchaseError)?.code.rawValue ?? String(describing: type(of: error))
    }

    private static func documented(_ head: String) throws -> [String] {
        let text = try String(contentsOfFile: TestFiles.repository + "/Documentation/Outages.md", encoding: .utf8)
        return text.split(separator: "\n", omittingEmptySubsequences: false).drop { !$0.hasPrefix(head) }.dropFirst(2)
            .prefix { $0.hasPrefix("|") }
            .map(String.init)
    }
}
