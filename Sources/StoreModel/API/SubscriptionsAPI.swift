import Foundation

/// POST `/subscriptions-tracker/get-subscriptions`: the request.
public struct GetSubscriptionsRequestPayload: Codable, Hashable, Sendable {
    public var customerId: UserId
    /// Absent: all.
    public var onlyIds: [UUID]?

    public init(customerId: UserId, onlyIds: [UUID]? = nil) {
        self.customerId = customerId
        self.onlyIds = onlyIds
    }
}

/// POST `/subscriptions-tracker/get-subscriptions`: the answer.
///
/// A row that cannot be read is left out and named in `unreadable`; the others stand.
public struct SubscriptionsResponse: Codable, Hashable, Sendable {
    public var subscriptions: [SubscriptionInternal]
    /// The rows that were left out; never encoded.
    public var unreadable: [UnreadableRow] = []

    public init(subscriptions: [SubscriptionInternal]) { self.subscriptions = subscriptions }

    public init(from decoder: any Decoder) throws {
        let rows = try decoder.container(keyedBy: CodingKeys.self)
            .decode(ReadableRows<SubscriptionInternal>.self, forKey: .subscriptions)
        (subscriptions, unreadable) = (rows.readable, rows.unreadable)
    }

    private enum CodingKeys: String, CodingKey { case subscriptions }
}

/// A subscription on the wire of seed 000.
public struct SubscriptionInternal: Codable, Hashable, Sendable {
    public var id: UUID
    public var state: State
    public var createdAt: Date
    public var canceledAt: Date?
    public var currentPeriodStartAt: Date
    public var currentPeriodEndAt: Date
    public var nextSubscriptionId: UUID?
    public var tags: [Tag]
    public var pricePoint: PricePoint

    public init(
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

    /// An open set: a state this version does not know is kept.
    public struct State: RawRepresentable, Hashable, Sendable, Codable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        public static let new = State(rawValue: "new")
        public static let active = State(rawValue: "active")
        public static let canceled = State(rawValue: "canceled")
        public static let isUpcoming = State(rawValue: "is_upcoming")
    }

    /// A remark of the backend. Unknown ones mean nothing.
    public struct Tag: RawRepresentable, Hashable, Sendable, Codable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        public static let trial = Tag(rawValue: "trial")
        /// Bought in the App Store; `pricePoint.ident` is then the product's identifier.
        public static let sourceAppStore = Tag(rawValue: "source:appStore")

        public static func originalTransactionID(_ id: TransactionID) -> Tag {
            Tag(rawValue: originalTransactionPrefix + id.rawValue)
        }

        /// The store's original transaction, if that is what the tag names.
        public var originalTransactionID: TransactionID? {
            guard rawValue.hasPrefix(Self.originalTransactionPrefix) else { return nil }
            return TransactionID(rawValue: String(rawValue.dropFirst(Self.originalTransactionPrefix.count)))
        }

        private static let originalTransactionPrefix = "originalTransactionID:"
    }

    /// What was bought and for how much. Prices are decimal strings, period types `second`, `minute`, `day`, `week`,
    /// `month` or `year`.
    public struct PricePoint: Codable, Hashable, Sendable {
        public var ident: String
        public var services: [Service]
        public var currencyCode: String
        public var nextTotalPrice: String?
        public var nextPeriodValue: Int?
        public var nextPeriodType: String?
        public var introTotalPrice: String
        public var introPeriodValue: Int?
        public var introPeriodType: String?

        public init(
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

        public struct Service: Codable, Hashable, Sendable {
            public var featureIdent: String
            public init(featureIdent: String) { self.featureIdent = featureIdent }
        }
    }
}
