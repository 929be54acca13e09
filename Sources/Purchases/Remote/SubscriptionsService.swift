import Foundation
import Primitives
import StoreModel

/// All subscriptions of a user, as the backend says them.
struct SubscriptionsService: Sendable {
    let connection: ServiceConnection
    let environment: StoreEnvironment?

    func subscriptions(of user: UserId, onlyIds: [UUID]? = nil) async throws -> SubscriptionsResponse {
        let request = PaymentsHTTPRequest.getSubscriptions(.init(customerId: user, onlyIds: onlyIds))
        return try await connection.send(request.httpRequest(environment: environment))
            .decoded(SubscriptionsResponse.self)
    }
}

extension SubscriptionInternal {
    var isFromAppStore: Bool { tags.contains(.sourceAppStore) }

    var originalTransactionID: String? { tags.lazy.compactMap(\.originalTransactionID).first?.rawValue }
}

extension SubscriptionInternal.PricePoint {
    var nextPrice: Decimal? { nextTotalPrice.flatMap { JSONNumber(text: $0)?.decimal } }
    var introPrice: Decimal? { JSONNumber(text: introTotalPrice)?.decimal }
    var nextPeriod: SubscriptionPeriod? { Self.period(nextPeriodValue, nextPeriodType) }
    var introPeriod: SubscriptionPeriod? { Self.period(introPeriodValue, introPeriodType) }

    private static func period(_ value: Int?, _ type: String?) -> SubscriptionPeriod? {
        guard let value, value > 0, let unit = type.flatMap(SubscriptionPeriod.Unit.init) else { return nil }
        return SubscriptionPeriod(value: value, unit: unit)
    }
}
