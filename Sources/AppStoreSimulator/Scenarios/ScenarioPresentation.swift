import Foundation
import HTTPCore
import Primitives
import StoreModel

/// Purchases that an app presents to the server.
struct ScenarioPresentation: Sendable {
    private enum Purchases {
        /// The transactions that an app on a device of the account finds.
        case transactions(AccountName)
        /// A purchase of Google Play, by the name of a step or its token.
        case playPurchase(String)
    }

    private let purchases: Purchases
    private let customer: CustomerID

    private static let limit = 100

    /// Reads the transactions of an `account` for a `customer`.
    static func transactions(_ place: JSONPlace, _ context: ScenarioContext) throws -> ScenarioPresentation {
        try context.requireServer(place, "present")
        try place.checkMembers(["account", "customer"], of: "present")
        return ScenarioPresentation(
            purchases: .transactions(try place.require("account").identifier(AccountName.self)),
            customer: try place.require("customer").identifier(CustomerID.self))
    }

    /// Reads a `purchase` of Google Play for a `customer`.
    static func playPurchase(_ place: JSONPlace, _ context: ScenarioContext) throws -> ScenarioPresentation {
        try context.requireServer(place, "playPresent")
        try place.checkMembers(["purchase", "customer"], of: "playPresent")
        let purchase = try place.require("purchase")
        let text = try purchase.text(1...255)
        try ScenarioCall.check(text, at: purchase, context.names)
        return ScenarioPresentation(
            purchases: .playPurchase(text), customer: try place.require("customer").identifier(CustomerID.self))
    }

    /// Creates the requests of the app. `names` has the tokens by the names of steps.
    ///
    /// Throws `SimulatorError`, also if there is nothing to present.
    func requests(_ store: SimulatedAppStore, _ names: [String: String]) async throws -> [HTTPRequest] {
        let path = "/v1/customers/\(PercentEncoding.encode(customer.rawValue))"
        switch purchases {
        case .transactions(let account):
            var signed: [(id: TransactionID, transaction: String)] = []
            let unfinished = try await store.unfinishedTransactions(of: account)
            for transaction in try await unfinished + store.entitlements(of: account)
            where !signed.contains(where: { $0.id == transaction.transactionID }) {
                signed.append((transaction.transactionID, transaction.signedTransaction))
            }
            guard !signed.isEmpty else {
                throw SimulatorError(.notNow, "The account \(account) has no transaction to present.")
            }
            return stride(from: 0, to: signed.count, by: Self.limit).map { start in
                let part = signed[start..<min(start + Self.limit, signed.count)]
                return HTTPRequest(
                    method: .post, url: path + "/transactions",
                    json: ["signedTransactions": .array(part.map { .string($0.transaction) })])
            }
        case .playPurchase(let name):
            let purchase = try await store.playPurchase(names[name] ?? name)
            let body: JSONValue = [
                "packageName": .string(try store.requireGooglePlay().catalogue.packageName.rawValue),
                "productId": .string(purchase.productID.rawValue), "purchaseToken": .string(purchase.purchaseToken),
            ]
            return [HTTPRequest(method: .post, url: path + "/play-purchases", json: body)]
        }
    }
}
