import AppStorePayloads
import Foundation
import Primitives
import StoreModel

/// A validated request to extend a renewal date.
struct RenewalExtensionRequest: Sendable, Hashable {
    let days: Int
    /// The developer's identifier of the request.
    let requestID: String

    static let longestIdentifier = 128

    init(_ request: AppStoreServerAPI.ExtendRenewalDateRequest) throws(AppStoreServerAPI.ErrorCode) {
        try self.init(request.extendByDays, request.extendReasonCode, request.requestIdentifier)
    }

    /// Throws `invalidExtendByDays` (1 to 90), `invalidExtendReasonCode` (0 to 3), `invalidRequestIdentifier`.
    fileprivate init(
        _ days: Int?, _ reason: AppStoreServerAPI.ExtendReasonCode?, _ request: String?
    ) throws(AppStoreServerAPI.ErrorCode) {
        guard let days, (1...90).contains(days) else { throw .invalidExtendByDays }
        guard let reason, (0...3).contains(reason.rawValue) else { throw .invalidExtendReasonCode }
        self.days = days
        requestID = try Self.identifier(request)
    }

    /// Returns an identifier of 1 to 128 characters. Throws `invalidRequestIdentifier`.
    static func identifier(_ text: String?) throws(AppStoreServerAPI.ErrorCode) -> String {
        guard let text, !text.isEmpty, text.count <= longestIdentifier, text.utf8.count <= 4 * longestIdentifier else {
            throw .invalidRequestIdentifier
        }
        return text
    }
}

/// A validated request to extend the renewal dates of all subscribers of a product.
struct MassExtensionRequest: Sendable, Hashable {
    let renewalExtension: RenewalExtensionRequest
    let product: ProductID
    /// The countries of the subscribers; `nil` means all.
    let storefronts: [String]?

    /// Throws the errors of `RenewalExtensionRequest`, `invalidProductId` for a product that is not a subscription of
    /// the catalogue, `invalidEmptyStorefrontCountryCodeList` and `invalidStorefrontCountryCode`.
    init(
        _ request: AppStoreServerAPI.MassExtendRenewalDateRequest, in catalogue: Catalogue
    ) throws(AppStoreServerAPI.ErrorCode) {
        renewalExtension = try RenewalExtensionRequest(
            request.extendByDays, request.extendReasonCode, request.requestIdentifier)
        product = try Self.subscription(request.productId, in: catalogue)
        storefronts = try Self.storefronts(request.fields["storefrontCountryCodes"])
    }

    /// Returns the subscription with an id. Throws `invalidProductId`.
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
