import HTTPCore
import Primitives
import SimulatorControl
import StoreModel

/// The Google Play of the demonstration, as the simulator announces it.
struct DemoGooglePlay: Sendable {
    let packageName: String
    /// The options with which the server uses it.
    let serverOptions: [String]

    /// Reads the member `googlePlay` of the simulator's first line.
    init(_ announced: JSONValue) throws {
        guard let url = announced["url"]?.stringValue, let packageName = announced["packageName"]?.stringValue,
            let account = announced["serviceAccount"]?.stringValue, let key = announced["publicKey"]?.stringValue
        else { throw Failure("the simulator's first line does not describe its Google Play") }
        self.packageName = packageName
        serverOptions = [
            "--play-package", packageName, "--play-service-account", account, "--play-public-key", key, "--play-url",
            url,
        ]
    }
}

extension DemoScenario {
    private static let playProduct: ProductID = "plus"

    /// Buys a subscription on an Android phone, in euros. Checks that its feature is active on the iPhone, that Google Play
    /// learns of the delivery, and that a refund ends the feature.
    func googlePlay() async throws -> String {
        guard world.googlePlay != nil else { throw DemoSkip("the catalogue has no products of Google Play") }
        let bought = try await world.control.ask(
            .post, "/accounts/\(world.account)/play-buy",
            StoreControlWire.PlayBuy(productID: Self.playProduct, basePlanID: "monthly", regionCode: "DE"),
            as: StoreControlWire.SignedPlayPurchase.self)
        let entry = try await present(bought)
        guard entry.state == .active, let page = entry.managementURL else {
            throw DemoFault("the server does not know an active subscription of Google Play")
        }
        let features = world.demoProducts.features.features(of: Self.playProduct, kind: .autoRenewableSubscription)
        for name in features { try await checkActive(name, true) }
        let path = "/play/purchases/\(bought.purchaseToken)"
        _ = try await eventually("the server acknowledges the purchase at Google Play") {
            let purchase = try await world.control.ask(.get, path, as: StoreControlWire.PlayPurchase.self)
            return purchase.isAcknowledged ? true : nil
        }
        _ = try await world.control.ask(
            .post, path + "/refund", StoreControlWire.PlayRefund(), as: StoreControlWire.PlayPurchase.self)
        guard try await present(bought).state == .revoked else {
            throw DemoFault("the server does not know the refund at Google Play")
        }
        for name in features { try await checkActive(name, false) }
        return """
            \(bought.productId) bought on an Android phone, active on the iPhone, acknowledged, refunded, off again; managed \
            at \(page)
            """
    }

    /// Sends a purchase to the server, as the Android app does. Returns the server's answer about it.
    private func present(_ bought: StoreControlWire.SignedPlayPurchase) async throws -> CustomerSubscription {
        let reply = try await world.app.send(
            .post, world.customerPath + "/play-purchases",
            [
                "packageName": .string(bought.packageName), "productId": .string(bought.productId.rawValue),
                "purchaseToken": .string(bought.purchaseToken), "signedData": .string(bought.signedData),
                "signature": .string(bought.signature),
            ])
        guard reply.status == 200,
            reply.json["acknowledgedPurchaseTokens"]?[0]?.stringValue == bought.purchaseToken
        else { throw DemoFault("the server answered a purchase of Google Play with \(reply.status) \(reply.json)") }
        guard let entry = try await world.customerAnswer().subscriptions.first(where: { $0.source == .googlePlay })
        else {
            throw DemoFault("the server does not list the subscription of Google Play")
        }
        return entry
    }
}
