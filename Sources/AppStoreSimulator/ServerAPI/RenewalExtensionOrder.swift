import AppStorePayloads
import Foundation
import Primitives
import StoreModel

/// What is asked of a renewal date, as Apple would take it.
struct RenewalExtensionOrder: Sendable, Hashable {
    let days: Int
    /// What the developer calls the request.
    let request: String

    static let longestRequest = 128

    init(_ question: AppStoreServerAPI.ExtendRenewalDateRequest) throws(AppStoreServerAPI.ErrorCode) {
        try self.init(question.extendByDays, question.extendReasonCode, question.requestIdentifier)
    }

    /// Throws `invalidExtendByDays` (1 to 90), `invalidExtendReasonCode` (0 to 3), `invalidRequestIdentifier`.
    fileprivate init(
        _ days: Int?, _ reason: AppStoreServerAPI.ExtendReasonCode?, _ request: String?
    ) throws(AppStoreServerAPI.ErrorCode) {
        guard let days, (1...90).contains(days) else { throw .invalidExtendByDays }
        guard let reason, (0...3).contains(reason.rawValue) else { throw .invalidExtendReasonCode }
        self.days = days
        self.request = try Self.identifier(request)
    }

    /// A text of 1 to 128 characters. Throws `invalidRequestIdentifier`.
    static func identifier(_ text: String?) throws(AppStoreServerAPI.ErrorCode) -> String {
        guard let text, !text.isEmpty, text.count <= longestRequest, text.utf8.count <= 4 * longestRequest else {
            throw .invalidRequestIdentifier
        }
        return text
    }
}

/// The same for all who subscribe to a product.
struct MassExtensionOrder: Sendable, Hashable {
    let order: RenewalExtensionOrder
    let product: ProductID
    /// `nil`: in all countries.
    let storefronts: [String]?

    /// Throws what a single one does, and `invalidProductId` for what is no subscription of the catalogue,
    /// `invalidEmptyStorefrontCountryCodeList`, `invalidStorefrontCountryCode`.
    init(
        _ question: AppStoreServerAPI.MassExtendRenewalDateRequest, in catalogue: Catalogue
    ) throws(AppStoreServerAPI.ErrorCode) {
        order = try RenewalExtensionOrder(
            question.extendByDays, question.extendReasonCode, question.requestIdentifier)
        product = try Self.subscription(question.productId, in: catalogue)
        storefronts = try Self.storefronts(question.fields["storefrontCountryCodes"])
    }

    /// Throws `invalidProductId`.
    static func subscription(
        _ id: String?, in catalogue: Catalogue
    ) throws(AppStoreServerAPI.ErrorCode) -> ProductID {
        guard let product = id.flatMap(ProductID.init(rawValue:)), catalogue[product]?.subscription != nil else {
            throw .invalidProductId
        }
        return product
    }

    private static func storefronts(_ codes: JSONValue?) throws(AppStoreServerAPI.ErrorCode) -> [String]? {
        guard let codes, !codes.isNull else { return nil }
        guard let codes = codes.arrayValue else { throw .invalidStorefrontCountryCode }
        guard !codes.isEmpty else { throw .invalidEmptyStorefrontCountryCodeList }
        let known = codes.compactMap { code in code.stringValue.flatMap { Storefronts.storefront($0)?.countryCode } }
        guard known.count == codes.count else { throw .invalidStorefrontCountryCode }
        return known
    }
}
