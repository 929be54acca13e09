import Foundation
import InAppStore
import Primitives
import Purchases
import StoreKitAdapter
import StoreModel

/// The time and the memory that `Store` needs at launch to know the products that the customer may use. It reads the
/// files of an earlier run, without a network. The reference is `JSONSerialization` of the same files.
enum LaunchBenchmark {
    static func run() async throws -> [BenchmarkResult] {
        var results: [BenchmarkResult] = []
        for size in [10, 1000, 100_000] { results.append(try await launch(with: size)) }
        return results
    }

    private static func launch(with size: Int) async throws -> BenchmarkResult {
        let folder = NSTemporaryDirectory() + "souk-launch-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let list = folder + "/products.json"
        try Data(products(size).encoded()).write(to: URL(fileURLWithPath: list))
        try await earlierRun(list, folder)
        let state = ["acquiredViaSubscription", "validation"].map { "\(folder)/state/\($0).value" }

        var (ours, theirs) = ([Double](), [Double]())
        let clock = ContinuousClock()
        Memory.resetPeak()
        let before = Memory.resident
        var peak = 0.0
        for round in 0...(size > 1000 ? 15 : 31) {
            let begin = clock.now
            let store = try Store(configuration: configuration(list, folder, UnreachableServer()))
            let allowed = store.allowedProducts.count
            let time = clock.now - begin
            await store.close()
            if round == 0 { peak = Memory.peak }
            guard allowed == size - 1 else { throw BenchmarkFailure("\(allowed) of \(size) products are allowed") }
            let reference = try clock.measure {
                for file in [list] + state { try read(file) }
            }
            // The first round is not counted: it fills the caches of the system.
            if round > 0 {
                ours.append(time.nanoseconds)
                theirs.append(reference.nanoseconds)
            }
        }
        return BenchmarkResult(
            name: "launch of a store from its files, \(size) products",
            reference: "JSONSerialization of the same files",
            rounds: [Round](ours, references: theirs), budget: .ratio(1.5),
            more: [("megabytesBefore", rounded(before)), ("megabytesPeak", rounded(peak))])
    }

    /// A subscription, and products for its subscribers.
    private static func products(_ size: Int) -> JSONValue {
        let subscription: JSONValue = ["identifier": "com.example.shop.pro", "productType": "renewableSubscription"]
        let others = (1..<size).map { number -> JSONValue in
            [
                "identifier": .string("com.example.shop.look.\(number)"), "productType": "nonConsumable",
                "isSubscribersOnly": true,
            ]
        }
        return .array([subscription] + others)
    }

    private static func configuration(_ list: String, _ folder: String, _ server: any ReceiptValidator) throws
        -> StoreConfiguration
    {
        var configuration = StoreConfiguration(productListPath: list)
        configuration.connection = UnreachableStore()
        configuration.validator = server
        configuration.storage = try FileSecureStorage(
            configuration: .init(directory: folder + "/state", maximumBytes: 64 << 20))
        configuration.storageName = folder
        configuration.customer = "anna"
        return configuration
    }

    /// An earlier run of the app, in which the customer subscribed and acquired all products.
    private static func earlierRun(_ list: String, _ folder: String) async throws {
        let store = try Store(configuration: configuration(list, folder, SubscribedServer()))
        try await store.validateReceipt()
        try await store.acquireAllEnabledProducts()
        await store.close()
    }

    private static func read(_ file: String) throws {
        var data = try Data(contentsOf: URL(fileURLWithPath: file))
        // The files of the storage begin with a header and a digest, which are not JSON.
        if file.hasSuffix(".value") { data = data.dropFirst(6 + 32) }
        _ = try JSONSerialization.jsonObject(with: Data(data))
    }
}

/// A server that cannot be reached.
private struct UnreachableServer: ReceiptValidator {
    func validate(_: [StoreTransaction], for _: CustomerID) async throws -> TransactionValidation {
        throw PurchaseError(.unreachable)
    }

    func customer(_: CustomerID) async throws -> Customer { throw PurchaseError(.unreachable) }
}

/// A server at which every customer has a subscription.
private struct SubscribedServer: ReceiptValidator {
    func validate(_: [StoreTransaction], for customer: CustomerID) async throws -> TransactionValidation {
        TransactionValidation(customer: try await self.customer(customer), acknowledged: [])
    }

    func customer(_ customer: CustomerID) async throws -> Customer {
        let (now, year) = (Date(), TimeInterval(365 * 86400))
        return Customer(
            customer: customer, environment: .production, asOf: now, validUntil: now + year,
            subscriptions: [
                CustomerSubscription(
                    productID: "com.example.shop.pro", originalTransactionID: "1", state: .active, startedAt: now,
                    expiresAt: now + year, effectiveUntil: now + year, autoRenews: true)
            ])
    }
}

/// A store that cannot be reached.
private struct UnreachableStore: StoreConnection {
    private static let failure = StoreFailure(code: .unreachable, reason: "There is no store here.")

    var updates: AsyncStream<StoreUpdate> { AsyncStream { $0.finish() } }
    var storefrontUpdates: AsyncStream<Storefront> { AsyncStream { $0.finish() } }
    func canMakePayments() async throws -> Bool { throw Self.failure }
    func storefront() async throws -> Storefront { throw Self.failure }
    func products(_ ids: Set<ProductID>) async throws -> ProductAnswer { throw Self.failure }
    func add(_ payment: Payment) async throws { throw Self.failure }
    func finish(_ transaction: TransactionID) async throws { throw Self.failure }
    func restore() async throws -> [StoreTransaction] { throw Self.failure }
    func receipt() async throws -> [UInt8]? { throw Self.failure }
    func close() async {}
}
