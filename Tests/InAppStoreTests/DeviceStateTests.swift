import BaseTestSupport
import Foundation
import Primitives
import Purchases
import StoreKitAdapter
import StoreModel
import StoreTestSupport
import Testing

@testable import InAppStore

/// Opens the files that the SDK of each release left on a device. An update must lose no login, no access and no
/// purchase.
@Suite(.timeLimit(.minutes(1))) struct DeviceStateTests {
    private static let releases = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../Releases").standardized.path
    private static let versions = ((try? FileManager.default.contentsOfDirectory(atPath: releases)) ?? []).sorted()

    private let test = StoreTestContext()

    /// A copy of a device's folders, and the state of its app.
    private struct Device {
        let folder: String
        let facts: JSONValue

        init(of version: String) throws {
            folder = NSTemporaryDirectory() + "souk-device-\(UUID().uuidString)"
            try FileManager.default.copyItem(atPath: "\(DeviceStateTests.releases)/\(version)/device", toPath: folder)
            facts = try JSONValue(parsing: Array(Data(contentsOf: URL(fileURLWithPath: folder + "/device.json"))))
        }

        func storage(_ name: String) throws -> FileSecureStorage {
            try FileSecureStorage(directory: "\(folder)/\(name)")
        }

        func remove() { try? FileManager.default.removeItem(atPath: folder) }
    }

    /// Accepts every transaction of the scripted store.
    private struct AcceptingVerifier: TransactionVerifier {
        func verify(_ signedTransaction: String) async throws -> VerifiedTransaction {
            VerifiedTransaction(
                id: TransactionID(rawValue: String(signedTransaction.split(separator: ".").last ?? "")),
                productID: "pack", kind: .nonConsumable, purchaseDate: Fixture.start)
        }
    }

    private func configuration(_ storage: any SecureStorage, customer: CustomerID?) -> StoreConfiguration {
        var configuration = test.configuration(customer: customer)
        configuration.storage = storage
        configuration.localVerifier = AcceptingVerifier()
        return configuration
    }

    /// A plugin that returns the features of the subscription, or fails as unreachable.
    private final class Shop: PurchasePlugin {
        let name = "shop"
        private let isReachable: Bool

        init(isReachable: Bool) { self.isReachable = isReachable }

        func getPaidFeatures() async throws -> PaidFeatures {
            guard isReachable else { throw PurchaseError(.unreachable) }
            return PaidFeatures(Fixture.customer(subscriptions: [DeviceStateTests.subscription]))
        }
    }

    private static let subscription = Fixture.subscription("basic.monthly")

    @Test func `every release has a stored state of a device`() {
        #expect(!Self.versions.isEmpty)
        for version in Self.versions {
            #expect(
                FileManager.default.fileExists(atPath: "\(Self.releases)/\(version)/device/device.json"), "\(version)")
        }
    }

    @Test(arguments: versions)
    func `without a network the store has the bought, acquired and unacknowledged products`(
        version: String
    ) async throws {
        let device = try Device(of: version)
        defer { device.remove() }
        test.breakServer()
        let store = try await test.open(configuration(device.storage("store"), customer: "anna"))
        #expect(store.snapshot.features.map(\.name) == ["pro"])
        #expect(store.subscriptionInfo?.productID == "basic.monthly" && store.subscriptionInfo?.isExpired == false)
        #expect(store.acquiredViaSubscriptionProducts == ["film.noir"])
        #expect(
            store.allowedProducts == ["film.noir", "pack"], "`pack` is paid but not acknowledged, and must be allowed.")
        await store.close()
    }

    @Test(arguments: versions)
    func `an unacknowledged purchase is acknowledged after the update`(version: String) async throws {
        let device = try Device(of: version)
        defer { device.remove() }
        let json = try #require(device.facts["unfinished"]).text()
        let unfinished = try WireJSON.decode(StoreTransaction.self, from: Array(json.utf8))
        test.server.answer { id in Fixture.customer(id, subscriptions: [Self.subscription]) }
        test.server.judge { transactions, customer in
            TransactionValidation(
                customer: Fixture.customer(
                    customer, subscriptions: [Self.subscription], purchases: [Fixture.purchase("pack")]),
                acknowledged: Set(transactions.map(\.id)))
        }
        let store = try await test.open(configuration(device.storage("store"), customer: "anna"))
        test.connection.send(
            StoreUpdate(productID: "pack", state: .purchased(unfinished, alreadyOwned: false)))
        await test.connection.calls.wait { $0.contains(.finish(unfinished.id)) }
        #expect(store.purchasedProducts == ["pack"])
        await store.close()
    }

    @Test(arguments: versions)
    func `an anonymous customer keeps the id after the update`(version: String) async throws {
        let device = try Device(of: version)
        defer { device.remove() }
        let store = try await test.open(configuration(device.storage("anonymous"), customer: nil))
        #expect(store.customer.rawValue == device.facts["anonymous"]?.stringValue)
        await store.close()
    }

    @Test(arguments: versions)
    func `without a network the client has the stored answers of its plugins`(version: String) async throws {
        let device = try Device(of: version)
        defer { device.remove() }
        let client = PurchaseClient(
            configuration: .init(storage: try device.storage("client"), clock: ManualClock(Fixture.start)))
        try await client.setup(with: [Shop(isReachable: false)], appUserId: .string("anna"))
        #expect(try await client.getPaidFeatures().hasActiveFeature(with: "pro", at: Fixture.start))
    }

    @Test(arguments: versions)
    func `a sibling app's subscription is read after the update`(version: String) throws {
        let device = try Device(of: version)
        defer { device.remove() }
        let info = try SharedUserInfoReader(storage: device.storage("shared")).userInfo(ofApp: "com.example.sibling")
        #expect(info?.subscriptions.map(\.subscription.productID) == ["basic.monthly"])
    }

    // MARK: - Writing the state

    @Test(.enabled(if: ProcessInfo.processInfo.environment["SOUK_WRITE_DEVICE_STATE"] != nil))
    func `writes a device's state for this release`() async throws {
        let folder = try #require(ProcessInfo.processInfo.environment["SOUK_WRITE_DEVICE_STATE"])
        func storage(_ name: String) throws -> FileSecureStorage {
            try FileSecureStorage(directory: "\(folder)/\(name)")
        }
        test.setAnswer(Fixture.customer(subscriptions: [Self.subscription]))
        let store = try await test.open(configuration(storage("store"), customer: "anna"))
        try await store.acquireAllEnabledProducts()
        test.breakServer()
        try await store.purchaseProduct("pack")
        let unfinished = try #require(test.connection.unfinished.first)
        await store.close()

        test.setAnswer(Fixture.customer())
        let anonymous = try await test.open(configuration(storage("anonymous"), customer: nil))
        let name = anonymous.customer.rawValue
        await anonymous.close()

        let client = PurchaseClient(
            configuration: .init(storage: try storage("client"), clock: ManualClock(Fixture.start)))
        try await client.setup(with: [Shop(isReachable: true)], appUserId: .string("anna"))
        _ = try await client.getPaidFeatures()
        let kept = folder + "/client"
        try await until("the client has written the answers") {
            try FileManager.default.contentsOfDirectory(atPath: kept).contains { $0.hasPrefix("lastAnswers") }
        }

        let sibling = SiblingApps(
            application: "com.example.sibling", others: [],
            reader: SharedUserInfoReader(storage: try storage("shared")), classifier: nil)
        try sibling.write(
            SharedUserInfo(
                application: "com.example.sibling", environment: .production, validatedAt: Fixture.start,
                subscriptions: [SharedSubscription(Self.subscription, accessUntil: Self.subscription.effectiveUntil)]))

        let facts: JSONValue = [
            "anonymous": .string(name), "unfinished": try JSONValue(parsing: WireJSON.encode(unfinished)),
        ]
        try Data(facts.text().utf8).write(to: URL(fileURLWithPath: folder + "/device.json"))
        for folder in ["store", "anonymous", "client", "shared"].map({ "\(folder)/\($0)" }) {
            try? FileManager.default.removeItem(atPath: folder + "/.claim")
        }
    }
}
