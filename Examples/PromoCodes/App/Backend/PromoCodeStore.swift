import Foundation
import StoreModel

/// The codes and their redemptions. The caller passes the time.
struct PromoCodeStore: Sendable {
    struct Offer: Sendable {
        var title: String
        var feature: String
        /// The days of access to the feature; `nil` is unlimited.
        var days: Int?
        /// The number of customers who may redeem the code.
        var uses: Int
    }

    enum Refusal: Error { case unknownCode, usedUp }

    private let offers: [String: Offer]
    private var redemptions: [CustomerID: [Redemption]] = [:]
    private var used: [String: Int] = [:]

    init(_ offers: [String: Offer]) { self.offers = offers }

    func offer(_ code: String) -> Offer? { offers[code] }

    func redemptions(of customer: CustomerID) -> [Redemption] { redemptions[customer] ?? [] }

    /// Redeems a code once for each customer; a repeated redemption returns the first one.
    mutating func redeem(_ code: String, for customer: CustomerID, at date: Date) throws(Refusal) -> Redemption {
        if let earlier = redemptions(of: customer).first(where: { $0.code == code }) { return earlier }
        guard let offer = offers[code] else { throw .unknownCode }
        guard used[code, default: 0] < offer.uses else { throw .usedUp }
        let redemption = Redemption(
            code: code, feature: offer.feature, redeemedAt: date,
            endsAt: offer.days.map { date.addingTimeInterval(Double($0) * 86_400) })
        used[code, default: 0] += 1
        redemptions[customer, default: []].append(redemption)
        return redemption
    }
}
