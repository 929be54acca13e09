import Foundation

/// POST `/subscriptions-tracker/get-subscriptions`: the request.
package struct GetSubscriptionsRequestPayload: Codable, Hashable, Sendable {
    package var customerId: UserId
    /// The ids of the requested subscriptions, or `nil` for all.
    package var onlyIds: [UUID]?

    package init(customerId: UserId, onlyIds: [UUID]? = nil) {
        self.customerId = customerId
        self.onlyIds = onlyIds
    }
}

/// POST `/subscriptions-tracker/get-subscriptions`: the answer.
///
/// A row that cannot be read is left out and listed in `unreadable`. The other rows remain valid.
package struct SubscriptionsResponse: Codable, Hashable, Sendable {
    package var subscriptions: [SubscriptionInternal]
    /// The rows that were left out. They are never encoded.
    package var unreadable: [UnreadableRow] = []

    package init(subscriptions: [SubscriptionInternal]) { self.subscriptions = subscriptions }

    package init(from decoder: any Decoder) throws {
        let rows = try decoder.container(keyedBy: CodingKeys.self)
            .decode(ReadableRows<SubscriptionInternal>.self, forKey: .subscriptions)
        (subscriptions, unreadable) = (rows.readable, rows.unreadable)
    }

    private enum CodingKeys: String, CodingKey { case subscriptions }
}

/// A subscription in the answer of `/subscriptions-tracker/get-subscriptions`.
package struct SubscriptionInternal: Codable, Hashable, Sendable {
    package var id: UUID
    package var state: State
    package var createdAt: Date
    package var canceledAt: Date?
    package var currentPeriodStartAt: Date
    package var currentPeriodEndAt: Date
    package var nextSubscriptionId: UUID?
    package var tags: [Tag]
    package var pricePoint: PricePoint

    package init(
        id: UUID, state: State, createdAt: Date, canceledAt: Date? = nil, currentPeriodStartAt: Date,
        currentPeriodEndAt: Date, nextSubscriptionId: UUID? = nil, tags: [Tag] = [], pricePoint: PricePoint
    ) {
        self.id = id
        self.state = state
        self.createdAt = createdAt
        self.canceledAt = canceledAt
        self.currentPeriodStartAt = currentPeriodStartAt
        self.currentPeriodEndAt = currentPeriodEndAt
        self.nextSubscriptionId = nextSubscriptionId
        self.tags = tags
        self.pricePoint = pricePoint
    }

    /// The state of a subscription, from an open set: an unknown state is kept.
    package struct State: RawRepresentable, Hashable, Sendable, Codable {
        package let rawValue: String
        package init(rawValue: String) { self.rawValue = rawValue }
        package static let new = State(rawValue: "new")
        package static let active = State(rawValue: "active")
        package static let canceled = State(rawValue: "canceled")
        package static let isUpcoming = State(rawValue: "is_upcoming")
    }

    /// A tag that the backend attaches to a subscription. Unknown tags are ignored.
    package struct Tag: RawRepresentable, Hashable, Sendable, Codable {
        package let rawValue: String
        package init(rawValue: String) { self.rawValue = rawValue }

        package static let trial = Tag(rawValue: "trial")
        /// The App Store sold the subscription. `pricePoint.ident` is then the product's identifier.
        package static let sourceAppStore = Tag(rawValue: "source:appStore")
        /// Google Play sold the subscription. `pricePoint.ident` is then the product's identifier.
        package static let sourceGooglePlay = Tag(rawValue: "source:googlePlay")

        package static func originalTransactionID(_ id: TransactionID) -> Tag {
            Tag(rawValue: originalTransactionPrefix + id.rawValue)
        }

        /// The original transaction, if the tag identifies one.
        package var originalTransactionID: TransactionID? {
            guard rawValue.hasPrefix(Self.originalTransactionPrefix) else { return nil }
            return TransactionID(rawValue: String(rawValue.dropFirst(Self.originalTransactionPrefix.count)))
        }

        private static let originalTransactionPrefix = "originalTransactionID:"
    }

    /// The price point of a subscription. Prices are decimal strings. Period types are `second`, `minute`, `day`,
    /// `week`, `month` or `year`.
    package struct PricePoint: Codable, Hashable, Sendable {
        package var ident: String
        package var services: [Service]
        package var currencyCode: String
        package var nextTotalPrice: String?
        package var nextPeriodValue: Int?
        package var nextPeriodType: String?
        package var introTotalPrice: String
        package var introPeriodValue: Int?
        package var introPeriodType: String?

        package init(
            ident: String, services: [Service], currencyCode: String, nextTotalPrice: String? = nil,
            nextPeriodValue: Int? = nil, nextPeriodType: String? = nil, introTotalPrice: String,
            introPeriodValue: Int? = nil, introPeriodType: String? = nil
        ) {
            self.ident = ident
            self.services = services
            self.currencyCode = currencyCode
            self.nextTotalPrice = nextTotalPrice
            self.nextPeriodValue = nextPeriodValue
            self.nextPeriodType = nextPeriodType
            self.introTotalPrice = introTotalPrice
            self.introPeriodValue = introPeriodValue
            self.introPeriodType = introPeriodType
        }

        package struct Service: Codable, Hashable, Sendable {
            package var featureIdent: String
            package init(featureIdent: String) { self.featureIdent = featureIdent }
        }
    }
}
