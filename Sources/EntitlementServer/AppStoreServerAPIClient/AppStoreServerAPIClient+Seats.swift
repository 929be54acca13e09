import AppStorePayloads
import Foundation
import HTTPCore
import StoreModel

/// Groups of customers, and seats of subscriptions whose members the app invites. Apple has these endpoints in the
/// sandbox only.
extension AppStoreServerAPIClient {
    private static func path(_ original: TransactionID, _ components: String...) -> [String] {
        ["v1", "transactions", original.rawValue, "seats"] + components
    }

    private static func text(_ id: UUID) -> String { id.uuidString.lowercased() }

    /// Gets the groups of a customer (Get Customer Groups).
    ///
    /// - Parameter appTransaction: The identifier of the customer's app transaction.
    /// - Returns: The groups, and the customer's roles in them.
    /// - Throws: ``AppStoreServerAPIError``, or `CancellationError`.
    public func customerGroups(
        of appTransaction: String
    ) async throws -> AppStoreServerAPI.GetCustomerGroupsResponse {
        try await connection.request(
            .init(method: .get, root: "groups", path: ["v1", "currentGroups", appTransaction]))
    }

    /// Gets a page of the members of a group (Get Group Members).
    ///
    /// - Parameters:
    ///   - group: The identifier of the group.
    ///   - limit: The largest number of members of the page; `nil` means Apple's default.
    ///   - paginationToken: The token of the previous page; `nil` for the first page.
    /// - Returns: The members.
    /// - Throws: ``AppStoreServerAPIError``, or `CancellationError`.
    public func groupMembers(
        of group: String, limit: Int? = nil, paginationToken: String? = nil
    ) async throws -> AppStoreServerAPI.GetGroupMembersResponse {
        let query = [("limit", limit.map { "\($0)" }), ("paginationToken", paginationToken)]
        return try await connection.request(
            .init(
                method: .get, root: "groups", path: ["v1", "group", group],
                query: query.compactMap { name, value in value.map { (name, $0) } }))
    }

    /// Gets the numbers of seats of a subscription, and its seat claims (Get Seat Info).
    ///
    /// - Parameter original: The original transaction of the subscription.
    /// - Returns: The numbers and the claims.
    /// - Throws: ``AppStoreServerAPIError``, or `CancellationError`.
    public func seatInfo(of original: TransactionID) async throws -> AppStoreServerAPI.GetSeatInfoResponse {
        try await connection.request(.init(method: .get, root: "groups", path: Self.path(original)))
    }

    /// Claims a seat of a subscription for a member (Claim Seat). Store the request identifier before the call: a
    /// repetition with the same one claims no second seat.
    ///
    /// - Parameters:
    ///   - original: The original transaction of the subscription.
    ///   - requestIdentifier: The identifier of this claim, which the caller chooses.
    ///   - appTransaction: The identifier of the member's app transaction, if it is known.
    /// - Returns: The identifier of the claim.
    /// - Throws: ``AppStoreServerAPIError``, or `CancellationError`.
    public func claimSeat(
        of original: TransactionID, requestIdentifier: UUID, appTransaction: String? = nil
    ) async throws -> AppStoreServerAPI.ClaimSeatResponse {
        let body = AppStoreServerAPI.ClaimSeatRequest {
            $0.requestIdentifier = requestIdentifier
            $0.appTransactionId = appTransaction
        }
        return try await connection.request(
            .init(method: .post, root: "groups", path: Self.path(original), body: body.json))
    }

    /// Releases a seat that was claimed (Unclaim Seat).
    ///
    /// - Parameters:
    ///   - claim: The identifier of the claim.
    ///   - original: The original transaction of the subscription.
    /// - Throws: ``AppStoreServerAPIError``, or `CancellationError`.
    public func unclaimSeat(_ claim: UUID, of original: TransactionID) async throws {
        try await connection.send(
            .init(method: .delete, root: "groups", path: Self.path(original, Self.text(claim)), mayRepeat: false))
    }

    /// Associates a member with a seat that was claimed (Associate Seat).
    ///
    /// - Parameters:
    ///   - claim: The identifier of the claim.
    ///   - original: The original transaction of the subscription.
    ///   - appTransaction: The identifier of the member's app transaction.
    /// - Throws: ``AppStoreServerAPIError``, or `CancellationError`.
    public func associateSeat(
        _ claim: UUID, of original: TransactionID, with appTransaction: String
    ) async throws {
        try await connection.send(
            .init(
                method: .post, root: "groups", path: Self.path(original, Self.text(claim), "associate"),
                body: AppStoreServerAPI.AssociateSeatRequest { $0.appTransactionId = appTransaction }.json))
    }
}
