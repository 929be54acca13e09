import PluginHub
import Primitives
import Purchases
import StoreKitAdapter
import StoreModel

/// The commands of the store. Each reports its result with one or more events.
extension StoreHubPlugin {
    func purchase(_ id: String, quantity: Int, offer: String?, id message: MessageID?) async {
        await reportPurchase(of: id, as: message) {
            let purchase =
                if let offer {
                    try await buy(id, with: offer)
                } else {
                    try await client.purchase(Product(productIdentifier: id), quantity: quantity)
                }
            return (purchase.transaction, purchase.isPendingAcknowledgement)
        }
    }

    func continuePurchase(_ id: String, id message: MessageID?) async {
        await reportPurchase(of: id, as: message) {
            let purchase = try await store.continuePurchase(id)
            return (purchase.transaction, purchase.isPendingAcknowledgement)
        }
    }

    /// Sends the result of a purchase: its transaction, and whether the server has acknowledged it, or its error.
    private func reportPurchase(
        of product: String, as message: MessageID?, _ purchase: () async throws -> (StoreTransaction?, isPending: Bool)
    ) async {
        var result: JSONObject = ["productID": .string(product)]
        do {
            let (transaction, isPending) = try await purchase()
            result["outcome"] = isPending ? "pendingAcknowledgement" : "purchased"
            result["transactionID"] = transaction.map { .string($0.id.rawValue) }
        } catch {
            let code = Self.codeAndMessage(of: error).code
            result["outcome"] = .string(Self.outcomes[code] ?? "failed")
            result["error"] = Self.payload(error)
        }
        emit("store.purchaseResult", result, id: message)
    }

    /// Buys a product with an offer. To sign the offer, a plugin needs the App Store's description of the product. A
    /// product that is not in the list has no such description; another plugin may sell it.
    private func buy(_ id: String, with offer: String) async throws -> SuccessfulPurchase {
        let known = try await store.list[id] == nil ? nil : store.fetchProductsInfo([id])[id]
        let product = known.map { Product($0) } ?? Product(productIdentifier: id)
        return try await client.purchase(product, with: promoOffer(offer, of: product))
    }

    /// Returns the offer with a plugin's signature. If no plugin can sign, returns it without a signature, which some
    /// stores do not require.
    private func promoOffer(_ identifier: String, of product: Product) async throws -> PromoOffer {
        let discount =
            product.discounts.first { $0.identifier == identifier }
            ?? ProductDiscount(identifier: identifier, type: .promotional)
        do {
            return try await client.getPromotionalOffer(for: discount, product: product)
        } catch let error as PurchaseError where error.code == .noSuitablePlugin {
            return PromoOffer(productDiscount: discount, identifier: identifier)
        }
    }

    private static let outcomes = [
        "cancelledByUser": "cancelled", "operationCancelled": "cancelled", "purchaseDeferred": "deferred",
        "acknowledgementPending": "pendingAcknowledgement",
    ]

    func redeemOfferCode(_ code: String?, id: MessageID?) async {
        var result: JSONObject = [:]
        do {
            try await store.redeemOfferCode(code)
        } catch {
            result["error"] = Self.payload(error)
        }
        emit("store.offerCodeRedeemed", result, id: id)
    }

    func answer(_ message: StoreMessage.ID, with answer: StoreMessage.Answer, id: MessageID?) async {
        var result: JSONObject = ["messageID": .string(message)]
        do {
            try await store.answer(message, with: answer)
        } catch {
            result["error"] = Self.payload(error)
        }
        emit("store.messageAnswered", result, id: id)
    }

    func restore(id: MessageID?) async {
        do {
            let result = try await client.restorePurchases()
            emit(
                "store.restoreResult",
                [
                    "restored": .array(result.restored.map { .string($0) }),
                    "nothingToRestore": .bool(result.nothingToRestore),
                ], id: id)
        } catch {
            emit(
                "store.restoreResult",
                [
                    "restored": [], "nothingToRestore": false,
                    "error": Self.payload(error),
                ], id: id)
        }
    }

    func acquireAll(id: MessageID?) async {
        do {
            try await store.acquireAllEnabledProducts()
            let acquired = store.acquiredViaSubscriptionProducts.sorted().map { JSONValue.string($0) }
            emit("store.acquired", ["productIDs": .array(acquired)], id: id)
        } catch {
            subjects["store.acquired"]?.send(EventOutput(result: .failure(error), correlationId: id))
        }
    }

    func fetchContent(_ product: String, id: MessageID?) async {
        do {
            for try await progress in store.fetchProductContent(product) {
                var payload: JSONObject = ["productID": .string(product), "received": .number(progress.received)]
                payload["total"] = progress.total.map { .number($0) }
                payload["isComplete"] = .bool(progress.isComplete)
                emit("store.contentProgress", payload, id: id)
            }
        } catch {
            subjects["store.contentProgress"]?.send(EventOutput(result: .failure(error), correlationId: id))
        }
    }

    func deleteContent(_ product: String, id: MessageID?) async {
        do {
            try await store.deleteProductContent(product)
            emit("store.contentDeleted", ["productID": .string(product)], id: id)
        } catch {
            subjects["store.contentDeleted"]?.send(EventOutput(result: .failure(error), correlationId: id))
        }
    }

    func validate(id: MessageID?) async {
        var result: JSONObject = [:]
        do {
            try await store.validateReceipt()
        } catch {
            result["error"] = Self.payload(error)
        }
        result["validatedAt"] = Self.jsonDate(store.receiptValidationStatus?.validatedAt)
        emit("store.validated", result, id: id)
    }
}
