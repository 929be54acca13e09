import AppStorePayloads
import Foundation
import Primitives
import StoreModel
import Testing

@testable import AppStoreSimulator

struct SeatEndpointTests {
    private typealias Info = AppStoreServerAPI.GetSeatInfoResponse

    private static func withSeats(
        _ count: Int, _ invitations: String = "developer",
        _ body: (TestStore, ServerClient, String) async throws -> Void
    ) async throws {
        try await TestStore.withServer { test, client in
            try await test.store.set(.seatInvitations, to: .string(invitations))
            let bought = try await test.buy("weekly", quantity: count)
            for name in ["ben", "cora"] as [AccountName] { try await test.store.createAccount(name) }
            try await body(test, client, "/groups/v1/transactions/\(bought.transactionID)/seats")
        }
    }

    private static func claim(
        _ client: ServerClient, _ path: String, _ request: UUID = UUID(), member: String? = nil
    ) async throws -> UUID? {
        let body = AppStoreServerAPI.ClaimSeatRequest {
            $0.requestIdentifier = request
            $0.appTransactionId = member
        }
        let response = try await client.send(.post, path, body.json.text())
        guard response.isSuccess else { return nil }
        return try AppStoreServerAPI.ClaimSeatResponse(json: try await response.body.json()).seatClaimId
    }

    @Test func `a seat is claimed, associated and released`() async throws {
        try await Self.withSeats(2) { test, client, path in
            let ben = try test.appTransactionID("ben")
            let first = try #require(try await Self.claim(client, path, member: ben))
            let second = try #require(try await Self.claim(client, path))
            var info = try await client.get(path, as: Info.self)
            #expect(info.totalSeatCount == 2 && info.availableSeatCount == 0)
            #expect(Set(info.assignedSeatClaimIds ?? []) == [first, second])
            #expect(try await client.code(.post, path, #"{"requestIdentifier":"\#(UUID())"}"#)?.rawValue == 4_030_902)
            let cora = try test.appTransactionID("cora")
            let associated = try await client.send(
                .post, "\(path)/\(second)/associate", #"{"appTransactionId":"\#(cora)"}"#)
            #expect(associated.isSuccess)
            #expect(try test.store.seats(of: "anna")[0].taken.map(\.account) == ["ben", "cora"])
            #expect(try await client.send(.delete, "\(path)/\(first)").isSuccess)
            info = try await client.get(path, as: Info.self)
            #expect(info.availableSeatCount == 1 && info.assignedSeatClaimIds == [second])
            #expect(try await client.code(.delete, "\(path)/\(first)")?.rawValue == 4_040_902)
            // A member of these groups has no transaction.
            #expect(try await test.payloads("ben").isEmpty)
        }
    }

    @Test func `after a renewal with fewer seats all claims stay, and no more seats can be claimed`() async throws {
        try await Self.withSeats(3) { test, client, path in
            for _ in 0..<3 { _ = try await Self.claim(client, path) }
            try await test.store.setRenewalSeats(2, of: "weekly", for: "anna")
            try await test.advance(.weeks(1))
            let info = try await client.get(path, as: Info.self)
            #expect(info.totalSeatCount == 2 && info.availableSeatCount == 0)
            let claims = try #require(info.assignedSeatClaimIds)
            #expect(claims.count == 3)
            _ = try await client.send(.delete, "\(path)/\(claims[0])")
            #expect(try await Self.claim(client, path) == nil)
            _ = try await client.send(.delete, "\(path)/\(claims[1])")
            #expect(try await Self.claim(client, path) != nil)
        }
    }

    @Test func `invalid requests are refused`() async throws {
        try await Self.withSeats(2) { test, client, path in
            let body = #"{"requestIdentifier":"\#(UUID())"}"#
            #expect(try await client.code(.post, path, "{}") == .invalidRequestIdentifier)
            #expect(try await client.code(.post, path, #"{"requestIdentifier":"7"}"#) == .invalidRequestIdentifier)
            let stranger = #"{"requestIdentifier":"\#(UUID())","appTransactionId":"1\u0000"}"#
            #expect(try await client.code(.post, path, stranger)?.rawValue == 4_040_901)
            #expect(try await client.code(.delete, "\(path)/\(UUID())")?.rawValue == 4_040_902)
            #expect(try await client.code(.delete, "\(path)/x")?.rawValue == 4_040_902)
            for number in impossibleNumbers {
                let code = try await client.code(.get, "/groups/v1/transactions/\(number)/seats")
                #expect(code == .invalidOriginalTransactionId, "\(number)")
            }
            #expect(try await client.code(.get, "/groups/v1/transactions/77/seats") == .originalTransactionIdNotFound)
            try await test.advance(.weeks(1))
            let renewed = try await test.store.subscriptions(of: "anna")[0].transactionID
            let code = try await client.code(.get, "/groups/v1/transactions/\(renewed)/seats")
            #expect(code == .transactionIdIsNotOriginalTransactionId)
            let single = try await test.buy("paygo").transactionID
            #expect(try await client.code(.get, "/groups/v1/transactions/\(single)/seats")?.rawValue == 4_000_902)
            try await test.store.expire("weekly", for: "anna")
            #expect(try await client.code(.post, path, body)?.rawValue == 4_030_901)
            #expect(try await client.send(.get, path, "", token: nil).status == 401)
        }
        try await Self.withSeats(2, "apple") { test, client, path in
            #expect(try await client.code(.get, path)?.rawValue == 4_000_902)
            try await test.store.assignSeat(of: "weekly", to: "ben", for: "anna")
            let seat = try #require(try await test.payloads("ben").first?.transactionId)
            #expect(try await client.code(.get, "/groups/v1/transactions/\(seat)/seats")?.rawValue == 4_000_901)
        }
    }

    @Test func `of concurrent claims with repetitions as many succeed as there are seats`() async throws {
        try await Self.withSeats(7) { _, client, path in
            let requests = (0..<12).map { _ in UUID() }
            let claimed = try await withThrowingTaskGroup(of: (UUID, UUID?).self) { group in
                for request in requests + requests + requests {
                    group.addTask { (request, try await Self.claim(client, path, request)) }
                }
                return try await group.reduce(into: [UUID: Set<UUID>]()) { found, answer in
                    if let claim = answer.1 { found[answer.0, default: []].insert(claim) }
                }
            }
            #expect(claimed.count == 7 && claimed.values.allSatisfy { $0.count == 1 })
            #expect(Set(claimed.values.flatMap(\.self)).count == 7)
            let info = try await client.get(path, as: Info.self)
            #expect(info.availableSeatCount == 0 && Set(info.assignedSeatClaimIds ?? []).count == 7)
        }
    }

    /// Random claims, releases, repetitions, additions, reductions and renewals, compared with a model.
    @Test(arguments: 0..<6 as Range<UInt64>) func `claims never exceed the seats that are left`(seed: UInt64)
        async throws
    {
        var random = SubscriptionStatePropertyTests.Source(seed: seed)
        try await Self.withSeats(3) { test, client, path in
            var (total, next) = (3, 3)
            var claims: [UUID: UUID] = [:]
            var active: Set<UUID> = []
            for _ in 0..<40 {
                switch Int.random(in: 0..<10, using: &random) {
                case 0..<5:
                    let isRepeated = Bool.random(using: &random)
                    let request =
                        isRepeated ? claims.keys.sorted { "\($0)" < "\($1)" }.randomElement(using: &random) : nil
                    let id = request ?? UUID()
                    let claim = try await Self.claim(client, path, id)
                    if let known = claims[id] {
                        #expect(claim == known)
                    } else if active.count < total {
                        let new = try #require(claim)
                        #expect(!claims.values.contains(new))
                        claims[id] = new
                        active.insert(new)
                    } else {
                        #expect(claim == nil)
                    }
                case 5..<7:
                    guard let claim = active.sorted(by: { "\($0)" < "\($1)" }).randomElement(using: &random) else {
                        continue
                    }
                    #expect(try await client.send(.delete, "\(path)/\(claim)").isSuccess)
                    active.remove(claim)
                case 7:
                    total += 1
                    next = total
                    try await test.buy("weekly", quantity: total)
                case 8:
                    next = Int.random(in: 1...total, using: &random)
                    try await test.store.setRenewalSeats(next, of: "weekly", for: "anna")
                default:
                    try await test.advance(.weeks(1))
                    total = next
                }
                let info = try await client.get(path, as: Info.self)
                #expect(info.totalSeatCount == total)
                #expect(info.availableSeatCount == max(0, total - active.count))
                #expect(Set(info.assignedSeatClaimIds ?? []) == active)
            }
        }
    }

    @Test func `the buyer and the members of a subscription with seats are a group`() async throws {
        typealias Groups = AppStoreServerAPI.GetCustomerGroupsResponse
        typealias Members = AppStoreServerAPI.GetGroupMembersResponse
        try await Self.withSeats(2, "apple") { test, client, _ in
            try await test.store.assignSeat(of: "weekly", to: "ben", for: "anna")
            let (anna, ben, cora) = (
                try test.appTransactionID(), try test.appTransactionID("ben"), try test.appTransactionID("cora")
            )
            let group = try await client.get("/groups/v1/currentGroups/\(anna)", as: Groups.self).groups?.first
            let id = try #require(group?.groupId)
            #expect(group?.groupType == .consumer && group?.roles == nil)
            #expect(
                try await client.get("/groups/v1/currentGroups/\(ben)", as: Groups.self).groups?.first?.groupId == id)
            #expect(try await client.get("/groups/v1/currentGroups/\(cora)", as: Groups.self).groups?.isEmpty == true)
            let page = try await client.get("/groups/v1/group/\(id)?limit=1", as: Members.self)
            #expect(page.members?.map(\.appTransactionId) == [anna] && page.hasMore == true)
            let token = try #require(page.paginationToken)
            let rest = try await client.get("/groups/v1/group/\(id)?paginationToken=\(token)", as: Members.self)
            #expect(rest.members?.map(\.appTransactionId) == [ben] && rest.hasMore == false)
            #expect(rest.paginationToken == nil)
            for (query, code) in [("limit=0", 4_000_904), ("limit=101", 4_000_904), ("paginationToken=x", 4_000_014)] {
                #expect(try await client.code(.get, "/groups/v1/group/\(id)?\(query)")?.rawValue == code, "\(query)")
            }
            #expect(try await client.code(.get, "/groups/v1/group/x")?.rawValue == 4_000_903)
            #expect(try await client.code(.get, "/groups/v1/group/\(UUID())")?.rawValue == 4_040_903)
            #expect(try await client.code(.get, "/groups/v1/currentGroups/1")?.rawValue == 4_040_901)
            try await test.store.removeSeat(of: "weekly", from: "ben", for: "anna")
            #expect(try await client.get("/groups/v1/currentGroups/\(ben)", as: Groups.self).groups?.isEmpty == true)
            try await test.store.expire("weekly", for: "anna")
            #expect(try await client.code(.get, "/groups/v1/group/\(id)")?.rawValue == 4_040_903)
        }
        try await Self.withSeats(2) { test, client, path in
            let cora = try test.appTransactionID("cora")
            _ = try await Self.claim(client, path, member: cora)
            let group = try await client.get("/groups/v1/currentGroups/\(cora)", as: Groups.self).groups?.first
            let id = try #require(group?.groupId)
            let members = try await client.get("/groups/v1/group/\(id)", as: Members.self).members
            #expect(members?.map(\.appTransactionId) == [try test.appTransactionID(), cora])
        }
    }
}
