import HTTPCore
import SimulatorControl
import StoreModel

extension StoreEndpoints {
    private static let path = "/control/v1/accounts/{account}"

    static let seats: [Endpoint<StoreHandler>] = [
        endpoint(.get, path + "/seats", "seats", "The seats of the subscriptions that an account bought for several") {
            call in StoreControlWire.SeatInfos(seats: try call.store.seats(of: try call.account))
        },
        endpoint(
            .post, path + "/set-seats", "setRenewalSeats", "Set the number of seats from the next period on",
            taking: StoreControlWire.SeatCount.self, refusals: [.unknownSubscription, .invalidValue]
        ) { call, body in
            try await call.store.setRenewalSeats(body.count, of: body.productID, for: try call.account)
        },
        memberEndpoint("assign-seat", "assignSeat", "Give a member a seat") { store, product, member, account in
            try await store.assignSeat(of: product, to: member, for: account)
        },
        memberEndpoint("remove-seat", "removeSeat", "Take a seat from a member") { store, product, member, account in
            try await store.removeSeat(of: product, from: member, for: account)
        },
    ]

    private static func memberEndpoint(
        _ word: String, _ id: String, _ summary: String,
        _ act: @escaping @Sendable (SimulatedAppStore, ProductID, AccountName, AccountName) async throws -> Void
    ) -> Endpoint<StoreHandler> {
        endpoint(
            .post, "\(path)/\(word)", id, summary, taking: StoreControlWire.SeatMember.self,
            refusals: [.unknownSubscription, .notNow]
        ) { call, body in
            let account = try call.account
            try await act(call.store, body.productID, AccountName(unchecked: body.member), account)
            return StoreControlWire.SeatInfos(seats: try call.store.seats(of: account))
        }
    }
}
