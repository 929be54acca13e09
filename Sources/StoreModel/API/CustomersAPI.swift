import Foundation

/// POST `/v1/customers/{customer}/aliases`: another name of the customer, for example the anonymous one from before the
/// log-in. What that one had becomes the customer's.
package struct AliasRequest: Codable, Hashable, Sendable {
    /// What customers are called who did not log in begins with this; only such names may be merged with a customer's token.
    package static let anonymousPrefix = "anonymous-"

    package var alias: CustomerID

    package init(alias: CustomerID) { self.alias = alias }
}

extension CustomerID {
    /// Whether this is the name of a customer who did not log in.
    package var isAnonymous: Bool { rawValue.utf8.starts(with: AliasRequest.anonymousPrefix.utf8) }
}

/// POST `/v1/customers/{customer}/tokens`: the request.
package struct CustomerTokenRequest: Codable, Hashable, Sendable {
    /// How long it holds, in real time; an hour when absent, 90 days at most.
    package var lasts: SubscriptionPeriod?

    package init(lasts: SubscriptionPeriod? = nil) { self.lasts = lasts }
}

/// POST `/v1/customers/{customer}/tokens`: the answer.
package struct CustomerToken: Codable, Hashable, Sendable {
    /// What the customer's device sends as `Souk-Customer-Token`. A secret.
    package var token: String
    package var expiresAt: Date

    package init(token: String, expiresAt: Date) {
        self.token = token
        self.expiresAt = expiresAt
    }
}

/// POST `/v1/customers/{customer}/transfer`: gives a purchase of the customer to another one.
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
    /// Under which products, amounts and dates stay; says nothing about whom it stands for.
    package var pseudonym: CustomerID
    /// How many purchases' source bytes cannot be read by anybody any more.
    package var erasedPurchases: Int

    package init(pseudonym: CustomerID, erasedPurchases: Int) {
        self.pseudonym = pseudonym
        self.erasedPurchases = erasedPurchases
    }
}

/// GET `/v1/customers`: a page of those that were found, by id.
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
    /// For `?cursor=` of the next page; absent on the last.
    package var nextCursor: String?

    package init(customers: [Entry], nextCursor: String? = nil) {
        self.customers = customers
        self.nextCursor = nextCursor
    }
}

/// GET `/v1/customers/{customer}/credits/{type}`: how much credit is left.
public struct CreditBalance: Codable, Hashable, Sendable {
    /// The kind of credit.
    public var type: String
    /// `earned - spent`; below zero when a purchase was refunded after its credit was spent.
    public var balance: Int
    /// What the customer's purchases gave and was not refunded.
    public var earned: Int
    /// What was spent of these purchases, by all customers who ever had them.
    public var spent: Int
    /// What each type of item costs.
    public var prices: [String: Int]

    public init(type: String, earned: Int, spent: Int, prices: [String: Int]) {
        self.type = type
        self.balance = earned - spent
        self.earned = earned
        self.spent = spent
        self.prices = prices
    }
}

/// POST `/v1/customers/{customer}/credits/{type}/redeem`: all of it or nothing.
public struct RedeemRequest: Codable, Hashable, Sendable {
    public struct Item: Codable, Hashable, Sendable {
        /// What is unlocked, as the app names it; once redeemed it costs nothing more.
        public var id: String
        /// What the app's credit table has a price for.
        public var type: String

        public init(id: String, type: String) {
            self.id = id
            self.type = type
        }
    }

    /// 1 to 100.
    public var items: [Item]

    public init(items: [Item]) { self.items = items }
}

/// POST `/v1/customers/{customer}/credits/{type}/redeem`: the answer, a `CreditBalance` with what each item cost.
public struct RedeemAnswer: Codable, Hashable, Sendable {
    public struct Item: Codable, Hashable, Sendable {
        public var id: String
        public var type: String
        /// 0 for one that was redeemed before.
        public var cost: Int

        public init(id: String, type: String, cost: Int) {
            self.id = id
            self.type = type
            self.cost = cost
        }
    }

    public var type: String
    public var balance: Int
    public var items: [Item]

    public init(type: String, balance: Int, items: [Item]) {
        self.type = type
        self.balance = balance
        self.items = items
    }
}

/// POST `/v1/promotions`: a code that gives a feature, once to each customer who redeems it.
package struct Promotion: Codable, Hashable, Sendable {
    /// 4 to 64 letters, digits and hyphens, in any case; made up by the server when absent.
    package var code: String?
    package var feature: String
    /// How long the feature is given from its redemption.
    package var lasts: SubscriptionPeriod?
    /// Until when it is given; with neither this nor `lasts`, for ever.
    package var until: Date?
    /// Exclusive.
    package var redeemableUntil: Date?
    /// How many customers may redeem it.
    package var limit: Int?
    /// How many did. Ignored in requests.
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

/// GET `/v1/promotions`: those that were not withdrawn, by code.
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
