import Foundation
import PluginHub
import Primitives
import Purchases
import StoreKitAdapter
import StoreModel

/// The store as a plugin of a hub. Other plugins buy, restore and query with messages, and do not depend on the store.
///
///     hub.register { sender, _ in StoreHubPlugin(messageSender: sender, store: store, client: client) }
///
/// | kind | name | payload that the store receives | payload that the store returns or publishes |
/// |---|---|---|---|
/// | command | `store.purchase` | `{productID, quantity?, offerID?}` | event `store.purchaseResult` `{productID, outcome, transactionID?, error?}` |
/// | command | `store.continuePurchase` | `{productID}` of a postponed purchase | event `store.purchaseResult`, the same |
/// | command | `store.redeemOfferCode` | `{code?}` | event `store.offerCodeRedeemed` `{error?}` |
/// | command | `store.answerMessage` | `{messageID, answer}` | event `store.messageAnswered` `{messageID, error?}` |
/// | command | `store.restore` | | event `store.restoreResult` `{restored, nothingToRestore, error?}` |
/// | command | `store.acquireAll` | | event `store.acquired` `{productIDs}` |
/// | command | `store.fetchContent` | `{productID}` | event `store.contentProgress` `{productID, received, total?, isComplete}` |
/// | command | `store.deleteContent` | `{productID}` | event `store.contentDeleted` `{productID}` |
/// | command | `store.validate` | | event `store.validated` `{validatedAt?, error?}` |
/// | query | `store.products` | | `{products}` |
/// | query | `store.allowedProducts` | | `{productIDs}` |
/// | query | `store.features` | | `{features: [{name, isActive, until?}]}` |
/// | query | `store.status` | | `{customer, allowed, purchased, acquired, downloaded, postponed, subscription?, validatedAt?, failingSince?, locale?}` |
/// | event | `store.featuresChanged` | | `{features}`, the current value first |
/// | event | `store.messages` | | `{messages: [{messageID, reason, productID?}]}`, all open messages, the current value first |
/// | event | `store.event` | | `{type, code, message, productID?, transactionID?}` |
/// | event | `store.diagnostic` | | `{operation, plugin?, from?, asOf?, age?, error?}`: a call of a purchase plugin |
/// | view query | `store.storefront` | | products with prices, and a button to buy each |
///
/// The event that answers a command carries the command's id. `outcome` is `purchased`, `pendingAcknowledgement`,
/// `deferred`, `cancelled` or `failed`. With another outcome than `purchased`, the payload has `error: {code,
/// message}`, except for a provisional purchase, which is `pendingAcknowledgement`. If `store.acquireAll`,
/// `store.fetchContent` or `store.deleteContent` fails, its event is a failure.
public final class StoreHubPlugin: PluginProtocol {
    /// The policy of the plugin, the same as in `store.policy.json` next to this file.
    public static let policy = Policy(
        name: "store",
        receive: .init(
            commands: [
                "store.purchase", "store.continuePurchase", "store.redeemOfferCode", "store.answerMessage",
                "store.restore", "store.acquireAll", "store.fetchContent", "store.deleteContent", "store.validate",
            ],
            queries: ["store.products", "store.allowedProducts", "store.features", "store.status"],
            viewControllerQueries: ["store.storefront"]),
        publish: [
            "store.purchaseResult", "store.offerCodeRedeemed", "store.messageAnswered", "store.restoreResult",
            "store.acquired", "store.contentProgress", "store.contentDeleted", "store.validated",
            "store.featuresChanged", "store.messages", "store.event", "store.diagnostic",
        ])

    private let sender: any MessageSending
    let store: Store
    let client: any PurchaseClientProtocol
    let subjects: [String: EventSubject]
    private let products = Locked<[StoreProduct]>([])
    private let features = Locked(PaidFeatures())
    private let lastSent: Locked<JSONObject>
    /// Waits for the next instant at which a feature ends.
    private let featureTimer = Locked<Task<Void, Never>?>(nil)

    /// Always throws: the plugin needs a store and a purchase client. Register it with a closure that passes them.
    ///
    /// - Parameters:
    ///   - messageSender: Not used.
    ///   - configurationFiles: Not used.
    /// - Throws: `PluginError` with the code `initializationFailed`.
    public convenience init(messageSender: any MessageSending, configurationFiles: [String: String]) throws {
        throw PluginError(
            .initializationFailed,
            "The store's plugin needs a store. Register it with a closure that calls init(messageSender:store:client:)."
        )
    }

    /// Creates a plugin.
    ///
    /// - Parameters:
    ///   - messageSender: The plugin's connection to the hub, which runs the plugin's tasks.
    ///   - store: The store that executes the commands.
    ///   - client: The purchase client that has the store as one of its plugins.
    public init(messageSender: any MessageSending, store: Store, client: any PurchaseClientProtocol) {
        sender = messageSender
        self.store = store
        self.client = client
        let known = store.paidFeatures
        let payload = Self.payload(known, at: store.clock.now())
        features.withLock { $0 = known }
        lastSent = Locked(payload)
        let current = ["store.featuresChanged": payload, "store.messages": Self.payload([])]
        subjects = Dictionary(
            uniqueKeysWithValues: Self.policy.publish.events.map { name in
                let value = current[name].map { EventOutput(result: .success($0), correlationId: nil) }
                return (name, value.map { EventSubject(current: $0) } ?? EventSubject())
            })
        messageSender.context?.run { [weak self] in await self?.relayFeatures() }
        messageSender.context?.run { [weak self] in await self?.relayEvents() }
        messageSender.context?.run { [weak self] in await self?.relayMessages() }
        messageSender.context?.run { [weak self, diagnostics = client.diagnostics] in
            for await diagnostic in diagnostics { self?.emit("store.diagnostic", Self.payload(diagnostic)) }
        }
        messageSender.context?.run { [weak self] in await self?.loadProducts() }
    }

    deinit { featureTimer.withLock { $0 }?.cancel() }

    public var policy: Policy { Self.policy }

    // MARK: - Messages

    public func publisher(forEvent event: Message, payload: JSONObject?) throws -> EventPublisher {
        guard let subject = subjects[event.name] else { throw unsupported(.event, event) }
        return subject.publisher
    }

    public func onReceive(command: Message, payload: JSONObject?) throws {
        let payload = payload ?? [:]
        switch command.name {
        case "store.purchase":
            let product = try payload.require("productID", as: String.self)
            let quantity = payload["quantity"] == nil ? 1 : try payload.require("quantity", as: Int.self)
            let offer = payload["offerID"] == nil ? nil : try payload.require("offerID", as: String.self)
            guard (1...10).contains(quantity) else {
                throw PluginError(.invalidField, "quantity must be an integer from 1 to 10.", message: command.name)
            }
            guard offer == nil || quantity == 1 else {
                throw PluginError(
                    .invalidField, "A purchase with an offer has the quantity 1. Leave quantity out.",
                    message: command.name)
            }
            start { await $0.purchase(product, quantity: quantity, offer: offer, id: command.id) }
        case "store.continuePurchase":
            let product = try payload.require("productID", as: String.self)
            start { await $0.continuePurchase(product, id: command.id) }
        case "store.redeemOfferCode":
            let code = payload["code"] == nil ? nil : try payload.require("code", as: String.self)
            start { await $0.redeemOfferCode(code, id: command.id) }
        case "store.answerMessage":
            let message = try payload.require("messageID", as: String.self)
            let answer = StoreMessage.Answer(rawValue: try payload.require("answer", as: String.self))
            start { await $0.answer(message, with: answer, id: command.id) }
        case "store.restore": start { await $0.restore(id: command.id) }
        case "store.acquireAll": start { await $0.acquireAll(id: command.id) }
        case "store.fetchContent":
            let product = try payload.require("productID", as: String.self)
            start { await $0.fetchContent(product, id: command.id) }
        case "store.deleteContent":
            let product = try payload.require("productID", as: String.self)
            start { await $0.deleteContent(product, id: command.id) }
        case "store.validate": start { await $0.validate(id: command.id) }
        default: throw unsupported(.command, command)
        }
    }

    public func onReceive(query: Message, payload: JSONObject?) throws -> JSONObject {
        switch query.name {
        case "store.products": return ["products": .array(knownProducts().map(Self.payload(of:)))]
        case "store.allowedProducts":
            return ["productIDs": .array(store.allowedProducts.sorted().map { .string($0) })]
        case "store.status": return Self.payload(store.snapshot, postponed: store.postponedPurchases)
        case "store.features": return Self.payload(features.withLock { $0 }, at: store.clock.now())
        default: throw unsupported(.query, query)
        }
    }

    public func onReceive(viewQuery: Message, payload: JSONObject?) throws -> ViewDocument {
        guard viewQuery.name == "store.storefront" else { throw unsupported(.viewQuery, viewQuery) }
        let sections = knownProducts().map { product in
            ViewDocument.Section(
                title: product.displayName, rows: [.text(product.description, product.displayPrice)],
                actions: [
                    .init("store.purchase", label: "Buy", values: ["productID": .string(product.id.rawValue)])
                ])
        }
        return ViewDocument(title: "Store", sections: sections)
    }

    // MARK: - Work

    private func start(_ work: @escaping @Sendable (StoreHubPlugin) async -> Void) {
        sender.context?.run { [weak self] in
            if let self { await work(self) }
        }
    }

    func emit(_ event: String, _ payload: JSONObject, id: MessageID? = nil) {
        subjects[event]?.send(EventOutput(result: .success(payload), correlationId: id))
    }

    // MARK: - Events

    private func relayFeatures() async {
        for await features in client.paidFeaturesUpdates {
            self.features.withLock { $0 = features }
            sendFeatures()
        }
        featureTimer.withLock { $0 }?.cancel()
    }

    /// Sends the current features if they have changed, and schedules the next call for the instant at which the next
    /// feature ends.
    private func sendFeatures() {
        let (features, now) = (features.withLock { $0 }, store.clock.now())
        let payload = Self.payload(features, at: now)
        let isChanged = lastSent.withLock { last in
            defer { last = payload }
            return last != payload
        }
        if isChanged { emit("store.featuresChanged", payload) }
        let next = features.features.compactMap(\.endDate).filter { $0 > now }.min()
        let task = next.map { next in
            Task { [weak self, clock = store.clock] in
                guard (try? await clock.sleep(until: next)) != nil, !Task.isCancelled else { return }
                self?.sendFeatures()
            }
        }
        let former = featureTimer.withLock { current in
            defer { current = task }
            return current
        }
        former?.cancel()
    }

    private func relayMessages() async {
        for await messages in store.messages { emit("store.messages", Self.payload(messages)) }
    }

    private func relayEvents() async {
        for await event in store.events {
            emit("store.event", Self.payload(event))
        }
    }

    /// Returns the loaded products. If none are loaded yet, starts loading them again for the next query.
    private func knownProducts() -> [StoreProduct] {
        let known = products.withLock { $0 }
        if known.isEmpty { start { await $0.loadProducts() } }
        return known
    }

    private func loadProducts() async {
        guard let loaded = try? await store.productList() else { return }
        products.withLock { $0 = loaded }
    }
}
