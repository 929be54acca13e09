import AppStorePayloads
import SimulatorControl
import AppStoreSimulator
import Foundation
import HTTPCore
import InAppStore
import Primitives
import Purchases
import SignedData
import StoreKitAdapter
import StoreModel

/// The steps of the demonstration. Each returns a description of its actions and checks. It throws a `DemoFault` if a
/// check fails, and a `DemoSkip` if the step is not possible.
struct DemoScenario {
    let world: DemoWorld
    let phone: DemoDevice
    private let isQuiet: Bool
    private var subscribed: CatalogueItem?
    private var hasUnlocked = false
    private var lastTransaction: TransactionID?

    init(world: DemoWorld, phone: DemoDevice, isQuiet: Bool) {
        self.isQuiet = isQuiet
        self.world = world
        self.phone = phone
    }

    /// Runs all steps, up to the first that fails. If a process has ended, reports that instead of the error that it
    /// caused.
    mutating func run(reportingTo report: inout DemoReport) async {
        for step in DemoStep.allCases {
            let isFine = await report.run(step) {
                let detail: String
                do {
                    detail = try await perform(step)
                } catch {
                    try await world.checkProcesses()
                    throw error
                }
                try await world.checkProcesses()
                if let fault = phone.monitor.faults.first { throw DemoFault(fault) }
                return detail
            }
            guard isFine, !Task.isCancelled else { break }
        }
        report.close()
    }

    private mutating func perform(_ step: DemoStep) async throws -> String {
        switch step {
        case .products: try await products()
        case .subscription: try await subscription()
        case .nonConsumable: try await nonConsumable()
        case .consumable: try await consumable()
        case .grant: try await grant()
        case .sources: try await sources()
        case .renewal: try await renewal()
        case .cancellation: try await cancellation()
        case .expiry: try await expiry()
        case .googlePlay: try await googlePlay()
        case .serverKilled: try await serverKilled()
        case .repeated: try await repeated()
        case .tampered: try await tampered()
        case .forged: try await forged()
        case .otherBundle: try await otherBundle()
        case .otherRoot: try await otherRoot()
        case .restore: try await restore()
        }
    }

    // MARK: - Buying

    private func products() async throws -> String {
        let expected = world.catalogue.items.count
        let shown = try await eventually("the screen shows \(expected) products") {
            let shown = try phone.products()
            return shown.count == expected ? shown : nil
        }
        let texts = shown.map { product in
            "\(product["displayName"]?.stringValue ?? "?") \(product["displayPrice"]?.stringValue ?? "?")"
        }
        guard !shown.contains(where: { $0["displayPrice"]?.stringValue?.isEmpty ?? true }) else {
            throw DemoFault("a product has no price: \(texts.joined(separator: ", "))")
        }
        return "\(expected) products with localised prices: \(texts.joined(separator: ", "))"
    }

    private mutating func subscription() async throws -> String {
        let item = try cheapest(.autoRenewableSubscription)
        let detail = try await buy(item)
        subscribed = item
        let answer = try await world.customerAnswer()
        guard let entry = answer.subscriptions.first(where: { $0.productID == item.id }), entry.state == .active else {
            throw DemoFault("the server does not know an active subscription of \(item.id)")
        }
        try await checkActive(item, true)
        return "\(detail); gives \(world.demoProducts.feature(of: item)) until \(RFC3339.string(from: entry.expiresAt))"
    }

    private mutating func nonConsumable() async throws -> String {
        let item = try cheapest(.nonConsumable)
        let detail = try await buy(item)
        hasUnlocked = true
        try await checkActive(item, true)
        return "\(detail); \(try await fetchContent(of: item))"
    }

    /// Lets the app fetch the content of a product, and compares it with the original.
    private func fetchContent(of item: CatalogueItem) async throws -> String {
        var display = ContentDisplay("  fetching content", isQuiet: isQuiet)
        var received = 0
        do {
            try await phone.fetchContent(of: item.id) { progress in
                guard let bytes = progress["received"]?.intValue, let total = progress["total"]?.intValue else {
                    return
                }
                received = bytes
                display.show(bytes, of: total)
            }
        } catch {
            display.end()
            throw error
        }
        display.end()
        guard received == world.content.size, world.content.isIntact(in: phone.store.contentLocation(item.id.rawValue))
        else { throw DemoFault("the content of \(item.id) is not what the simulator serves") }
        return "its content fetched, \(ContentDisplay.megabytes(received)) MB, SHA-256 as the product list says"
    }

    private mutating func consumable() async throws -> String {
        let item = try cheapest(.consumable)
        let detail = try await buy(item)
        let purchases = try await world.customerAnswer().purchases
        guard purchases.contains(where: { $0.productID == item.id }) else {
            throw DemoFault("the server does not list the purchase of \(item.id)")
        }
        return detail
    }

    /// Buys through the hub. Checks that the transaction is acknowledged and finished once, and that its signature is
    /// valid.
    private mutating func buy(_ item: CatalogueItem) async throws -> String {
        let result = try await phone.buy(item.id)
        guard result["outcome"] == "purchased",
            let id = result["transactionID"]?.stringValue.flatMap(TransactionID.init(rawValue:))
        else { throw DemoFault("buying \(item.id) ended with \(JSONValue.object(result))") }
        try await checkDelivered(id)
        let verified = try await world.verifier().transaction(await signedTransaction(id))
        guard verified.payload.productId == item.id.rawValue else {
            throw DemoFault("transaction \(id) was signed for \(verified.payload.productId ?? "nothing")")
        }
        lastTransaction = id
        return "\(item.id) \(price(of: verified.payload, item)): signed, verified, acknowledged, then finished"
    }

    /// The price paid, as text; with an introductory offer, also the full price.
    private func price(of payload: JWSTransactionDecodedPayload, _ item: CatalogueItem) -> String {
        let full = "\(item.price.amount) \(item.price.currency)"
        guard payload.offerType != nil, let milliunits = payload.price else { return "for \(full)" }
        let paid = Price(milliunits: Int64(milliunits), currency: item.price.currency)
        return "for \(paid.amount) \(paid.currency) (an introductory offer, then \(full))"
    }

    private func checkDelivered(_ id: TransactionID) async throws {
        guard phone.monitor.isAcknowledged(id.rawValue) else {
            throw DemoFault("the server did not acknowledge transaction \(id)")
        }
        _ = try await eventually("transaction \(id) is finished at the store") {
            phone.monitor.timesFinished(id.rawValue) > 0 ? try await world.unfinished().contains(id) ? nil : true : nil
        }
        guard phone.monitor.timesFinished(id.rawValue) == 1 else {
            throw DemoFault("transaction \(id) was finished \(phone.monitor.timesFinished(id.rawValue)) times")
        }
    }

    private func signedTransaction(_ id: TransactionID) async throws -> String {
        guard let found = try await world.transactions().last(where: { $0.transactionID == id }) else {
            throw DemoFault("the store does not list transaction \(id)")
        }
        return found.signedTransaction
    }

    private func cheapest(_ kind: ProductType) throws -> CatalogueItem {
        let items = world.catalogue.items.filter { $0.kind == kind }
        guard let item = items.min(by: { ($0.price.amount, $0.id) < ($1.price.amount, $1.id) }) else {
            throw DemoSkip("the catalogue has no product of this kind")
        }
        return item
    }

    // MARK: - Features

    private func grant() async throws -> String {
        let feature = "thank-you"
        let answer = try await world.backend.ask(
            .post, world.customerPath + "/grants", GrantRequest(feature: feature, reason: "a demonstration"),
            as: Customer.self)
        guard answer.features.contains(where: { $0.name == feature && $0.isActive && $0.source == .grant }) else {
            throw DemoFault("the server did not answer with the granted feature")
        }
        let merged = try await phone.client.getPaidFeatures()
        let now = world.clock.now()
        guard merged.hasActiveFeature(with: feature, at: now) else {
            throw DemoFault("the grant does not appear among the app's features")
        }
        let bought = [subscribed, hasUnlocked ? try cheapest(.nonConsumable) : nil].compactMap { item in
            item.map(world.demoProducts.feature)
        }
        for name in bought where !merged.hasActiveFeature(with: name, at: now) {
            throw DemoFault("\(name) is missing beside the grant")
        }
        return "\"\(feature)\" granted on the server, merged with \(bought.count) bought in the app"
    }

    /// Checks that server and app agree on whether the feature of `item` is active.
    private func checkActive(_ item: CatalogueItem, _ expected: Bool) async throws {
        try await checkActive(world.demoProducts.feature(of: item), expected)
    }

    /// Checks that server and app agree on whether a feature is active.
    func checkActive(_ name: String, _ expected: Bool) async throws {
        let isActive = try await world.customerAnswer().features.contains { $0.name == name && $0.isActive }
        guard isActive == expected else {
            throw DemoFault("in the server's answer, \(name) is \(isActive ? "active" : "not active")")
        }
        _ = try await eventually("the app sees \(name) \(expected ? "active" : "not active")") {
            let features = try await phone.client.getPaidFeatures()
            return features.hasActiveFeature(with: name, at: world.clock.now()) == expected ? true : nil
        }
    }

    // MARK: - Time

    private func currentSubscription() async throws -> (item: CatalogueItem, entry: CustomerSubscription) {
        guard let item = subscribed else { throw DemoSkip("the catalogue has no subscription") }
        guard let entry = try await world.customerAnswer().subscriptions.first(where: { $0.productID == item.id })
        else { throw DemoFault("the server no longer knows the subscription") }
        return (item, entry)
    }

    private func renewal() async throws -> String {
        let (item, before) = try await currentSubscription()
        try await world.advance(to: before.expiresAt.addingTimeInterval(1))
        let after = try await eventually("the renewal of \(item.id) reaches the server") {
            let entry = try await currentSubscription().entry
            return entry.expiresAt > before.expiresAt ? entry : nil
        }
        try await checkActive(item, true)
        guard after.originalTransactionID == before.originalTransactionID else {
            throw DemoFault("the renewal belongs to another original transaction")
        }
        if let renewed = try await world.transactions().last(where: { $0.productID == item.id }) {
            try await checkDelivered(renewed.transactionID)
        }
        return "time passed and it renewed by itself, until \(RFC3339.string(from: after.expiresAt))"
    }

    private func cancellation() async throws -> String {
        let (item, _) = try await currentSubscription()
        _ = try await world.control.ask(
            .post, "/accounts/\(world.account)/cancel", StoreControlWire.Cancel(productID: item.id),
            as: StoreControlWire.Transaction.self)
        let entry = try await eventually("the server learns of the cancellation") {
            let entry = try await currentSubscription().entry
            return entry.autoRenews == false ? entry : nil
        }
        try await checkActive(item, true)
        return "renewal is off; still active until \(RFC3339.string(from: entry.expiresAt))"
    }

    private func expiry() async throws -> String {
        let (item, entry) = try await currentSubscription()
        try await world.advance(to: entry.expiresAt.addingTimeInterval(-0.001))
        try await checkActive(item, true)
        try await world.advance(to: entry.expiresAt)
        try await checkActive(item, false)
        return
            "\(world.demoProducts.feature(of: item)) is active a millisecond before \(RFC3339.string(from: entry.expiresAt)), off at that instant"
    }

    // MARK: - Failures

    private mutating func serverKilled() async throws -> String {
        let item = try await somethingToBuy()
        let before = Set(try await world.transactions().map(\.transactionID))
        phone.monitor.beforeNextPresentation { [world] in await world.killServer() }
        let result = try await phone.buy(item.id)
        guard result["error"]?["code"] == "acknowledgementPending" else {
            throw DemoFault("with the server killed, buying \(item.id) ended with \(JSONValue.object(result))")
        }
        guard let id = try await world.transactions().map(\.transactionID).last(where: { !before.contains($0) }) else {
            throw DemoFault("the store has no transaction of the purchase")
        }
        guard phone.monitor.timesFinished(id.rawValue) == 0, try await world.unfinished().contains(id) else {
            throw DemoFault("transaction \(id) was finished although no server had acknowledged it")
        }
        try await world.restartServer()
        _ = try await eventually("the restarted server acknowledges transaction \(id)") {
            phone.monitor.isAcknowledged(id.rawValue) ? true : nil
        }
        try await checkDelivered(id)
        let answer = try await world.customerAnswer()
        let count =
            answer.purchases.filter { $0.transactionID == id }.count
            + answer.subscriptions.filter { $0.productID == item.id }.count
        guard count == 1 else { throw DemoFault("transaction \(id) counts \(count) times") }
        lastTransaction = id
        return
            "server killed during the purchase of \(item.id); after its restart the purchase was acknowledged and finished once"
    }

    /// An item that the customer can buy: any item except an owned non-consumable. The subscription has expired in an
    /// earlier step.
    private func somethingToBuy() async throws -> CatalogueItem {
        let owned = Set(
            try await world.customerAnswer().purchases.filter { $0.kind == .nonConsumable }.map(\.productID))
        let kinds: [ProductType] = [
            .consumable, .autoRenewableSubscription, .nonRenewingSubscription, .nonConsumable,
        ]
        let candidates = kinds.compactMap { kind in
            world.catalogue.items.first { $0.kind == kind && !owned.contains($0.id) }
        }
        guard let item = candidates.first else {
            throw DemoSkip("the customer already owns every product of the catalogue")
        }
        return item
    }

    private func repeated() async throws -> String {
        let jws = try await anyTransaction()
        _ = try await present(jws)
        let before = try await world.ledgerState()
        let again = try await present(jws)
        let after = try await world.ledgerState()
        guard again.status == 200, before == after else {
            throw DemoFault("presenting the same transaction again changed the ledger: \(before) became \(after)")
        }
        return "the same transaction again: acknowledged, \(after.facts) facts as before, nothing granted twice"
    }

    private func tampered() async throws -> String {
        var parts = try await anyTransaction().split(separator: ".").map(String.init)
        guard var payload = Base64.decodeURL(parts[1]).flatMap({ try? JSONValue(parsing: $0) }) else {
            throw DemoFault("the store's transaction is not a JWS of three parts")
        }
        payload["quantity"] = 10
        parts[1] = Base64.encodeURL(payload.encoded())
        return try await refused(parts.joined(separator: "."), "signatureInvalid", "a changed payload")
    }

    private func forged() async throws -> String {
        let parts = try await anyTransaction().split(separator: ".").map(String.init)
        let input = "\(parts[0]).\(parts[1])"
        let signature = try SigningKey.generate().signature(of: Array(input.utf8))
        return try await refused(
            "\(input).\(Base64.encodeURL(signature))", "signatureInvalid", "a signature by another key")
    }

    private func otherBundle() async throws -> String {
        let signer = JWSSigner(try SigningChain.open(in: URL(fileURLWithPath: world.simulatorFolder)))
        var payload = try await payloadOfAnyTransaction()
        payload["bundleId"] = "com.example.another"
        return try await refused(
            try signer.sign(payload.encoded()), "wrongBundle", "correctly signed, for another bundle")
    }

    private func otherRoot() async throws -> String {
        let signer = JWSSigner(try SigningChain.generate())
        let payload = try await payloadOfAnyTransaction()
        return try await refused(try signer.sign(payload.encoded()), "untrustedRoot", "a chain from another root")
    }

    private func anyTransaction() async throws -> String {
        guard let lastTransaction else { throw DemoSkip("nothing was bought") }
        return try await signedTransaction(lastTransaction)
    }

    private func payloadOfAnyTransaction() async throws -> JSONValue {
        try UnverifiedJWS(unverified: try await anyTransaction()).unverifiedPayload
    }

    private func present(_ jws: String) async throws -> ServiceClient.Answer {
        try await world.app.send(
            .post, world.customerPath + "/transactions", ["signedTransaction": .string(jws)])
    }

    /// Presents false data, and checks that the server rejects it for the right reason and changes nothing.
    private func refused(_ jws: String, _ code: String, _ what: String) async throws -> String {
        let before = try await world.ledgerState()
        let answer = try await present(jws)
        guard answer.status == 422, answer.json["code"]?.stringValue == code else {
            throw DemoFault("\(what) was answered with \(answer.status) \(answer.json)")
        }
        guard try await world.ledgerState() == before else { throw DemoFault("\(what) changed the ledger") }
        return "\(what): refused, \(code)"
    }

    private func restore() async throws -> String {
        let tablet = try await world.launchDevice("tablet")
        let result = try await tablet.restore()
        guard result["error"] == nil else { throw DemoFault("restoring ended with \(JSONValue.object(result))") }
        let now = world.clock.now()
        let expected = Set(try await phone.client.getPaidFeatures().activeFeatures(at: now).map(\.name))
        let actual = Set(try await tablet.client.getPaidFeatures().activeFeatures(at: now).map(\.name))
        guard actual == expected else {
            throw DemoFault("the second device has \(actual.sorted()), the first \(expected.sorted())")
        }
        let count = result["restored"]?.arrayValue?.count ?? 0
        return "a second device restored \(count == 1 ? "one product" : "\(count) products") and may use the same: "
            + (expected.isEmpty ? "nothing" : expected.sorted().joined(separator: ", "))
    }
}
