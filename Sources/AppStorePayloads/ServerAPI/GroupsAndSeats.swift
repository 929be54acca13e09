import Foundation
import Primitives
import StoreModel

extension AppStoreServerAPI {
    /// The response of Get Customer Groups.
    public typealias GetCustomerGroupsResponse = AppStorePayload<GetCustomerGroupsResponseFields>

    /// The members of ``GetCustomerGroupsResponse`` that Apple documents.
    public final class GetCustomerGroupsResponseFields: AppStorePayloadFields {
        public static let layout = PayloadLayout(GetCustomerGroupsResponseFields())

        /// The groups of the customer.
        public let groups = PayloadField<[GroupEntry]>("groups")
    }

    /// A group of customers, with one customer's roles in it.
    public typealias GroupEntry = AppStorePayload<GroupEntryFields>

    /// The members of ``GroupEntry`` that Apple documents.
    public final class GroupEntryFields: AppStorePayloadFields {
        public static let layout = PayloadLayout(GroupEntryFields())

        /// The identifier of the group.
        public let groupId = PayloadField<String>("groupId")
        /// Whether a customer or an organization bought the seats.
        public let groupType = PayloadField<CustomerGroupType>("groupType")
        /// The customer's role for each product. Only an organization has roles.
        public let roles = PayloadField<[RoleEntry]>("roles")
    }

    /// Whether a customer or an organization bought the seats of a group.
    public typealias CustomerGroupType = OpenEnum<GroupEntryFields>

    /// A customer's role for one product of a group.
    public typealias RoleEntry = AppStorePayload<RoleEntryFields>

    /// The members of ``RoleEntry`` that Apple documents.
    public final class RoleEntryFields: AppStorePayloadFields {
        public static let layout = PayloadLayout(RoleEntryFields())

        /// The product.
        public let productId = PayloadField<String>("productId")
        /// The role for the product.
        public let role = PayloadField<CustomerGroupRole>("role")
    }

    /// A customer's role for a product of a group.
    public typealias CustomerGroupRole = OpenEnum<RoleEntryFields>

    /// The response of Get Group Members.
    public typealias GetGroupMembersResponse = AppStorePayload<GetGroupMembersResponseFields>

    /// The members of ``GetGroupMembersResponse``. The name of the list of members is an assumption, because the
    /// documentation of Apple that could be read does not have it.
    public final class GetGroupMembersResponseFields: AppStorePayloadFields {
        public static let layout = PayloadLayout(GetGroupMembersResponseFields())

        /// The members of this page.
        public let members = PayloadField<[GroupMemberEntry]>("members")
        /// Whether there is a next page.
        public let hasMore = PayloadField<Bool>("hasMore")
        /// The token of the next page.
        public let paginationToken = PayloadField<String>("paginationToken")
    }

    /// A member of a group.
    public typealias GroupMemberEntry = AppStorePayload<GroupMemberEntryFields>

    /// The members of ``GroupMemberEntry`` that Apple documents.
    public final class GroupMemberEntryFields: AppStorePayloadFields {
        public static let layout = PayloadLayout(GroupMemberEntryFields())

        /// The identifier of the member's app transaction.
        public let appTransactionId = PayloadField<String>("appTransactionId")
    }

    /// The response of Get Seat Info.
    public typealias GetSeatInfoResponse = AppStorePayload<GetSeatInfoResponseFields>

    /// The members of ``GetSeatInfoResponse`` that Apple documents.
    public final class GetSeatInfoResponseFields: AppStorePayloadFields {
        public static let layout = PayloadLayout(GetSeatInfoResponseFields())

        /// The number of seats of the subscription.
        public let totalSeatCount = PayloadField<Int>("totalSeatCount")
        /// The number of seats that can be claimed.
        public let availableSeatCount = PayloadField<Int>("availableSeatCount")
        /// The identifiers of the claims. After a renewal with fewer seats they can be more than the seats.
        public let assignedSeatClaimIds = PayloadField<[UUID]>("assignedSeatClaimIds")
    }

    /// The request of Claim Seat.
    package typealias ClaimSeatRequest = AppStorePayload<ClaimSeatRequestFields>

    /// The members of ``ClaimSeatRequest`` that Apple documents.
    package final class ClaimSeatRequestFields: AppStorePayloadFields {
        package static let layout = PayloadLayout(ClaimSeatRequestFields())

        /// The identifier of the claim that the developer chose. A repetition with the same one claims no second seat.
        package let requestIdentifier = PayloadField<UUID>("requestIdentifier")
        /// The identifier of the member's app transaction.
        package let appTransactionId = PayloadField<String>("appTransactionId")
    }

    /// The response of Claim Seat.
    public typealias ClaimSeatResponse = AppStorePayload<ClaimSeatResponseFields>

    /// The members of ``ClaimSeatResponse`` that Apple documents.
    public final class ClaimSeatResponseFields: AppStorePayloadFields {
        public static let layout = PayloadLayout(ClaimSeatResponseFields())

        /// The identifier of the claim.
        public let seatClaimId = PayloadField<UUID>("seatClaimId")
    }

    /// The request of Associate Seat.
    package typealias AssociateSeatRequest = AppStorePayload<AssociateSeatRequestFields>

    /// The members of ``AssociateSeatRequest`` that Apple documents.
    package final class AssociateSeatRequestFields: AppStorePayloadFields {
        package static let layout = PayloadLayout(AssociateSeatRequestFields())

        /// The identifier of the member's app transaction.
        package let appTransactionId = PayloadField<String>("appTransactionId")
    }
}

extension AppStoreServerAPI.CustomerGroupType {
    public static var consumer: Self { Self(rawValue: "CONSUMER") }
    public static var organization: Self { Self(rawValue: "ORGANIZATION") }
}

extension AppStoreServerAPI.CustomerGroupRole {
    public static var admin: Self { Self(rawValue: "ADMIN") }
    public static var none: Self { Self(rawValue: "NONE") }
}
