import Foundation
import Primitives
import StoreModel

extension AppStoreServerAPI {
    /// The seats of a transaction that sold several seats of a subscription.
    package typealias TransactionMultiSeatInfo = AppStorePayload<TransactionMultiSeatInfoFields>

    /// The members of ``TransactionMultiSeatInfo`` that Apple documents.
    package final class TransactionMultiSeatInfoFields: AppStorePayloadFields {
        package static let layout = PayloadLayout(TransactionMultiSeatInfoFields())

        /// Whether Apple or the app invites the members.
        package let invitationManagement = PayloadField<InvitationManagement>("invitationManagement")
        /// The numbers of seats at each price.
        package let priceTiers = PayloadField<[MultiSeatPriceTier]>("priceTiers")
        /// The number of seats that were refunded while the others stay valid. Absent if none was.
        package let revokedSeatQuantity = PayloadField<Int>("revokedSeatQuantity")
    }

    /// Whether Apple or the app invites the members of a subscription with several seats.
    package typealias InvitationManagement = OpenEnum<TransactionMultiSeatInfoFields>

    /// The seats of the next renewal of a subscription.
    package typealias RenewalMultiSeatInfo = AppStorePayload<RenewalMultiSeatInfoFields>

    /// The members of ``RenewalMultiSeatInfo`` that Apple documents.
    package final class RenewalMultiSeatInfoFields: AppStorePayloadFields {
        package static let layout = PayloadLayout(RenewalMultiSeatInfoFields())

        /// The numbers of seats at each price.
        package let renewalPriceTiers = PayloadField<[MultiSeatPriceTier]>("renewalPriceTiers")
    }

    /// A number of seats and the price of each.
    package typealias MultiSeatPriceTier = AppStorePayload<MultiSeatPriceTierFields>

    /// The members of ``MultiSeatPriceTier`` that Apple documents.
    package final class MultiSeatPriceTierFields: AppStorePayloadFields {
        package static let layout = PayloadLayout(MultiSeatPriceTierFields())

        /// The price of one seat, in thousandths of the currency unit.
        package let price = PayloadField<Int>("price")
        /// The number of seats.
        package let quantity = PayloadField<Int>("quantity")
    }

    /// The reason why several transactions represent one subscription period.
    package typealias AdditionalTransactionReason = OpenEnum<TransactionMultiSeatInfo>

    /// The part of a notification about seat claims that the App Store ended.
    package typealias UnclaimInfo = AppStorePayload<UnclaimInfoFields>

    /// The members of ``UnclaimInfo`` that Apple documents.
    package final class UnclaimInfoFields: AppStorePayloadFields {
        package static let layout = PayloadLayout(UnclaimInfoFields())

        /// The identifiers of the claims.
        package let unclaimSeatIds = PayloadField<[UUID]>("unclaimSeatIds")
    }
}

extension AppStoreServerAPI.InvitationManagement {
    package static var apple: Self { Self(rawValue: "APPLE") }
    package static var developer: Self { Self(rawValue: "DEVELOPER") }
}

extension AppStoreServerAPI.AdditionalTransactionReason {
    package static var seatAddition: Self { Self(rawValue: "SEAT_ADDITION") }
}

extension AppStoreServerAPI.NotificationType {
    /// The App Store ended seat claims.
    package static var unclaimSeats: Self { Self(rawValue: "UNCLAIM_SEATS") }
}

extension AppStoreServerAPI.Subtype {
    package static var increaseQuantity: Self { Self(rawValue: "INCREASE_QUANTITY") }
    package static var decreaseQuantity: Self { Self(rawValue: "DECREASE_QUANTITY") }
    package static var seats: Self { Self(rawValue: "SEATS") }
}
