import Foundation
import StoreModel

extension StoreControlWire {
    /// The number of seats with which a subscription renews.
    package struct SeatCount: Codable, Sendable, Equatable {
        package var productID: ProductID
        package var count: Int
        package init(productID: ProductID, count: Int) {
            self.productID = productID
            self.count = count
        }
    }

    /// A member who gets or loses a seat of a subscription.
    package struct SeatMember: Codable, Sendable, Equatable {
        package var productID: ProductID
        /// The account of the member.
        package var member: String
        package init(productID: ProductID, member: String) {
            self.productID = productID
            self.member = member
        }
    }

    /// The seats of one subscription.
    package struct SeatInfo: Codable, Sendable, Equatable {
        package var productID: ProductID
        package var originalTransactionID: TransactionID
        /// The inviter of the members: `apple` or `developer`.
        package var invitations: String
        package var total: Int
        package var available: Int
        /// The number of seats of the next period; `nil` if the subscription does not renew.
        package var renewalCount: Int?
        package var taken: [TakenSeat]

        package init(
            productID: ProductID, originalTransactionID: TransactionID, invitations: String, total: Int, available: Int,
            renewalCount: Int?, taken: [TakenSeat]
        ) {
            self.productID = productID
            self.originalTransactionID = originalTransactionID
            self.invitations = invitations
            self.total = total
            self.available = available
            self.renewalCount = renewalCount
            self.taken = taken
        }
    }

    /// A seat that a member has, or that the app's server claimed.
    package struct TakenSeat: Codable, Sendable, Equatable {
        /// The account of the member; `nil` for a claim without a member.
        package var account: String?
        /// The identifier of the claim; `nil` for a seat that Apple assigned.
        package var claimID: String?
        package var since: Date
        package init(account: String?, claimID: String?, since: Date) {
            self.account = account
            self.claimID = claimID
            self.since = since
        }
    }

    package struct SeatInfos: Codable, Sendable, Equatable {
        package var seats: [SeatInfo]
        package init(seats: [SeatInfo]) { self.seats = seats }
    }
}
