import AppStorePayloads
import Foundation
import HTTPCore
import StoreModel

extension ServerAPIEndpoints {
    /// The endpoints that extend renewal dates.
    static let extensions: [Endpoint<ServerAPIHandler>] = [
        action(
            .put, "/inApps/v1/subscriptions/extend/{originalTransactionId}", "Extend a Subscription Renewal Date",
            rate: 20
        ) { call in
            let original = try call.number("originalTransactionId", else: .invalidOriginalTransactionId)
            let request = try RenewalExtensionRequest(try await call.body(as: API.ExtendRenewalDateRequest.self))
            return try await extend(original, request, call.store)
        },
        action(
            .post, "/inApps/v1/subscriptions/extend/mass",
            "Extend Subscription Renewal Dates for All Active Subscribers", rate: 1
        ) { call in
            let request = try MassExtensionRequest(
                try await call.body(as: API.MassExtendRenewalDateRequest.self),
                in: call.store.configuration.catalogue)
            let outcome = try await call.store.extendRenewals(
                of: request.product, byDays: request.renewalExtension.days,
                request: request.renewalExtension.requestID, in: request.storefronts)
            return API.MassExtendRenewalDateResponse { $0.requestIdentifier = outcome.request }
        },
        get(
            "/inApps/v1/subscriptions/extend/mass/{productId}/{requestIdentifier}",
            "Get Status of Subscription Renewal Date Extensions", rate: 1
        ) { call in
            let product = try MassExtensionRequest.subscription(
                call.text("productId"), in: call.store.configuration.catalogue)
            let requestID = try RenewalExtensionRequest.identifier(call.text("requestIdentifier"))
            guard let outcome = try call.store.renewalExtension(of: product, request: requestID) else {
                throw API.ErrorCode.statusRequestNotFound
            }
            return API.MassExtendRenewalDateStatusResponse {
                $0.requestIdentifier = outcome.request
                $0.complete = true
                $0.completeDate = outcome.at.wholeMilliseconds
                $0.succeededCount = outcome.succeeded
                $0.failedCount = outcome.failed
            }
        },
    ]

    private static func extend(
        _ original: Int64, _ request: RenewalExtensionRequest, _ store: SimulatedAppStore
    ) async throws -> API.ExtendRenewalDateResponse {
        do {
            let moved = try await store.extendRenewal(
                of: TransactionID(unchecked: "\(original)"), byDays: request.days, request: request.requestID)
            return API.ExtendRenewalDateResponse {
                $0.originalTransactionId = "\(moved.original)"
                $0.webOrderLineItemId = moved.webOrderLineItemID.map { "\($0)" }
                $0.success = true
                $0.effectiveDate = moved.effectiveDate
            }
        } catch let refusal as ExtensionRefusal {
            throw
                switch refusal
            {
            case .unknown: API.ErrorCode.originalTransactionIdNotFound
            case .ineligible: API.ErrorCode.subscriptionExtensionIneligible
            case .tooOften: API.ErrorCode.subscriptionMaxExtension
            case .familyShared: API.ErrorCode.familySharedSubscriptionExtensionIneligible
            }
        }
    }
}
