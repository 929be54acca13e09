import AppStorePayloads
import Foundation
import HTTPCore
import StoreModel

extension ServerAPIEndpoints {
    /// The endpoints that extend renewal dates.
    static let extensions: [Endpoint<ServerAPIHandler>] = [
        on(
            .put, "/inApps/v1/subscriptions/extend/{originalTransactionId}", "Extend a Subscription Renewal Date",
            rate: 20
        ) { call in
            let original = try call.number("originalTransactionId", else: .invalidOriginalTransactionId)
            let order = try RenewalExtensionOrder(try await call.body(as: API.ExtendRenewalDateRequest.self))
            return try await extend(original, order, call.store)
        },
        on(
            .post, "/inApps/v1/subscriptions/extend/mass",
            "Extend Subscription Renewal Dates for All Active Subscribers", rate: 1
        ) { call in
            let order = try MassExtensionOrder(
                try await call.body(as: API.MassExtendRenewalDateRequest.self),
                in: call.store.configuration.catalogue)
            let outcome = try await call.store.extendRenewals(
                of: order.product, byDays: order.order.days, request: order.order.request, in: order.storefronts)
            return API.MassExtendRenewalDateResponse { $0.requestIdentifier = outcome.request }
        },
        get(
            "/inApps/v1/subscriptions/extend/mass/{productId}/{requestIdentifier}",
            "Get Status of Subscription Renewal Date Extensions", rate: 1
        ) { call in
            let product = try MassExtensionOrder.subscription(
                call.text("productId"), in: call.store.configuration.catalogue)
            let request = try RenewalExtensionOrder.identifier(call.text("requestIdentifier"))
            guard let outcome = try call.store.renewalExtension(of: product, request: request) else {
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
        _ original: Int64, _ order: RenewalExtensionOrder, _ store: SimulatedAppStore
    ) async throws -> API.ExtendRenewalDateResponse {
        do {
            let moved = try await store.extendRenewal(
                of: TransactionID(unchecked: "\(original)"), byDays: order.days, request: order.request)
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
