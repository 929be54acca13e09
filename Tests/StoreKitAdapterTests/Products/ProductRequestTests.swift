import StoreModel
import StoreTestSupport
import Testing

@testable import StoreKitAdapter

@Suite(.timeLimit(.minutes(2)))
struct ProductRequestTests {
    private static func product(_ id: ProductID, _ price: String = "4.99") -> StoreProduct {
        StoreProduct(id: id, kind: .nonConsumable, price: Price(amount: 5, currency: "USD"), displayPrice: price)
    }

    private let store = ScriptedStoreConnection(products: [product("a"), product("b")])

    private var questions: [Set<ProductID>] {
        store.calls.all.compactMap { if case .products(let ids) = $0 { ids } else { nil } }
    }

    private func words(_ body: () async throws -> ProductAnswer) async -> String {
        do {
            let answer = try await body()
            return
                (answer.products.map(\.id) + answer.invalidProductIDs.map { "no \($0)" }.map(ProductID.init(unchecked:)))
                .map(\.rawValue).joined(separator: ", ")
        } catch ProductRequestError.invalidProducts(let ids) {
            return "invalid: " + ids.joined(separator: ", ")
        } catch ProductRequestError.noProducts {
            return "no products"
        } catch ProductRequestError.requestFailed {
            return "failed"
        } catch {
            return "\(type(of: error))"
        }
    }

    @Test func `products come sorted, and are asked for once`() async {
        let request = ProductRequest(connection: store)
        #expect(await words { try await request.products(["b", "a"]) } == "a, b")
        #expect(await words { try await request.products(["b"]) } == "b")
        #expect(questions == [["a", "b"]])
        #expect(await words { try await request.products(["b"], refresh: true) } == "b")
        #expect(questions == [["a", "b"], ["b"]])
    }

    @Test func `only what is not known yet is asked for`() async {
        let request = ProductRequest(connection: store)
        _ = await words { try await request.products(["a"]) }
        #expect(await words { try await request.products(["a", "b", "x"]) } == "a, b, no x")
        #expect(questions == [["a"], ["b", "x"]])
    }

    @Test func `unknown products fail a question about nothing else, and every purchase`() async {
        let request = ProductRequest(connection: store)
        #expect(await words { try await request.products(["x", "y"]) } == "invalid: x, y")
        #expect(await words { ProductAnswer(products: [try await request.product("x")]) } == "invalid: x")
        #expect(await words { ProductAnswer(products: [try await request.product("a")]) } == "a")
        store.set(products: [Self.product("x")])
        #expect(await words { try await request.products(["x"]) } == "x", "a failure is never remembered")
    }

    @Test func `an answer without any product is an error, a question without any id is none`() async {
        let silent = ProductRequest(connection: Unhelpful(store))
        #expect(await words { try await silent.products(["a"]) } == "no products")
        #expect(await words { try await silent.products([]) } == "")
    }

    @Test func `another storefront empties the cache`() async throws {
        let request = ProductRequest(connection: store)
        _ = try await request.products(["a"])
        store.set(products: [Self.product("a", "4,99 €")])
        let german = Storefront(countryCode: "DEU", id: "143443", locale: "de_DE", currency: "EUR")
        store.set(storefront: german)
        #expect(try await request.products(["a"]).products.first?.displayPrice == "4,99 €")
        #expect(await request.storefront == german)
        #expect(questions.count == 2)
    }

    @Test func `what is known is given while the store is away, and nothing else`() async {
        let request = ProductRequest(connection: store)
        _ = await words { try await request.products(["a"]) }
        store.before { _ in throw StoreFailure(code: .unreachable, reason: "gone") }
        #expect(await words { try await request.products(["a"]) } == "a")
        #expect(await words { try await request.products(["a", "b"]) } == "failed")
        #expect(await words { try await request.products(["a"], refresh: true) } == "failed")
        store.before { _ in }
        #expect(await words { try await request.products(["a", "b"]) } == "a, b")
    }

    @Test func `those who ask the same at the same time share one request, and one who leaves disturbs nobody`() async {
        let gate = Gate()
        store.before { call in if case .products = call { try await gate.pass() } }
        let request = ProductRequest(connection: store)
        let leaving = Task { await words { try await request.products(["a"]) } }
        await store.calls.wait { $0.contains(.products(["a"])) }
        let others = (0..<10).map { _ in Task { await words { try await request.products(["a"]) } } }
        await store.calls.wait { $0.filter { $0 == .storefront }.count == 11 }
        leaving.cancel()
        #expect(await leaving.value == "CancellationError")
        gate.open()
        for other in others { #expect(await other.value == "a") }
        #expect(questions == [["a"]])
    }
}

/// A store that knows products and does not say so.
private struct Unhelpful: StoreConnection {
    let store: ScriptedStoreConnection

    init(_ store: ScriptedStoreConnection) { self.store = store }

    func canMakePayments() async throws -> Bool { true }
    func storefront() async throws -> Storefront { try await store.storefront() }
    func products(_ ids: Set<ProductID>) async throws -> ProductAnswer { ProductAnswer(products: []) }
    func add(_ payment: Payment) async throws {}
    var storefrontUpdates: AsyncStream<Storefront> { store.storefrontUpdates }
    var updates: AsyncStream<StoreUpdate> { store.updates }
    func finish(_ transaction: TransactionID) async throws {}
    func restore() async throws -> [StoreTransaction] { [] }
    func receipt() async throws -> [UInt8]? { nil }
    func close() async {}
}
