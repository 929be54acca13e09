import StoreModel
import Testing

/// The contract of every `StoreConnection`. Run it on each implementation, with an account that has bought nothing.
///
///     var contract = StoreConnectionContract(pack: "pack", coins: "coins") { try await store.connection(account: "anna") }
///     contract.controls.refund = { try await store.refund($0) }
///     let skipped = try await contract.verify()            // ["renewal", …], the parts whose controls are missing
package struct StoreConnectionContract: Sendable {
    /// A non-consumable.
    package var pack: ProductID
    /// A consumable.
    package var coins: ProductID
    /// Two monthly auto-renewable subscriptions of different groups. Without them, the parts about subscriptions are skipped.
    package var subscriptions: (first: ProductID, second: ProductID)?
    /// A promotional offer of the first subscription.
    package var promotionalOffer: String?
    package var controls = StoreControls()
    /// Opens a new connection for the account, as a new launch or another device does.
    package var connect: @Sendable () async throws -> any StoreConnection

    package init(
        pack: ProductID, coins: ProductID, connect: @escaping @Sendable () async throws -> any StoreConnection
    ) {
        self.pack = pack
        self.coins = coins
        self.connect = connect
    }

    /// Verifies all parts that the controls allow, and returns the names of the others.
    package func verify() async throws -> [String] {
        var leftOut: [String] = []
        for part in basics + controlled {
            if let body = part.body { try await body() } else { leftOut.append(part.name) }
        }
        return leftOut
    }

    /// A part of the contract; `body` is `nil` when a control or a product for it is missing.
    struct Part {
        var name: String
        var body: (() async throws -> Void)?
    }

    private var basics: [Part] {
        [
            Part(name: "before a purchase", body: verifyBeforePurchases), Part(name: "purchase", body: verifyPurchase),
            Part(name: "payments at once", body: verifyPaymentsAtOnce), Part(name: "refusal", body: verifyRefusal),
            Part(name: "owned", body: verifyOwned), Part(name: "streams", body: verifyStreams),
            Part(name: "closing", body: verifyClosing),
        ]
    }

    private func verifyBeforePurchases() async throws {
        let connection = try await connect()
        #expect(try await connection.canMakePayments())
        #expect(try await connection.storefront().currency.count == 3)
        let answer = try await connection.products([pack, "unheard.of"])
        #expect(answer.products.map(\.id) == [pack])
        #expect(answer.invalidProductIDs == ["unheard.of"])
        #expect(try await connection.products([]) == ProductAnswer(products: []), "no ids, no products")
        #expect(try await connection.restore() == [], "nothing was bought yet")
        await #expect(throws: StoreFailure.self, "an unknown transaction cannot be finished") {
            try await connection.finish("7")
        }
        await connection.close()
    }

    /// Makes a payment twice, reconnects before the transaction is finished, and finishes it on the second connection.
    private func verifyPurchase() async throws {
        var first = try await session()
        let payment = Payment(id: "contract-1", productID: pack)
        try await first.connection.add(payment)
        let bought = try #require(await first.purchase(for: "contract-1"))
        #expect(bought.transaction.productID == pack)
        #expect(!bought.alreadyOwned)
        #expect(!bought.transaction.signedTransaction.isEmpty)
        try await first.connection.add(payment)
        await first.connection.close()

        var second = try await session()
        let unfinished = try #require(await second.next())
        #expect(unfinished.transaction?.id == bought.transaction.id, "an unfinished transaction is reported first")
        try await second.connection.add(payment)
        let repeated = try #require(await second.purchase(for: "contract-1"))
        #expect(repeated.transaction.id == bought.transaction.id, "the same payment never buys twice")
        try await second.connection.finish(bought.transaction.id)
        try await second.connection.finish(bought.transaction.id)
        await second.connection.close()

        var third = try await session()
        try await third.connection.add(Payment(id: "contract-2", productID: coins))
        let next = try #require(await third.next())
        #expect(next.paymentID == "contract-2", "a finished transaction is not reported again")
        if let id = next.transaction?.id { try await third.connection.finish(id) }
        await third.connection.close()
    }

    private func verifyPaymentsAtOnce() async throws {
        var device = try await session()
        let connection = device.connection
        async let one: Void = connection.add(Payment(id: "contract-3", productID: coins, quantity: 2))
        async let two: Void = connection.add(Payment(id: "contract-4", productID: coins, quantity: 3))
        _ = try await (one, two)
        var quantities: [PaymentID: Int] = [:]
        while quantities.count < 2, let update = await device.next() {
            guard let payment = update.paymentID, let transaction = update.transaction else { continue }
            quantities[payment] = transaction.quantity
            try await connection.finish(transaction.id)
        }
        #expect(quantities == ["contract-3": 2, "contract-4": 3], "every update names its payment")
        await connection.close()
    }

    private func verifyRefusal() async throws {
        var device = try await session()
        try await device.connection.add(Payment(id: "contract-5", productID: "unheard.of"))
        let failure = try #require(await device.failure(for: "contract-5"), "an unknown product was not refused")
        #expect(failure.code == .invalidProduct)
        #expect(!failure.reason.isEmpty)
        await device.connection.close()
    }

    private func verifyOwned() async throws {
        var device = try await session()
        let restored = try await device.connection.restore()
        #expect(restored.map(\.productID) == [pack], "restore returns the products that can be owned")
        let known = try await device.connection.ownedTransactions().map(\.id)
        #expect(
            known.isEmpty || known == restored.map(\.id),
            "the owned transactions, if the connection has any, are those that restore returns")
        try await device.connection.add(Payment(id: "contract-6", productID: pack))
        let owned = try #require(await device.purchase(for: "contract-6"))
        #expect(owned.alreadyOwned)
        #expect(owned.transaction.id == restored.first?.id)
        try await device.connection.finish(owned.transaction.id)
        await device.connection.close()
    }

    /// Each reader first gets the last known storefront, and the streams end when the connection is closed.
    private func verifyStreams() async throws {
        let connection = try await connect()
        let storefront = try await connection.storefront()
        for _ in 1...2 {
            var updates = connection.storefrontUpdates.makeAsyncIterator()
            #expect(await updates.next() == storefront, "the last known storefront comes first")
        }
        await connection.close()
        for await _ in connection.storefrontUpdates {}
        for await _ in connection.messages {}
    }

    private func verifyClosing() async throws {
        let connection = try await connect()
        let updates = connection.updates
        let reader = Task { for await _ in updates {} }
        await connection.close()
        await reader.value
    }
}
