import AppStorePayloads
import SimulatorControl
import BaseTestSupport
import Foundation
import HTTPCore
import Primitives
import SignedData
import StoreKitAdapter
import StoreModel
import Testing

@testable import AppStoreSimulator

/// A catalogue with a product of each type.
enum Fixtures {
    static let catalogueText = """
        {"version": {"major": 4, "minor": 0}, "settings": {"_storefront": "USA", "_locale": "en_US"},
         "products": [
           {"productID": "coins", "type": "Consumable", "displayPrice": "0.99"},
           {"productID": "pack", "type": "NonConsumable", "displayPrice": "9.99"},
           {"productID": "odd", "type": "Mystery", "displayPrice": "1.00"}],
         "nonRenewingSubscriptions": [{"productID": "pass", "displayPrice": "4.99"}],
         "subscriptionGroups": [
           {"id": "plus", "name": "Plus", "subscriptions": [
             {"productID": "monthly", "displayPrice": "4.99", "recurringSubscriptionPeriod": "P1M", "groupNumber": 2,
              "introductoryOffer": {"paymentMode": "free", "subscriptionPeriod": "P1W"},
              "adHocOffers": [{"offerID": "half", "paymentMode": "payUpFront", "subscriptionPeriod": "P2M",
                               "displayPrice": "4.99"}]},
             {"productID": "monthly.alt", "displayPrice": "5.99", "recurringSubscriptionPeriod": "P1M",
              "groupNumber": 2},
             {"productID": "yearly", "displayPrice": "49.99", "recurringSubscriptionPeriod": "P1Y", "groupNumber": 2},
             {"productID": "pro", "displayPrice": "9.99", "recurringSubscriptionPeriod": "P1M", "groupNumber": 1,
              "introductoryOffer": {"paymentMode": "free", "subscriptionPeriod": "P3D"}}]},
           {"id": "slow", "name": "Slow", "subscriptions": [
             {"productID": "paygo", "displayPrice": "2.99", "recurringSubscriptionPeriod": "P1M", "groupNumber": 1,
              "introductoryOffer": {"paymentMode": "payAsYouGo", "subscriptionPeriod": "P1M", "numberOfPeriods": 3,
                                    "displayPrice": "0.99"},
              "codeOffers": [{"referenceName": "spring", "paymentMode": "free", "subscriptionPeriod": "P1M",
                              "eligibility": ["new", "existing", "expired"]}]}]},
           {"id": "front", "name": "Front", "subscriptions": [
             {"productID": "upfront", "displayPrice": "2.99", "recurringSubscriptionPeriod": "P1M", "groupNumber": 1,
              "introductoryOffer": {"paymentMode": "payUpFront", "subscriptionPeriod": "P1M", "numberOfPeriods": 3,
                                    "displayPrice": "1.99"}}]},
           {"id": "week", "name": "Week", "subscriptions": [
             {"productID": "weekly", "displayPrice": "0.99", "recurringSubscriptionPeriod": "P1W",
              "groupNumber": 1}]}]}
        """

    static func catalogue() throws -> Catalogue {
        try Catalogue(parsing: Array(catalogueText.utf8), file: "fixture.storekit")
    }

    static func date(_ text: String) -> Date {
        guard let date = RFC3339.date(from: text) else { preconditionFailure("\(text) is not a date") }
        return date
    }

    static let start = date("2026-01-31T10:00:00Z")
}

/// A folder that is removed at the end of the test.
final class ScratchFolder: Sendable {
    let path: String

    init() throws {
        path = FileManager.default.temporaryDirectory.appendingPathComponent("simulator-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }
}

/// A store whose time begins at `Fixtures.start`, on a clock that only the test moves.
struct TestStore {
    let store: SimulatedAppStore
    let base: ManualClock
    let folder: ScratchFolder

    static func open(
        rate: TimeRate = .frozen, in folder: ScratchFolder? = nil, base: ManualClock = ManualClock(),
        seed: UInt64 = 0, change: (inout SimulatedAppStore.Configuration) -> Void = { _ in }
    ) async throws -> TestStore {
        let folder = try folder ?? ScratchFolder()
        var configuration = SimulatedAppStore.Configuration(
            catalogue: try Fixtures.catalogue(), dataDirectory: folder.path)
        configuration.timeRate = rate
        configuration.start = Fixtures.start
        configuration.baseClock = base
        configuration.seed = seed
        configuration.hostNames = ["store.test"]
        change(&configuration)
        return TestStore(store: try await SimulatedAppStore.open(configuration), base: base, folder: folder)
    }

    /// Opens a store for `body` and closes it.
    static func with(
        rate: TimeRate = .frozen, in folder: ScratchFolder? = nil, base: ManualClock = ManualClock(),
        seed: UInt64 = 0, change: (inout SimulatedAppStore.Configuration) -> Void = { _ in },
        _ body: (TestStore) async throws -> Void
    ) async throws {
        let test = try await open(rate: rate, in: folder, base: base, seed: seed, change: change)
        do {
            try await body(test)
        } catch {
            await test.store.close()
            throw error
        }
        await test.store.close()
    }

    func device(_ account: AccountName = "anna") async throws -> DeviceID {
        if try !store.accounts().contains(account) { try await store.createAccount(account) }
        return DeviceID(unchecked: try await store.signIn(account: account).deviceID)
    }

    @discardableResult
    func buy(
        _ product: ProductID, _ account: AccountName = "anna", quantity: Int? = nil, offer: String? = nil,
        token: UUID? = nil
    ) async throws -> StoreControlWire.Transaction {
        if try !store.accounts().contains(account) { try await store.createAccount(account) }
        return try await store.buy(
            .init(productID: product, quantity: quantity, offerID: offer, appAccountToken: token), for: account)
    }

    @discardableResult
    func advance(_ period: SubscriptionPeriod) async throws -> StoreControlWire.ClockState {
        try await store.advance(.init(period: period))
    }

    /// A verifier that trusts only this store's root and bundle id.
    func verifier() throws -> SignedDataVerifier {
        let root = try Data(contentsOf: URL(fileURLWithPath: store.summary.rootCertificate))
        return SignedDataVerifier(
            configuration: .init(
                bundleIDs: [store.configuration.bundleID], environments: [.sandbox],
                trustAnchors: try TrustAnchor.certificates(in: Array(root))))
    }

    func payloads(_ account: AccountName = "anna") async throws -> [JWSTransactionDecodedPayload] {
        let verifier = try verifier()
        return try await store.transactions(of: account).map {
            try verifier.transaction($0.signedTransaction).payload
        }
    }
}
