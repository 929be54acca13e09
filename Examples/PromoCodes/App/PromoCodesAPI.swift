import Foundation
import StoreModel

// What the plugin and its backend say to each other, as JSON.

/// POST `/redemptions`: the request. Who sends it again gets the same answer.
struct RedeemCodeRequest: Codable, Sendable {
    var customer: CustomerID
    var code: String
}

/// A code that a customer has redeemed; the answer to POST `/redemptions`.
struct Redemption: Codable, Hashable, Sendable {
    var code: String
    /// What it gives.
    var feature: String
    var redeemedAt: Date
    /// Exclusive; absent for what is given for good.
    var endsAt: Date?
}

/// GET `/customers/{customer}/redemptions`: the answer.
struct RedemptionsAnswer: Codable, Sendable {
    var redemptions: [Redemption]
}

/// GET `/codes/{code}`: the answer.
struct CodeDescription: Codable, Sendable {
    var code: String
    /// What customers read.
    var title: String
}
