import Foundation
import PluginHub
import Primitives
import Purchases
import StoreKitAdapter
import StoreModel

/// The payloads of the store's messages.
extension StoreHubPlugin {
    /// Returns one entry for each feature. A feature is active if a purchase gives it now, and `until` is the latest
    /// end of these purchases. `until` is absent if one of them has no end. Without an active purchase, `until` is the
    /// latest end of the inactive ones.
    static func payload(_ features: PaidFeatures, at now: Date) -> JSONObject {
        let byName = Dictionary(grouping: features.features, by: \.name)
        let entries = byName.keys.sorted().map { name -> JSONValue in
            let active = (byName[name] ?? []).filter { $0.isActive(at: now) }
            var entry: JSONValue = ["name": .string(name), "isActive": .bool(!active.isEmpty)]
            let ends = (active.isEmpty ? byName[name] ?? [] : active).map(\.endDate)
            if !ends.contains(nil), let last = ends.compactMap({ $0 }).max() {
                entry["until"] = .string(RFC3339.string(from: last))
            }
            return entry
        }
        return ["features": .array(entries)]
    }

    static func payload(of product: StoreProduct) -> JSONValue {
        [
            "productID": .string(product.id.rawValue), "kind": .string(product.kind.rawValue),
            "displayName": .string(product.displayName), "displayPrice": .string(product.displayPrice),
            "price": ["amount": .string("\(product.price.amount)"), "currency": .string(product.price.currency)],
        ]
    }

    static func codeAndMessage(of error: any Error) -> (code: String, message: String) {
        switch error {
        case let error as PurchaseError: (error.code.rawValue, error.reason)
        case let error as PluginError: (error.code.rawValue, error.sentence)
        case is CancellationError: ("operationCancelled", "The operation was cancelled.")
        default: ("failed", "\(error)")
        }
    }

    static func payload(_ error: any Error) -> JSONValue {
        let (code, message) = codeAndMessage(of: error)
        return ["code": .string(code), "message": .string(message)]
    }

    static func payload(_ event: StoreEvent) -> JSONObject {
        var payload: JSONObject = [
            "type": .string(event.kind.rawValue), "code": .string(event.code.rawValue),
            "message": .string(event.sentence),
        ]
        payload["productID"] = event.productID.map { .string($0.rawValue) }
        payload["transactionID"] = event.transactionID.map { .string($0.rawValue) }
        return payload
    }

    static func payload(_ messages: [StoreMessage]) -> JSONObject {
        let entries = messages.map { message in
            var entry: JSONValue = ["messageID": .string(message.id), "reason": .string(message.reason.rawValue)]
            if let product = message.productID { entry["productID"] = .string(product.rawValue) }
            return entry
        }
        return ["messages": .array(entries)]
    }

    /// Returns the payload of a diagnostic. Contains only the code of an error, because its text may be confidential.
    static func payload(_ diagnostic: PurchaseDiagnostic) -> JSONObject {
        var payload: JSONObject = ["operation": .string(diagnostic.operation)]
        payload["plugin"] = diagnostic.pluginName.map { .string($0) }
        payload["from"] = (diagnostic.origin?.source.rawValue).map { .string($0) }
        payload["asOf"] = jsonDate(diagnostic.origin?.asOf)
        payload["age"] = diagnostic.age.map { .number(Int64($0)) }
        payload["error"] = diagnostic.error.map { .string(codeAndMessage(of: $0).code) }
        return payload
    }

    static func payload(_ snapshot: StoreSnapshot, postponed: [PromotedPurchase]) -> JSONObject {
        func list(_ products: Set<String>) -> JSONValue { .array(products.sorted().map { .string($0) }) }
        var payload: JSONObject = [
            "allowed": list(snapshot.allowedProducts), "purchased": list(snapshot.purchasedProducts),
            "acquired": list(snapshot.acquiredProducts), "downloaded": list(snapshot.downloadedContentProducts),
            "postponed": .array(postponed.map { .string($0.productID.rawValue) }),
        ]
        payload["customer"] = snapshot.customer.map { .string($0.rawValue) }
        payload["subscription"] = snapshot.subscriptionInfo.map { info in
            [
                "productID": .string(info.productID), "isExpired": .bool(info.isExpired),
                "until": .string(RFC3339.string(from: info.subscription.effectiveUntil)),
            ]
        }
        payload["validatedAt"] = jsonDate(snapshot.receiptValidationStatus?.validatedAt)
        payload["failingSince"] = jsonDate(snapshot.receiptValidationStatus?.failingSince)
        payload["locale"] = snapshot.appStoreLocale.map { .string($0) }
        return payload
    }

    static func jsonDate(_ date: Date?) -> JSONValue? { date.map { .string(RFC3339.string(from: $0)) } }
}

extension PaidFeature {
    /// The first instant without the feature; `nil` if it does not end.
    var endDate: Date? {
        switch paymentType {
        case .subscription(let periods): periods.current.endDate
        case .until(let end): end
        case .oneOff, .consumable: nil
        }
    }
}
