import Foundation

/// POST `/v1/customers/{customer}/aliases`: a second id of the customer, for example the anonymous id from before the
/// login. The purchases of the alias become the customer's.
package struct AliasRequest: Codable, Hashable, Sendable {
    /// The prefix of the ids of anonymous customers. A caller with a customer token can merge only these ids.
    package static let anonymousPrefix = "anonymous-"

    package var alias: CustomerID

    package init(alias: CustomerID) { self.alias = alias }
}

extension CustomerID {
    /// Whether this is the id of an anonymous customer.
    package var isAnonymous: Bool { rawValue.utf8.starts(with: AliasRequest.anonymousPrefix.utf8) }
}

/// POST `/v1/customers/{customer}/tokens`: the request.
package struct CustomerTokenRequest: Codable, Hashable, Sendable {
    /// The lifetime of the token in real time: one hour by default, 90 days at most.
    package var lasts: SubscriptionPeriod?

    package init(lasts: SubscriptionPeriod? = nil) { self.lasts = lasts }
}

/// POST `/v1/customers/{customer}/tokens`: the answer.
package struct CustomerToken: Codable, Hashable, Sendable {
    /// The token that the customer's device sends as `Souk-Customer-Token`. It is secret.
    package var token: String
    package var expiresAt: Date

    package init(token: String, expiresAt: Date) {
        self.token = token
        self.expiresAt = expiresAt
    }
}

/// POST `/v1/customers/{customer}/transfer`: moves a purchase of the customer to another customer.
package struct TransferRequest: Codable, Hashable, Sendable {
    package var to: CustomerID
    package var originalTransactionID: TransactionID

    package init(to: CustomerID, originalTransactionID: TransactionID) {
        self.to = to
        self.originalTransactionID = originalTransactionID
    }
}

/// DELETE `/v1/customers/{customer}`: the answer.
package struct ErasedCustomer: Codable, Hashable, Sendable {
    /// The id under which products, amounts and dates are kept. It does not identify the erased customer.
    package var pseudonym: CustomerID
    /// The number of purchases whose encrypted payloads can no longer be decrypted.
    package var erasedPurchases: Int

    package init(pseudonym: CustomerID, erasedPurchases: Int) {
        self.pseudonym = pseudonym
        self.erasedPurchases = erasedPurchases
    }
}

/// GET `/v1/customers`: a page of the customers that match the query, in the order of their ids.
package struct CustomerList: Codable, Hashable, Sendable {
    package struct Entry: Codable, Hashable, Sendable {
        package var customer: CustomerID
        package var aliases: [CustomerID]
        package var firstSeenAt: Date
        package var erasedAt: Date?

        package init(customer: CustomerID, aliases: [CustomerID], firstSeenAt: Date, erasedAt: Date? = nil) {
            self.customer = customer
            self.aliases = aliases
            self.firstSeenAt = firstSeenAt
            self.erasedAt = erasedAt
        }
    }

    package var customers: [Entry]
    /// The value of `?cursor=` for the next page, or `nil` on the last page.
    package var nextCursor: String?

    package init(customers: [Entry], nextCursor: String? = nil) {
        self.customers = customers
        self.nextCursor = nextCursor
    }
}

/// GET `/v1/customers/{customer}/credits/{type}`: the credit that a customer has.
public struct CreditBalance: Codable, Hashable, Sendable {
    /// The kind of credit.
    public var type: String
    /// The credit that is left: `earned - spent`. It can be negative after a refund of spent credit.
    public var balance: Int
    /// The credit that the customer's purchases and operators gave. Of a refunded purchase, only the units that other
    /// owners spent count.
    public var earned: Int
    /// The credit that was spent: by present and past owners from these purchases, and by the customer from the credit
    /// of operators.
    public var spent: Int
    /// The cost of each type of item.
    public var prices: [String: Int]

    /// Creates a balance.
    ///
    /// - Parameters:
    ///   - type: The kind of credit.
    ///   - earned: The credit that the customer's purchases and operators gave.
    ///   - spent: The credit that was spent, also by other present and past owners of the purchases.
    ///   - prices: The cost of each type of item.
    public init(type: String, earned: Int, spent: Int, prices: [String: Int]) {
        self.type = type
        self.balance = earned - spent
        self.earned = earned
        self.spent = spent
        self.prices = prices
    }
}

/// POST `/v1/customers/{customer}/credits/{type}/grants`: gives a customer credit without a purchase.
package struct CreditGrantRequest: Codable, Sendable, Equatable {
    package var amount: Int
    package var reason: String

    package init(amount: Int, reason: String) {
        self.amount = amount
        self.reason = reason
    }
}

/// POST `/v1/customers/{customer}/credits/{type}/redeem`: spends credit on all items or on none.
public struct RedeemRequest: Codable, Hashable, Sendable {
    /// An item to unlock.
    public struct Item: Codable, Hashable, Sendable {
        /// The id of the item, as the app chooses it. An item that was redeemed before costs nothing.
        public var id: String
        /// The type of the item, which has a price in the app's credit table.
        public var type: String

        /// Creates an item.
        ///
        /// - Parameters:
        ///   - id: The id of the item, as the app chooses it.
        ///   - type: The type of the item, which has a price in the app's credit table.
        public init(id: String, type: String) {
            self.id = id
            self.type = type
        }
    }

    /// The items, 1 to 100.
    public var items: [Item]

    /// Creates a request.
    ///
    /// - Parameter items: The items, 1 to 100.
    public init(items: [Item]) { self.items = items }
}

/// POST `/v1/customers/{customer}/credits/{type}/redeem`: the answer, with the cost of each item and the new balance.
public struct RedeemAnswer: Codable, Hashable, Sendable {
    /// An unlocked item.
    public struct Item: Codable, Hashable, Sendable {
        /// The id of the item.
        public var id: String
        /// The type of the item.
        public var type: String
        /// The cost of the item: 0 if it was redeemed before.
        public var cost: Int

        /// Creates an item.
        ///
        /// - Parameters:
        ///   - id: The id of the item.
        ///   - type: The type of the item.
        ///   - cost: The cost of the item: 0 if it was redeemed before.
        public init(id: String, type: String, cost: Int) {
            self.id = id
            self.type = type
            self.cost = cost
        }
    }

    /// The kind of credit.
    public var type: String
    /// The credit that is left.
    public var balance: Int
    /// The redeemed items, with their costs.
    public var items: [Item]

    /// Creates an answer.
    ///
    /// - Parameters:
    ///   - type: The kind of credit.
    ///   - balance: The credit that is left.
    ///   - items: The redeemed items, with their costs.
    public init(type: String, balance: Int, items: [Item]) {
        self.type = type
        self.balance = balance
        self.items = items
    }
}

/// POST `/v1/promotions`: a code that grants a feature, once to each customer who redeems it.
package struct Promotion: Codable, Hashable, Sendable {
    /// 4 to 64 letters, digits and hyphens, in any case. The server chooses a code if the request has none.
    package var code: String?
    package var feature: String
    /// The length of the access, from the redemption. A promotion has `lasts` or `until` or neither.
    package var lasts: SubscriptionPeriod?
    /// The end of the access. Without `until` and `lasts`, access does not end.
    package var until: Date?
    /// The instant from which the code can no longer be redeemed, or `nil` if there is none.
    package var redeemableUntil: Date?
    /// The number of customers who can redeem the code, or `nil` for no limit.
    package var limit: Int?
    /// The number of customers who redeemed the code. Ignored in requests.
    package var redemptions: Int?

    package init(
        code: String? = nil, feature: String, lasts: SubscriptionPeriod? = nil, until: Date? = nil,
        redeemableUntil: Date? = nil, limit: Int? = nil, redemptions: Int? = nil
    ) {
        self.code = code
        self.feature = feature
        self.lasts = lasts
        self.until = until
        self.redeemableUntil = redeemableUntil
        self.limit = limit
        self.redemptions = redemptions
    }
}

/// GET `/v1/promotions`: a page of the promotions that were not withdrawn, in the order of their codes.
package struct PromotionList: Codable, Hashable, Sendable {
    package var promotions: [Promotion]
    package var nextCursor: String?

    package init(promotions: [Promotion], nextCursor: String? = nil) {
        self.promotions = promotions
        self.nextCursor = nextCursor
    }
}

/// POST `/v1/customers/{customer}/promotions`: redeems a code.
package struct PromotionCodeRequest: Codable, Hashable, Sendable {
    package var code: String

    package init(code: String) { self.code = code }
}
