import Foundation
import StoreModel

// The JSON messages between the plugin and its backend.

/// POST `/redemptions`: the request. A repeated one gets the same response.
struct RedeemCodeRequest: Codable, Sendable {
    var customer: CustomerID
    var code: String
}

/// A code that a customer has redeemed; the answer to POST `/redemptions`.
struct Redemption: Codable, Hashable, Sendable {
    var code: String
    /// The feature that the code gives.
    var feature: String
    var redeemedAt: Date
    /// The instant at which the access ends; absent if it is unlimited.
    var endsAt: Date?
}

/// GET `/customers/{customer}/redemptions`: the response.
struct RedemptionsAnswer: Codable, Sendable {
    var redemptions: [Redemption]
}

/// GET `/codes/{code}`: the response.
struct CodeDescription: Codable, Sendable {
    var code: String
    /// The title for customers.
    var title: String
}
