import BaseTestSupport
import StoreModel
import StoreTestSupport
import Testing

@testable import StoreKitAdapter

@Suite(.timeLimit(.minutes(1)))
struct StoreKitEntitlementsTests {
    private let time = ManualTimeouts()
    private static let pack = ScriptedStoreConnection.transaction("1", "pack")
    private static let pro = ScriptedStoreConnection.transaction("2", "pro", kind: .autoRenewableSubscription)

    private static func status(_ original: TransactionID, _ info: String?) -> StoreSubscriptionStatus {
        var transaction = ScriptedStoreConnection.transaction(original, "pro", kind: .autoRenewableSubscription)
        transaction.signedRenewalInfo = info
        return StoreSubscriptionStatus(subscriptionGroupID: "g", status: .active, transaction: transaction)
    }

    private func entitlements(
        _ current: [StoreTransaction], statuses: @escaping @Sendable () async -> [StoreSubscriptionStatus] = { [] }
    ) -> StoreKitEntitlements {
        StoreKitEntitlements(current: { current }, statuses: statuses, timeouts: time.timeouts)
    }

    @Test func `each subscription has the renewal info of its own status`() async throws {
        let owned = try await entitlements([Self.pack, Self.pro]) {
            [Self.status("9", "of.another"), Self.status("2", "its.own")]
        }.transactions()
        #expect(owned.map(\.id) == ["1", "2"] && owned.map(\.signedRenewalInfo) == [nil, "its.own"])
    }

    @Test func `without an owned subscription there is no wait for statuses`() async throws {
        let asked = CallLog<Bool>()
        let owned = try await entitlements([Self.pack]) {
            asked.record(true)
            return []
        }.transactions()
        #expect(owned == [Self.pack] && asked.all.isEmpty)
    }

    @Test func `statuses that take more than two seconds follow later, for owned subscriptions only`() async throws {
        let gate = Gate()
        let late = CallLog<String?>()
        let entitlements = entitlements([Self.pro]) {
            try? await gate.pass()
            return [Self.status("9", "of.another"), Self.status("2", "its.own")]
        }
        let request = Task { try await entitlements.transactions { late.record($0.signedRenewalInfo) } }
        await time.waits.wait { $0.contains(.seconds(2)) }
        time.clock.advance(by: 2)
        #expect(try await request.value == [Self.pro])
        gate.open()
        await late.wait { $0 == ["its.own"] }
    }

    @Test func `if StoreKit does not answer, the store is unreachable after 30 seconds`() async throws {
        let silent = StoreKitEntitlements(
            current: {
                try? await Gate().pass()
                return []
            },
            statuses: {
                try? await Gate().pass()
                return []
            }, timeouts: time.timeouts)
        let owned = Task { try await silent.transactions() }
        await time.waits.wait { $0 == [.seconds(30)] }
        let statuses = Task { try await silent.subscriptionStatuses() }
        await time.waits.wait { $0 == [.seconds(30), .seconds(30)] }
        time.clock.advance(by: 30)
        let failures = [
            await #expect(throws: StoreFailure.self) { try await owned.value },
            await #expect(throws: StoreFailure.self) { try await statuses.value },
        ]
        #expect(failures.allSatisfy { $0?.code == .unreachable })
    }

    @Test func `statuses are returned unchanged`() async throws {
        let all = [Self.status("2", "its.own"), Self.status("9", nil)]
        #expect(try await entitlements([]) { all }.subscriptionStatuses() == all)
    }
}
