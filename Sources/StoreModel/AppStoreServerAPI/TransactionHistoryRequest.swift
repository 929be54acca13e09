import Foundation

extension AppStoreServerAPI {
    /// Which transactions Get Transaction History is asked for: the items of its query. Client and server share it.
    ///
    ///     let request = TransactionHistoryRequest(productTypes: [.autoRenewable], sort: .descending)
    ///     request.query                       // [("productType", "AUTO_RENEWABLE"), ("sort", "DESCENDING")]
    public struct TransactionHistoryRequest: Hashable, Sendable {
        /// A kind of product, as this query spells them; transactions spell them as `AppStoreServerAPI.ProductType`.
        public struct ProductType: OpenAppStoreValue {
            public let rawValue: String
            public init(rawValue: String) { self.rawValue = rawValue }

            public static let autoRenewable = Self(rawValue: "AUTO_RENEWABLE")
            public static let nonRenewable = Self(rawValue: "NON_RENEWABLE")
            public static let consumable = Self(rawValue: "CONSUMABLE")
            public static let nonConsumable = Self(rawValue: "NON_CONSUMABLE")

            /// As transactions spell it; `nil` for kinds nobody knows.
            public var ofTransactions: AppStoreServerAPI.ProductType? {
                switch self {
                case .autoRenewable: .autoRenewableSubscription
                case .nonRenewable: .nonRenewingSubscription
                case .consumable: .consumable
                case .nonConsumable: .nonConsumable
                default: nil
                }
            }
        }

        /// Whether what was modified first or last comes first.
        public struct Order: OpenAppStoreValue {
            public let rawValue: String
            public init(rawValue: String) { self.rawValue = rawValue }

            public static let ascending = Self(rawValue: "ASCENDING")
            public static let descending = Self(rawValue: "DESCENDING")
        }

        /// Only what was purchased then or later.
        public var startDate: Date?
        /// Only what was purchased before then.
        public var endDate: Date?
        /// Only these products; empty means all.
        public var productIds: [String]
        /// Only these kinds of product; empty means all.
        public var productTypes: [ProductType]
        /// `nil` means ascending.
        public var sort: Order?
        /// Only subscriptions of these groups; empty means everything.
        public var subscriptionGroupIdentifiers: [String]
        /// Only what was bought, or only what the family shares.
        public var inAppOwnershipType: InAppOwnershipType?
        /// Only what was revoked, or only what was not.
        public var revoked: Bool?

        public init(
            startDate: Date? = nil, endDate: Date? = nil, productIds: [String] = [], productTypes: [ProductType] = [],
            sort: Order? = nil, subscriptionGroupIdentifiers: [String] = [],
            inAppOwnershipType: InAppOwnershipType? = nil, revoked: Bool? = nil
        ) {
            self.startDate = startDate
            self.endDate = endDate
            self.productIds = productIds
            self.productTypes = productTypes
            self.sort = sort
            self.subscriptionGroupIdentifiers = subscriptionGroupIdentifiers
            self.inAppOwnershipType = inAppOwnershipType
            self.revoked = revoked
        }
    }
}

extension AppStoreServerAPI.TransactionHistoryRequest {
    /// The items, decoded; what is absent has none. Names repeat where several values are asked for.
    public var query: [(String, String)] {
        func items(_ name: String, _ values: [String?]) -> [(String, String)] {
            values.compactMap { value in value.map { (name, $0) } }
        }
        return items("startDate", [startDate?.payloadValue.text()])
            + items("endDate", [endDate?.payloadValue.text()])
            + items("productId", productIds)
            + items("productType", productTypes.map(\.rawValue))
            + items("sort", [sort?.rawValue])
            + items("subscriptionGroupIdentifier", subscriptionGroupIdentifiers)
            + items("inAppOwnershipType", [inAppOwnershipType?.rawValue])
            + items("revoked", [revoked.map { "\($0)" }])
    }

    /// Reads what a client asked. Names that are none of this request's, `revision` among them, are left alone;
    /// `excludeRevoked`, which Apple no longer recommends, reads as `revoked`. Throws Apple's error for the first item
    /// whose value cannot be, also when an item that has one value is there twice.
    public init(query: [(String, String)]) throws(AppStoreServerAPI.ErrorCode) {
        let items = QueryItems(items: query)
        self.init(
            startDate: try items.date("startDate", else: .invalidStartDate),
            endDate: try items.date("endDate", else: .invalidEndDate),
            productIds: try items.texts("productId", else: .invalidProductId),
            productTypes: try items.texts("productType", else: .invalidProductType).map(ProductType.init),
            sort: try items.single("sort", else: .invalidSort).map(Order.init),
            subscriptionGroupIdentifiers: try items.texts(
                "subscriptionGroupIdentifier", else: .invalidSubscriptionGroupIdentifier),
            inAppOwnershipType: try items.single("inAppOwnershipType", else: .invalidInAppOwnershipType)
                .map(AppStoreServerAPI.InAppOwnershipType.init),
            revoked: try items.flag("revoked", else: .invalidRevoked))
        guard productTypes.allSatisfy({ $0.ofTransactions != nil }) else { throw .invalidProductType }
        guard sort.map({ [.ascending, .descending].contains($0) }) ?? true else { throw .invalidSort }
        guard inAppOwnershipType.map({ [.purchased, .familyShared].contains($0) }) ?? true else {
            throw .invalidInAppOwnershipType
        }
        if let startDate, let endDate, startDate >= endDate { throw .invalidEndDate }
        if try items.flag("excludeRevoked", else: .invalidExcludeRevoked) == true {
            guard revoked != true else { throw .invalidExcludeRevoked }
            revoked = false
        }
    }
}

/// The items of a query, each read as what its name stands for.
private struct QueryItems {
    let items: [(String, String)]

    func texts(
        _ name: String, else error: AppStoreServerAPI.ErrorCode
    ) throws(AppStoreServerAPI.ErrorCode) -> [String] {
        let values = items.filter { $0.0 == name }.map(\.1)
        guard values.allSatisfy({ !$0.isEmpty }) else { throw error }
        return values
    }

    func single(
        _ name: String, else error: AppStoreServerAPI.ErrorCode
    ) throws(AppStoreServerAPI.ErrorCode) -> String? {
        let values = try texts(name, else: error)
        guard values.count <= 1 else { throw error }
        return values.first
    }

    /// A whole number of milliseconds since 1970, in digits that a double holds exactly.
    func date(
        _ name: String, else error: AppStoreServerAPI.ErrorCode
    ) throws(AppStoreServerAPI.ErrorCode) -> Date? {
        guard let text = try single(name, else: error) else { return nil }
        guard text.utf8.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }), text.utf8.count <= 15,
            let milliseconds = Int(text)
        else { throw error }
        return Date(payloadValue: .number(milliseconds))
    }

    /// In any case: Apple's Python client writes `True`.
    func flag(
        _ name: String, else error: AppStoreServerAPI.ErrorCode
    ) throws(AppStoreServerAPI.ErrorCode) -> Bool? {
        guard let text = try single(name, else: error) else { return nil }
        guard let flag = Bool(text.lowercased()) else { throw error }
        return flag
    }
}
