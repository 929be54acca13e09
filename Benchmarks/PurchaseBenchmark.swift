import Foundation
import InAppStore
import Primitives
import Purchases
import StoreKitAdapter
import StoreModel

/// The time of a purchase in the SDK: the store sells at once, and the server acknowledges at once.
enum PurchaseBenchmark {
    private static let product = ProductID(unchecked: "com.example.shop.coins")

    static func run() async throws -> [BenchmarkResult] {
        let folder = NSTemporaryDirectory() + "souk-purchases-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let list = folder + "/products.json"
        let listed: JSONValue = [["identifier": .string(product.rawValue), "productType": "consumable"]]
        try Data(listed.encoded()).write(to: URL(fileURLWithPath: list))

        let store = try Store(configuration: configuration(list))
        let client = PurchaseClient()
        try await client.setup(with: [InAppStorePurchasePlugin(store: store)], appUserId: .string("ada"))
        let queue = PaymentQueue(configuration: .init(connection: SellingStore(product))) { transactions in
            transactions.reduce(into: [:]) { $0[$1.id] = .acknowledged }
        }
        await queue.start()
        let alone = { @Sendable in
            guard case .purchased = await queue.purchase(product).outcome else {
                throw BenchmarkFailure("the payment queue did not buy")
            }
        }
        let throughStore = try await paired(iterations: 200) {
            try await store.purchaseProduct(product.rawValue)
        } reference: {
            try await alone()
        }
        let throughClient = try await paired(iterations: 200) {
            _ = try await client.purchase(Product(productIdentifier: product.rawValue))
        } reference: {
            try await alone()
        }
        await client.close()
        await store.close()
        await queue.shutDown()
        let reference = "the same payment by PaymentQueue alone"
        return [
            BenchmarkResult(name: "purchase by Store", reference: reference, rounds: throughStore),
            BenchmarkResult(name: "purchase by PurchaseClient", reference: reference, rounds: throughClient),
        ]
    }

    private static func configuration(_ list: String) -> StoreConfiguration {
        var configuration = StoreConfiguration(productListPath: list)
        configuration.connection = SellingStore(product)
        configuration.validator = AcknowledgingServer()
        configuration.storage = MemoryStorage()
        configuration.storageName = list
        configuration.customer = "ada"
        return configuration
    }
}

/// A store that sells at once.
private final class SellingStore: StoreConnection {
    let updates: AsyncStream<StoreUpdate>
    private let sold: AsyncStream<StoreUpdate>.Continuation
    private let product: ProductID
    private let count = Locked(0)

    init(_ product: ProductID) {
        self.product = product
        (updates, sold) = AsyncStream.makeStream()
    }

    var storefrontUpdates: AsyncStream<Storefront> { AsyncStream { $0.finish() } }
    func canMakePayments() async throws -> Bool { true }

    func storefront() async throws -> Storefront {
        Storefront(countryCode: "USA", id: "143441", locale: "en_US", currency: "USD")
    }

    func products(_ ids: Set<ProductID>) async throws -> ProductAnswer {
        ProductAnswer(products: [StoreProduct(id: product, kind: .consumable, price: Price(amount: 1, currency: "USD"))]
        )
    }

    func add(_ payment: Payment) async throws {
        let number = count.withLock { count in
            count += 1
            return count
        }
        let id = TransactionID(unchecked: "\(number)")
        let transaction = StoreTransaction(
            id: id, originalID: id, productID: payment.productID, kind: .consumable, purchaseDate: Date(),
            signedTransaction: "signed")
        sold.yield(
            StoreUpdate(paymentID: payment.id, productID: payment.productID, state: .purchased(transaction)))
    }

    func finish(_ transaction: TransactionID) async throws {}
    func restore() async throws -> [StoreTransaction] { [] }
    func receipt() async throws -> [UInt8]? { nil }
    func close() async { sold.finish() }
}

/// A server that acknowledges at once.
private struct AcknowledgingServer: ReceiptValidator {
    func validate(
        _ transactions: [StoreTransaction], for customer: CustomerID
    ) async throws -> TransactionValidation {
        TransactionValidation(
            customer: try await self.customer(customer), acknowledged: Set(transactions.map(\.id)))
    }

    func customer(_ customer: CustomerID) async throws -> Customer {
        let now = Date()
        return Customer(customer: customer, environment: .production, asOf: now, validUntil: now + 86400)
    }
}

private final class MemoryStorage: SecureStorage {
    private let values = Locked<[String: [UInt8]]>([:])
    func data(for key: String) throws -> [UInt8]? { values.withLock { $0[key] } }
    func set(_ data: [UInt8]?, for key: String) throws { values.withLock { $0[key] = data } }
}
