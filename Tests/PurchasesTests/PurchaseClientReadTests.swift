import BaseTestSupport
import Foundation
import Primitives
import Purchases
import Testing

@Suite(.timeLimit(.minutes(1))) struct PurchaseClientReadTests {
    private let start = Date(timeIntervalSince1970: 1_700_000_000)

    @Test func `paid features are merged in the order of registration, not of the answers`() async throws {
        let gate = Gate()
        let slow = StubPlugin("slow") {
            $0.paidFeatures = {
                await gate.pass()
                return .of("a", "b")
            }
        }
        let fast = StubPlugin("fast") {
            $0.paidFeatures = {
                await gate.arrivals()
                gate.open()
                return .of("b", "c")
            }
        }
        let client = try await PurchaseClient.with(slow, fast)
        let features = try await client.getPaidFeatures()
        #expect(features.names == ["a", "b", "c"])
    }

    @Test func `with best effort a failing plugin does not hide others, and is reported`() async throws {
        let broken = StubPlugin("broken") { $0.paidFeatures = { throw Refusal(1) } }
        let sound = StubPlugin("sound") { $0.paidFeatures = { .of("pro") } }
        let client = try await PurchaseClient.with(broken, sound)
        let collected = try await client.collectPaidFeatures()
        #expect(collected.value == .of("pro"))
        #expect(!collected.isComplete)
        #expect(collected.reports.map(\.pluginName) == ["broken", "sound"])
        #expect(collected.reports.map { $0.error as? Refusal } == [Refusal(1), nil])
        #expect(collected.reports.map(\.usedLastKnownAnswer) == [false, false])
        #expect(try await client.getPaidFeatures() == .of("pro"))
    }

    @Test func `a strict read throws the error of the first registered plugin that fails`() async throws {
        let gate = Gate()
        let first = StubPlugin("first") {
            $0.paidFeatures = {
                await gate.pass()
                throw Refusal(1)
            }
        }
        let second = StubPlugin("second") {
            $0.paidFeatures = {
                await gate.arrivals()
                gate.open()
                throw Refusal(2)
            }
        }
        let client = try await PurchaseClient.with(StubPlugin("sound"), first, second)
        await #expect(throws: Refusal(1)) { try await client.getPaidFeatures(.strict) }
    }

    @Test func `best effort throws when no plugin answers`() async throws {
        let client = try await PurchaseClient.with(
            StubPlugin("a") { $0.paidFeatures = { throw Refusal(1) } },
            StubPlugin("b") { $0.paidFeatures = { throw Refusal(2) } })
        await #expect(throws: Refusal(1)) { try await client.getPaidFeatures() }
    }

    @Test func `the last answer of a plugin that fails later counts`() async throws {
        let plugin = StubPlugin("a") { $0.paidFeatures = { .of("pro") } }
        let client = try await PurchaseClient.with(plugin, user: .string("ada"))
        _ = try await client.getPaidFeatures()
        plugin.change { $0.paidFeatures = { throw Refusal() } }
        let collected = try await client.collectPaidFeatures()
        #expect(collected.value == .of("pro"))
        #expect(collected.value.features.map(\.authority) == [.lastKnown])
        #expect(collected.reports.map(\.usedLastKnownAnswer) == [true])
        await #expect(throws: Refusal()) { try await client.getPaidFeatures(.strict) }
    }

    @Test func `a fresh report counts before a last known one of higher authority`() async throws {
        let old = PaidFeature(
            name: "pro", originalTransactionID: "1", paymentType: .until(start), authority: .server)
        let new = PaidFeature(
            name: "pro", originalTransactionID: "1", paymentType: .until(start.addingTimeInterval(99)))
        let server = StubPlugin("server") { $0.paidFeatures = { PaidFeatures(features: [old]) } }
        let device = StubPlugin("device") { $0.paidFeatures = { PaidFeatures(features: [new]) } }
        let client = try await PurchaseClient.with(server, device)
        #expect(try await client.getPaidFeatures().features == [old])
        server.change { $0.paidFeatures = { throw Refusal() } }
        #expect(try await client.getPaidFeatures().features == [new])
    }

    @Test func `the known features of one user are not returned for the next`() async throws {
        let plugin = StubPlugin("a") { $0.paidFeatures = { .of("pro") } }
        let client = try await PurchaseClient.with(plugin, user: .string("ada"))
        _ = try await client.getPaidFeatures()
        try await client.logIn(appUserId: .string("bob"))
        plugin.change { $0.paidFeatures = { throw Refusal() } }
        await #expect(throws: Refusal()) { try await client.getPaidFeatures() }
    }

    @Test func `features are merged, with the last answer of a plugin that fails`() async throws {
        let start = start
        let pro = Feature(name: "pro", startDate: start)
        let web = StubPlugin("web") {
            $0.features = { Features(features: [Feature(name: "export", startDate: start), pro]) }
        }
        let client = try await PurchaseClient.with(
            StubPlugin("store") { $0.features = { Features(features: [pro]) } }, web)
        #expect(try await client.getFeatures().features.map(\.name) == ["pro", "export"])
        web.change { $0.features = { throw Refusal(7) } }
        #expect(try await client.getFeatures().features.map(\.name) == ["pro", "export"])
        #expect(try await client.collectFeatures().reports.map(\.usedLastKnownAnswer) == [false, true])
        await #expect(throws: Refusal(7)) { try await client.getFeatures(.strict) }
    }

    @Test func `subscriptions are in the order of registration, and read strictly by default`() async throws {
        let start = start
        func subscription(_ product: String) -> Subscription {
            Subscription(productIdentifier: product, startDate: start, endDate: start.addingTimeInterval(9))
        }
        let (a, b, c) = (subscription("a"), subscription("b"), subscription("c"))
        let second = StubPlugin("second") { $0.subscriptions = { [c] } }
        let client = try await PurchaseClient.with(StubPlugin("first") { $0.subscriptions = { [a, b] } }, second)
        #expect(try await client.getSubscriptions() == [a, b, c])
        second.change { $0.subscriptions = { throw Refusal(2) } }
        await #expect(throws: Refusal(2)) { try await client.getSubscriptions() }
        #expect(try await client.getSubscriptions(.bestEffort) == [a, b])
    }

    @Test func `products are merged`() async throws {
        let (pro, export) = (Product(productIdentifier: "pro"), Product(productIdentifier: "export"))
        let client = try await PurchaseClient.with(
            StubPlugin("a") {
                $0.products = { asked in Set([pro, export].filter { asked.contains($0.productIdentifier) }) }
            },
            StubPlugin("b") { $0.products = { _ in [pro] } })
        #expect(try await client.getProductsAndPricePoints(with: ["pro", "export"]) == [pro, export])
        #expect(try await client.getProductsAndPricePoints(with: ["pro"]) == [pro])
    }

    @Test func `restored products are merged, each once`() async throws {
        let client = try await PurchaseClient.with(
            StubPlugin("a") {
                $0.restore = {
                    RestoreResult(restored: ["pro", "export"], paidFeatures: .of("pro"), nothingToRestore: false)
                }
            },
            StubPlugin("b") {
                $0.restore = {
                    RestoreResult(restored: ["export"], paidFeatures: .of("export"), nothingToRestore: false)
                }
            }, StubPlugin("c"))
        let result = try await client.restorePurchases()
        #expect(result.restored == ["pro", "export"])
        #expect(result.paidFeatures.names == ["pro", "export"])
        #expect(!result.nothingToRestore)
        #expect(result.reports.map(\.didAnswer) == [true, true, true])
    }

    @Test func `restored purchases count even if another plugin fails`() async throws {
        let client = try await PurchaseClient.with(
            StubPlugin("broken") { $0.restore = { throw Refusal(1) } },
            StubPlugin("sound") {
                $0.restore = { RestoreResult(restored: ["pro"], paidFeatures: .of("pro"), nothingToRestore: false) }
            })
        let result = try await client.restorePurchases()
        #expect(result.restored == ["pro"])
        #expect(result.reports.map { $0.error as? Refusal } == [Refusal(1), nil])
    }

    @Test func `there is nothing to restore only if every plugin reports so`() async throws {
        let broken = StubPlugin("broken") { $0.restore = { throw Refusal(1) } }
        let client = try await PurchaseClient.with(StubPlugin("empty"), broken)
        await #expect(throws: Refusal(1)) { try await client.restorePurchases() }
        #expect(try await PurchaseClient.with(StubPlugin("empty")).restorePurchases().nothingToRestore)
    }

    @Test func `a plugin that restores nothing keeps its earlier answer`() async throws {
        let plugin = StubPlugin("a") { $0.paidFeatures = { .of("pro") } }
        let client = try await PurchaseClient.with(plugin)
        _ = try await client.getPaidFeatures()
        _ = try await client.restorePurchases()
        plugin.change { $0.paidFeatures = { throw Refusal() } }
        #expect(try await client.getPaidFeatures() == .of("pro"))
    }

    @Test func `many concurrent reads all return the merged features`() async throws {
        let client = try await PurchaseClient.with(
            StubPlugin("a") { $0.paidFeatures = { .of("pro") } },
            StubPlugin("b") { $0.paidFeatures = { .of("export") } })
        let answers = await withTaskGroup(of: PaidFeatures?.self) { group in
            for _ in 0..<200 { group.addTask { try? await client.getPaidFeatures() } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(answers.count == 200)
        #expect(answers.allSatisfy { $0?.names == ["pro", "export"] })
    }
}
