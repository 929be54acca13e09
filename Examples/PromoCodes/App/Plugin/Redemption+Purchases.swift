import Foundation
import Purchases

extension Feature {
    init(_ redemption: Redemption) {
        self.init(name: redemption.feature, startDate: redemption.redeemedAt, endDate: redemption.endsAt)
    }
}

extension PaidFeature {
    /// A customer can redeem a code only once, so the code identifies the purchase. Two reports of a redemption are
    /// merged.
    init(_ redemption: Redemption) {
        self.init(
            name: redemption.feature, productIdentifier: PromoCode(redemption.code).productIdentifier,
            originalTransactionID: redemption.code, paymentType: redemption.endsAt.map { .until($0) } ?? .oneOff,
            transactionType: .web, authority: .server)
    }
}

extension Product {
    init(_ description: CodeDescription) {
        self.init(
            productIdentifier: PromoCode(description.code).productIdentifier, price: 0,
            localizedTitle: description.title)
    }
}

/// A code as a product. Its identifier begins with `promo.`, which no other plugin uses.
struct PromoCode {
    private static let prefix = "promo."

    let code: String

    init(_ code: String) { self.code = code }

    /// `nil` for another plugin's product.
    init?(productIdentifier: String) {
        guard productIdentifier.hasPrefix(Self.prefix) else { return nil }
        code = String(productIdentifier.dropFirst(Self.prefix.count))
    }

    var productIdentifier: String { Self.prefix + code }
}
