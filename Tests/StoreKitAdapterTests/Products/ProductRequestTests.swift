import BaseTestSupport
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

    @Test func `products come sorted, and are requested once`() async {
        let request = ProductRequest(connection: store)
        #expect(await words { try await request.products(["b", "a"]) } == "a, b")
        #expect(await words { try await request.products(["b"]) } == "b")
        #expect(questions == [["a", "b"]])
        #expect(await words { try await request.products(["b"], refresh: true) } == "b")
        #expect(questions == [["a", "b"], ["b"]])
    }

    @Test func `only products that are not yet known are requested`() async {
        let request = ProductRequest(connection: store)
        _ = await words { try await request.products(["a"]) }
        #expect(await words { try await request.products(["a", "b", "x"]) } == "a, b, no x")
        #expect(questions == [["a"], ["b", "x"]])
    }

    @Test func `a request with only unknown products fails, for several products and for one`() async {
        let request = ProductRequest(connection: store)
        #expect(await words { try await request.products(["x", "y"]) } == "invalid: x, y")
        #expect(await words { ProductAnswer(products: [try await request.product("x")]) } == "invalid: x")
        #expect(await words { ProductAnswer(products: [try await request.product("a")]) } == "a")
        store.set(products: [Self.product("x")])
        #expect(await words { try await request.products(["x"]) } == "x", "a failure is never remembered")
    }

    @Test func `an answer without any product is an error, and a request without ids is not`() async {
        let silent = ProductRequest(connection: EmptyStoreConnection(store))
        #expect(await words { try await silent.products(["a"]) } == "no products")
        #expect(await words { try await silent.products([]) } == "")
    }

    private static let german = Storefront(countryCode: "DEU", id: "143443", locale: "de_DE", currency: "EUR")

    private func waitForStorefront(_ storefront: Storefront, in request: ProductRequest) async throws {
        try await until("the storefront is \(storefront.countryCode)") { await request.storefront == storefront }
    }

    @Test func `a cached product is returned without a request to the store`() async throws {
        let request = ProductRequest(connection: store)
        _ = try await request.products(["a", "b"])
        let asked = store.calls.all
        #expect(asked == [.storefront, .products(["a", "b"])])
        #expect(try await request.products(["a"]).products.map(\.id) == ["a"])
        #expect(try await request.product("b").id == "b")
        #expect(store.calls.all == asked)
    }

    @Test func `a storefront update of the connection empties the cache`() async throws {
        let request = ProductRequest(connection: store)
        _ = try await request.products(["a"])
        store.set(products: [Self.product("a", "4,99 €")])
        store.set(storefront: Self.german)
        try await waitForStorefront(Self.german, in: request)
        #expect(try await request.products(["a"]).products.first?.displayPrice == "4,99 €")
        #expect(questions.count == 2)
        #expect(store.calls.all.filter { $0 == .storefront }.count == 1, "the storefront was sent, not requested")
    }

    @Test func `each storefront has a greater revision, and a late reader receives only the newest`() async throws {
        let request = ProductRequest(connection: store)
        var revisions = await request.storefrontRevisions().makeAsyncIterator()
        let home = try #require(await revisions.next())
        #expect(home.storefront == ScriptedStoreConnection.storefront)
        store.set(storefront: Self.german)
        let abroad = try #require(await revisions.next())
        #expect(abroad.storefront == Self.german && abroad.number > home.number)
        var late = await request.storefrontRevisions().makeAsyncIterator()
        #expect(await late.next() == abroad)
        #expect(await request.storefrontRevision == abroad)
    }

    @Test func `a refresh finds another storefront without an update`() async throws {
        let mute = SilentStoreConnection(store)
        let request = ProductRequest(connection: mute)
        _ = try await request.products(["a", "b"])
        store.set(storefront: Self.german)
        _ = try await request.products(["a"], refresh: true)
        #expect(await request.storefront == Self.german)
        _ = try await request.products(["b"])
        #expect(questions == [["a", "b"], ["a"], ["b"]], "products of the former storefront are dropped")
    }

    @Test func `an answer that a change of storefront overtakes is dropped, and the request repeated`()
        async throws
    {
        let (gate, isAsked) = (Gate(), Gate())
        store.before { call in
            guard call == .products(["a"]) else { return }
            isAsked.open()
            try await gate.pass()
        }
        let request = ProductRequest(connection: store)
        let answer = Task { try await request.products(["a"]).products.first?.displayPrice }
        try await isAsked.pass()
        store.set(products: [Self.product("a", "4,99 €")])
        store.set(storefront: Self.german)
        try await waitForStorefront(Self.german, in: request)
        gate.open()
        #expect(try await answer.value == "4,99 €")
        #expect(questions == [["a"], ["a"]])
    }

    @Test func `known products are returned while the store is unreachable, and no others`() async {
        let request = ProductRequest(connection: store)
        _ = await words { try await request.products(["a"]) }
        store.before { _ in throw StoreFailure(code: .unreachable, reason: "gone") }
        #expect(await words { try await request.products(["a"]) } == "a")
        #expect(await words { try await request.products(["a", "b"]) } == "failed")
        #expect(await words { try await request.products(["a"], refresh: true) } == "failed")
        store.before { _ in }
        #expect(await words { try await request.products(["a", "b"]) } == "a, b")
    }

    @Test func `a failed request has the store's reason, and the next caller repeats it`() async throws {
        let request = ProductRequest(connection: store)
        store.before { _ in throw StoreFailure(code: .unreachable, reason: "gone") }
        for _ in 1...2 {
            do {
                _ = try await request.products(["a"])
                Issue.record("an unreachable store answered")
            } catch ProductRequestError.requestFailed(let error) {
                #expect((error as? StoreFailure)?.reason == "gone")
            }
        }
        #expect(store.calls.all.count == 2)
        store.before { call in
            if case .products = call { throw StoreFailure(code: .unreachable, reason: "gone") }
        }
        #expect(await words { try await request.products(["a"]) } == "failed")
        store.before { _ in }
        #expect(await words { try await request.products(["a"]) } == "a")
    }

    @Test func `concurrent callers share one request, and a cancelled one does not disturb the others`()
        async throws
    {
        let gate = Gate()
        store.before { call in if case .products = call { try await gate.pass() } }
        let request = ProductRequest(connection: store)
        let leaving = Task { await words { try await request.products(["a"]) } }
        await store.calls.wait { $0.contains(.products(["a"])) }
        let others = (0..<10).map { _ in Task { await words { try await request.products(["a"]) } } }
        try await until("all eleven wait") { await request.waiting == 11 }
        leaving.cancel()
        #expect(await leaving.value == "CancellationError")
        gate.open()
        for other in others { #expect(await other.value == "a") }
        #expect(questions == [["a"]])
        #expect(store.calls.all.filter { $0 == .storefront }.count == 1)
    }

    @Test func `a request whose only caller was cancelled can be joined by another caller`() async throws {
        let gate = Gate()
        store.before { call in if case .products = call { try await gate.pass() } }
        let request = ProductRequest(connection: store)
        let leaving = Task { await words { try await request.products(["a"]) } }
        await store.calls.wait { $0.contains(.products(["a"])) }
        leaving.cancel()
        #expect(await leaving.value == "CancellationError")
        let joining = Task { await words { try await request.products(["a"]) } }
        try await until("the second caller waits") { await request.waiting > 0 }
        gate.open()
        #expect(await joining.value == "a")
        #expect(questions == [["a"]])
    }

    @Test func `after failed requests, concurrent requests are answered`() async throws {
        let request = ProductRequest(connection: store)
        store.before { call in
            if case .products = call { throw StoreFailure(code: .unreachable, reason: "gone") }
        }
        let nested = await words {
            do { return try await request.products(["a"]) } catch { return try await request.products(["a"]) }
        }
        #expect(nested == "failed")
        store.before { _ in }
        async let retrieved = request.products(["a"])
        async let bought = request.product("a")
        #expect(try await retrieved.products.map(\.id) == ["a"])
        #expect(try await bought.id == "a")
        #expect(await words { try await request.products(["a"]) } == "a")
    }
}

/// A store that sends no storefront updates.
private struct SilentStoreConnection: StoreConnection {
    let store: ScriptedStoreConnection

    init(_ store: ScriptedStoreConnection) { self.store = store }

    func canMakePayments() async throws -> Bool { true }
    func storefront() async throws -> Storefront { try await store.storefront() }
    var storefrontUpdates: AsyncStream<Storefront> { AsyncStream { $0.finish() } }
    func products(_ ids: Set<ProductID>) async throws -> ProductAnswer { try await store.products(ids) }
    func add(_ payment: Payment) async throws {}
    var updates: AsyncStream<StoreUpdate> { store.updates }
    func finish(_ transaction: TransactionID) async throws {}
    func restore() async throws -> [StoreTransaction] { [] }
    func receipt() async throws -> [UInt8]? { nil }
    func close() async {}
}

/// A store that answers every request for products with an empty response.
private struct EmptyStoreConnection: StoreConnection {
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
