import Foundation
import Primitives
import StoreModel

extension AppStoreServerAPI {
    /// The query of Get Transaction History: a filter of transactions. Client and server share it.
    ///
    ///     let request = TransactionHistoryRequest(productTypes: [.autoRenewableSubscription], sort: .descending)
    ///     request.query                       // [("productType", "AUTO_RENEWABLE"), ("sort", "DESCENDING")]
    public struct TransactionHistoryRequest: Hashable, Sendable {
        /// The order of the transactions, by the date of their last change.
        public typealias Order = OpenEnum<AppStoreServerAPI.TransactionHistoryRequest>

        /// The earliest date of purchase.
        public var startDate: Date?
        /// The end of the dates of purchase, exclusive.
        public var endDate: Date?
        /// The products; empty means all.
        public var productIds: [String]
        /// The kinds of product; empty means all.
        public var productTypes: [ProductType]
        /// The order of the transactions; `nil` means ascending.
        public var sort: Order?
        /// The subscription groups; empty means all transactions.
        public var subscriptionGroupIdentifiers: [String]
        /// The ownership: only purchases, or only transactions shared by the family; `nil` means both.
        public var inAppOwnershipType: InAppOwnershipType?
        /// Whether to return only revoked transactions or only the others; `nil` means all.
        public var revoked: Bool?

        /// Creates a query. Without arguments it matches every transaction.
        ///
        /// - Parameters:
        ///   - startDate: The earliest date of purchase.
        ///   - endDate: The end of the dates of purchase, exclusive.
        ///   - productIds: The products; empty means all.
        ///   - productTypes: The kinds of product; empty means all.
        ///   - sort: The order of the transactions; `nil` means ascending.
        ///   - subscriptionGroupIdentifiers: The subscription groups; empty means all transactions.
        ///   - inAppOwnershipType: The ownership: only purchases, or only transactions shared by the family; `nil`
        ///     means both.
        ///   - revoked: Whether to return only revoked transactions or only the others; `nil` means all.
        public init(
            startDate: Date? = nil, endDate: Date? = nil, productIds: [String] = [],
            productTypes: [ProductType] = [],
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
    /// The query items, without percent-encoding. An absent filter has no item, and a filter with several values has
    /// one for each.
    package var query: [(String, String)] {
        func items(_ name: String, _ values: [String?]) -> [(String, String)] {
            values.compactMap { value in value.map { (name, $0) } }
        }
        return items("startDate", [startDate?.payloadValue.text()])
            + items("endDate", [endDate?.payloadValue.text()])
            + items("productId", productIds)
            + items("productType", productTypes.map(Self.text))
            + items("sort", [sort?.rawValue])
            + items("subscriptionGroupIdentifier", subscriptionGroupIdentifiers)
            + items("inAppOwnershipType", [inAppOwnershipType?.rawValue])
            + items("revoked", [revoked.map { "\($0)" }])
    }

    /// Reads a query. Other names, such as `revision`, are ignored. `excludeRevoked=true`, which Apple deprecated,
    /// reads as `revoked=false`. Throws Apple's error for an invalid value, or for more values than an item can have.
    package init(query: [(String, String)]) throws(AppStoreServerAPI.ErrorCode) {
        let items = QueryItems(items: query)
        self.init(
            startDate: try items.date("startDate", else: .invalidStartDate),
            endDate: try items.date("endDate", else: .invalidEndDate),
            productIds: try items.texts("productId", else: .invalidProductId),
            productTypes: try items.texts("productType", else: .invalidProductType).compactMap(Self.productType),
            sort: try items.single("sort", else: .invalidSort).map(Order.init),
            subscriptionGroupIdentifiers: try items.texts(
                "subscriptionGroupIdentifier", else: .invalidSubscriptionGroupIdentifier),
            inAppOwnershipType: try items.single("inAppOwnershipType", else: .invalidInAppOwnershipType)
                .map(AppStoreServerAPI.InAppOwnershipType.init),
            revoked: try items.flag("revoked", else: .invalidRevoked))
        guard try items.texts("productType", else: .invalidProductType).allSatisfy({ Self.productType($0) != nil })
        else {
            throw .invalidProductType
        }
        guard sort.map({ [.ascending, .descending].contains($0) }) ?? true else { throw .invalidSort }
        guard inAppOwnershipType.map({ [.purchased, .familyShared, .assigned].contains($0) }) ?? true else {
            throw .invalidInAppOwnershipType
        }
        if let startDate, let endDate, startDate >= endDate { throw .invalidEndDate }
        if try items.flag("excludeRevoked", else: .invalidExcludeRevoked) == true {
            guard revoked != true else { throw .invalidExcludeRevoked }
            revoked = false
        }
    }
}

extension AppStoreServerAPI.TransactionHistoryRequest {
    /// The kinds of product, as this query spells them.
    private static let productTypes: [(kind: ProductType, text: String)] = [
        (.autoRenewableSubscription, "AUTO_RENEWABLE"), (.nonRenewingSubscription, "NON_RENEWABLE"),
        (.consumable, "CONSUMABLE"), (.nonConsumable, "NON_CONSUMABLE"),
    ]

    private static func text(_ kind: ProductType) -> String {
        productTypes.first { $0.kind == kind }?.text ?? kind.rawValue
    }

    private static func productType(_ text: String) -> ProductType? {
        productTypes.first { $0.text == text }?.kind
    }
}

/// Reads the items of a query by their types.
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

    /// Parses milliseconds since 1970 of at most 15 digits, which a double represents exactly.
    func date(
        _ name: String, else error: AppStoreServerAPI.ErrorCode
    ) throws(AppStoreServerAPI.ErrorCode) -> Date? {
        guard let text = try single(name, else: error) else { return nil }
        guard text.utf8.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }), text.utf8.count <= 15,
            let milliseconds = Int(text)
        else { throw error }
        return Date(payloadValue: .number(milliseconds))
    }

    /// Parses a Boolean. Ignores case, because Apple's Python client writes `True`.
    func flag(
        _ name: String, else error: AppStoreServerAPI.ErrorCode
    ) throws(AppStoreServerAPI.ErrorCode) -> Bool? {
        guard let text = try single(name, else: error) else { return nil }
        guard let flag = Bool(text.lowercased()) else { throw error }
        return flag
    }
}

extension AppStoreServerAPI.TransactionHistoryRequest.Order {
    public static var ascending: Self { Self(rawValue: "ASCENDING") }
    public static var descending: Self { Self(rawValue: "DESCENDING") }
}
