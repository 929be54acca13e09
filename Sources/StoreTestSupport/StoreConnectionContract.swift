import StoreModel
import Testing

/// What every `StoreConnection` promises; to be run against each implementation, for an account that has bought nothing.
public struct StoreConnectionContract: Sendable {
    /// A product that can be owned once.
    public var pack: ProductID
    /// A product that is used up.
    public var coins: ProductID
    /// A new connection for the account, as a new launch or another device makes it.
    public var connect: @Sendable () async throws -> any StoreConnection

    public init(
        pack: ProductID, coins: ProductID, connect: @escaping @Sendable () async throws -> any StoreConnection
    ) {
        self.pack = pack
        self.coins = coins
        self.connect = connect
    }

    public func verify() async throws {
        try await verifyQuestions()
        try await verifyPurchase()
        try await verifyPairing()
        try await verifyRefusal()
        try await verifyOwned()
        try await verifyClosing()
    }

    private func verifyQuestions() async throws {
        let connection = try await connect()
        #expect(try await connection.canMakePayments())
        #expect(try await connection.storefront().currency.count == 3)
        let answer = try await connection.products([pack, "unheard.of"])
        #expect(answer.products.map(\.id) == [pack])
        #expect(answer.invalidProductIDs == ["unheard.of"])
        #expect(try await connection.products([]) == ProductAnswer(products: []), "no ids, no products")
        #expect(try await connection.restore() == [], "nothing was bought yet")
        await #expect(throws: StoreFailure.self, "finishing what nobody sold") { try await connection.finish("7") }
        await connection.close()
    }

    /// Buying, asking twice, crashing before finishing, finishing.
    private func verifyPurchase() async throws {
        let first = try await connect()
        var updates = first.updates.makeAsyncIterator()
        let payment = Payment(id: "contract-1", productID: pack)
        try await first.add(payment)
        let bought = try #require(await updates.purchase(answering: "contract-1"))
        #expect(bought.transaction.productID == pack)
        #expect(!bought.alreadyOwned)
        #expect(!bought.transaction.signedTransaction.isEmpty)
        try await first.add(payment)
        await first.close()

        let second = try await connect()
        var again = second.updates.makeAsyncIterator()
        let unfinished = try #require(await again.next())
        #expect(unfinished.transaction?.id == bought.transaction.id, "what is unfinished comes first")
        try await second.add(payment)
        let repeated = try #require(await again.purchase(answering: "contract-1"))
        #expect(repeated.transaction.id == bought.transaction.id, "the same payment never buys twice")
        try await second.finish(bought.transaction.id)
        try await second.finish(bought.transaction.id)
        await second.close()

        let third = try await connect()
        var later = third.updates.makeAsyncIterator()
        try await third.add(Payment(id: "contract-2", productID: coins))
        let next = try #require(await later.next { _ in true })
        #expect(next.paymentID == "contract-2", "a finished transaction is not reported again")
        if let id = next.transaction?.id { try await third.finish(id) }
        await third.close()
    }

    private func verifyPairing() async throws {
        let connection = try await connect()
        var updates = connection.updates.makeAsyncIterator()
        async let one: Void = connection.add(Payment(id: "contract-3", productID: coins, quantity: 2))
        async let two: Void = connection.add(Payment(id: "contract-4", productID: coins, quantity: 3))
        _ = try await (one, two)
        var quantities: [PaymentID: Int] = [:]
        while quantities.count < 2, let update = await updates.next() {
            guard let payment = update.paymentID, let transaction = update.transaction else { continue }
            quantities[payment] = transaction.quantity
            try await connection.finish(transaction.id)
        }
        #expect(quantities == ["contract-3": 2, "contract-4": 3], "every answer names its payment")
        await connection.close()
    }

    private func verifyRefusal() async throws {
        let connection = try await connect()
        var updates = connection.updates.makeAsyncIterator()
        try await connection.add(Payment(id: "contract-5", productID: "unheard.of"))
        let update = try #require(await updates.next { $0.paymentID == "contract-5" })
        guard case .failed(let failure) = update.state else {
            Issue.record("an unknown product was not refused: \(update)")
            return
        }
        #expect(failure.code == .invalidProduct)
        #expect(!failure.reason.isEmpty)
        await connection.close()
    }

    private func verifyOwned() async throws {
        let connection = try await connect()
        let restored = try await connection.restore()
        #expect(restored.map(\.productID) == [pack], "what can be restored is what can be owned")
        var updates = connection.updates.makeAsyncIterator()
        try await connection.add(Payment(id: "contract-6", productID: pack))
        let owned = try #require(await updates.purchase(answering: "contract-6"))
        #expect(owned.alreadyOwned)
        #expect(owned.transaction.id == restored.first?.id)
        try await connection.finish(owned.transaction.id)
        await connection.close()
    }

    private func verifyClosing() async throws {
        let connection = try await connect()
        let updates = connection.updates
        let reader = Task { for await _ in updates {} }
        await connection.close()
        await reader.value
    }
}

extension StoreUpdate {
    fileprivate var transaction: StoreTransaction? {
        switch state {
        case .purchased(let transaction, _), .revoked(let transaction), .renewalChanged(let transaction): transaction
        case .purchasing, .deferred, .failed: nil
        }
    }
}

extension AsyncStream<StoreUpdate>.Iterator {
    /// Not every store says that a payment is on its way.
    fileprivate mutating func next(where isWanted: (StoreUpdate) -> Bool) async -> StoreUpdate? {
        while let update = await next() {
            if update.state != .purchasing, isWanted(update) { return update }
        }
        return nil
    }

    fileprivate mutating func purchase(
        answering payment: PaymentID
    ) async -> (transaction: StoreTransaction, alreadyOwned: Bool)? {
        guard
            case .purchased(let transaction, let alreadyOwned)? = await next(where: { $0.paymentID == payment })?.state
        else { return nil }
        return (transaction, alreadyOwned)
    }
}
