import AppStorePayloads
import Foundation
import HTTPCore
import Primitives
import StoreModel

extension ServerAPIEndpoints {
    private static let seatsPath = "/groups/v1/transactions/{originalTransactionId}/seats"

    /// The endpoints for seats that the app's server manages, and for groups of customers.
    static let seats: [Endpoint<ServerAPIHandler>] = [
        get("/groups/v1/currentGroups/{appTransactionId}", "Get Customer Groups", rate: 10) { call in
            let id = call.text("appTransactionId")
            guard id.utf8.count <= 20, id.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
                throw ServerRefusal.appTransactionNotFound
            }
            return try call.store.groups(of: id)
        },
        get("/groups/v1/group/{groupId}", "Get Group Members", rate: 10) { call in
            guard let id = UUID(text: call.text("groupId")) else { throw ServerRefusal.invalidGroup }
            return try call.store.members(
                ofGroup: id, limit: try limit(call),
                after: try call.single("paginationToken", else: .generalBadRequest))
        },
        get(seatsPath, "Get Seat Info", rate: 10) { call in
            let original = try call.number("originalTransactionId", else: .invalidOriginalTransactionId)
            return try call.store.read({
                try $0.owner(ofTransaction: original, else: .originalTransactionIdNotFound)
            }) { db, _, now in
                let state = try SimulatedAppStore.claimableSubscription(original, db, at: now)
                let claims = try db.seatClaims(of: state.record)
                return API.GetSeatInfoResponse {
                    $0.totalSeatCount = state.seatCount
                    $0.availableSeatCount = max(0, state.seatCount - claims.count)
                    $0.assignedSeatClaimIds = claims.map(\.id)
                }
            }
        },
        action(.post, seatsPath, "Claim Seat", rate: 10) { call in
            let original = try call.number("originalTransactionId", else: .invalidOriginalTransactionId)
            let body = try await call.body(as: API.ClaimSeatRequest.self)
            guard let request = body.requestIdentifier else { throw API.ErrorCode.invalidRequestIdentifier }
            let claim = try await call.store.claimSeat(
                of: original, request: request, appTransactionID: body.appTransactionId)
            return API.ClaimSeatResponse { $0.seatClaimId = claim }
        },
        action(.delete, seatsPath + "/{seatClaimId}", "Unclaim Seat", rate: 10) { call in
            let original = try call.number("originalTransactionId", else: .invalidOriginalTransactionId)
            try await call.store.unclaimSeat(try claim(call), of: original)
        },
        action(.post, seatsPath + "/{seatClaimId}/associate", "Associate Seat", rate: 10) { call in
            let original = try call.number("originalTransactionId", else: .invalidOriginalTransactionId)
            let body = try await call.body(as: API.AssociateSeatRequest.self)
            try await call.store.associateSeat(try claim(call), of: original, with: body.appTransactionId)
        },
    ]

    private static func claim(_ call: ServerCall) throws -> UUID {
        guard let id = UUID(text: call.text("seatClaimId")) else { throw ServerRefusal.seatClaimNotFound }
        return id
    }

    private static func limit(_ call: ServerCall) throws -> Int {
        guard let text = try call.single("limit", else: .generalBadRequest) else { return 100 }
        guard let limit = Int(text), String(limit) == text, (1...100).contains(limit) else {
            throw ServerRefusal.invalidLimit
        }
        return limit
    }
}

extension SimulatedAppStore {
    /// The groups of an active subscription with several seats: its buyer and the members who have a seat.
    private static func groupID(of original: Int64, _ db: SimulatorDatabase) throws -> UUID {
        UUID(namespace: .simulatedStore, name: "group \(try db.seed()) \(original)")
    }

    /// Returns the groups of a customer. Throws `ServerRefusal`.
    fileprivate func groups(of appTransactionID: String) throws -> AppStoreServerAPI.GetCustomerGroupsResponse {
        try read({ db in
            guard let account = try db.account(appTransactionID: appTransactionID) else {
                throw ServerRefusal.appTransactionNotFound
            }
            return account
        }) { db, account, now in
            let conditions = try db.conditions()
            let records = try db.subscriptions(of: account.id)
            let own = records.filter { $0.share == nil }.map(\.originalID)
            let assigned = records.compactMap { $0.share?.isAssigned == true ? $0.share : nil }
                .filter { $0.until == nil }.map(\.ownerOriginalID)
            let claimed = try db.seatClaims(by: appTransactionID).map(\.original)
            let groups = try Set(own + assigned + claimed).sorted().filter { original in
                guard let record = try db.subscription(original), record.runs.last?.plan.seats != nil else {
                    return false
                }
                let isMember =
                    try !claimed.contains(original) || own.contains(original) || assigned.contains(original)
                    || db.seatClaims(of: record).contains { $0.appTransactionID == appTransactionID }
                let instant = max(now, record.changedAt)
                return isMember && SubscriptionState(of: record, under: conditions, at: instant).isActive
            }
            return try AppStoreServerAPI.GetCustomerGroupsResponse {
                $0.groups = try groups.map { original in
                    let id = try Self.groupID(of: original, db)
                    return AppStoreServerAPI.GroupEntry {
                        $0.groupId = id.lowercased
                        $0.groupType = .consumer
                    }
                }
            }
        }
    }

    /// Returns a page of the members of a group, the buyer first. Throws `ServerRefusal`.
    fileprivate func members(
        ofGroup id: UUID, limit: Int, after token: String?
    ) throws -> AppStoreServerAPI.GetGroupMembersResponse {
        let tokens = PageTokens(subject: "group members \(id.lowercased)")
        var start = 0
        if let token {
            switch tokens.place(of: token) {
            case .after(let position)?: start = Int(clamping: position.at)
            default: throw AppStoreServerAPI.ErrorCode.invalidPaginationToken
            }
        }
        let members = try database.read { [virtualClock] sql in
            let db = SimulatorDatabase(sql)
            let (conditions, now) = (try db.conditions(), try db.now(virtualClock))
            let originals = try sql.query("SELECT DISTINCT original FROM run WHERE seats IS NOT NULL ORDER BY original")
            for row in originals {
                let original: Int64 = try row["original"]
                guard try Self.groupID(of: original, db) == id, let record = try db.subscription(original),
                    record.runs.last?.plan.seats != nil,
                    SubscriptionState(of: record, under: conditions, at: max(now, record.changedAt)).isActive
                else { continue }
                let assigned = try db.assignedSeats(of: original).compactMap {
                    try db.account($0.accountID)?.appTransactionID
                }
                let claimed = try db.seatClaims(of: record).compactMap(\.appTransactionID)
                var seen: Set<ExactString> = []
                let buyer = try db.account(record.accountID)?.appTransactionID
                return ([buyer].compactMap(\.self) + assigned + claimed).filter {
                    seen.insert(ExactString($0)).inserted
                }
            }
            throw ServerRefusal.groupNotFound
        }
        let page = Array(members.dropFirst(start).prefix(limit))
        let end = start + page.count
        return AppStoreServerAPI.GetGroupMembersResponse {
            $0.members = page.map { member in .init { $0.appTransactionId = member } }
            $0.hasMore = end < members.count
            if end < members.count {
                $0.paginationToken = tokens.token(for: .after(ListPosition(at: Int64(end), number: 1)))
            }
        }
    }
}
