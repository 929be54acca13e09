import AppStorePayloads
import Foundation
import HTTPCore
import Primitives
import StoreKitAdapter
import StoreModel
import Testing

@testable import AppStoreSimulator

struct HistoryTests {
    private typealias Answer = AppStoreServerAPI.HistoryResponse

    private static func ids(
        _ test: TestStore, _ client: ServerClient, _ customer: String, _ query: String = "", version: Int = 2
    ) async throws -> [String] {
        let answer = try await client.get(
            "/inApps/v\(version)/history/\(customer)\(query.isEmpty ? "" : "?\(query)")", as: Answer.self)
        #expect(answer.bundleId == "com.example.souk" && answer.environment == .sandbox && answer.appAppleId == nil)
        #expect(answer.revision?.isEmpty == false && answer.hasMore == false)
        return try test.decoded(answer.signedTransactions).compactMap(\.transactionId)
    }

    /// Buys coins, pack, pass, monthly (with a free week) and weekly for `anna`. Returns the transaction numbers in
    /// this order.
    private static func shop(_ test: TestStore) async throws -> [String] {
        var bought: [String] = []
        for product in ["coins", "pack", "pass", "monthly", "weekly"] as [ProductID] {
            bought.append(try await test.buy(product).transactionID.rawValue)
            try await test.advance(.days(1))
        }
        return bought
    }

    @Test func `the history has a customer's transactions, oldest first, by any of their transaction numbers`()
        async throws
    {
        try await TestStore.withServer { test, client in
            let bought = try await Self.shop(test)
            try await test.buy("coins", "ben")
            for number in [bought[0], bought[4], try test.appTransactionID()] {
                #expect(try await Self.ids(test, client, number) == bought)
            }
            #expect(try await Self.ids(test, client, bought[0], "sort=DESCENDING") == bought.reversed())
            #expect(try await Self.ids(test, client, bought[0], "sort=ASCENDING") == bought)
            try await test.store.createAccount("cora")
            #expect(try await Self.ids(test, client, try test.appTransactionID("cora")).isEmpty)
        }
    }

    @Test func `each filter selects matching transactions, and several filters select those that match all`()
        async throws
    {
        try await TestStore.withServer { test, client in
            let bought = try await Self.shop(test)
            try await test.store.refund(TransactionID(unchecked: bought[1]))
            let dates = try await test.payloads().map { try #require($0.purchaseDate).payloadValue.text() }
            let expected: [(String, [Int])] = [
                ("startDate=\(dates[3])", [3, 4]), ("endDate=\(dates[3])", [0, 2, 1]),
                ("startDate=\(dates[2])&endDate=\(dates[3])", [2]), ("endDate=99999999999999", [0, 2, 3, 4, 1]),
                ("productId=coins", [0]), ("productId=coins&productId=weekly", [0, 4]), ("productId=nothing", []),
                ("productType=AUTO_RENEWABLE", [3, 4]), ("productType=CONSUMABLE&productType=NON_RENEWABLE", [0, 2]),
                ("productType=NON_CONSUMABLE", [1]), ("subscriptionGroupIdentifier=plus", [3]),
                ("subscriptionGroupIdentifier=plus&subscriptionGroupIdentifier=week", [3, 4]),
                ("inAppOwnershipType=PURCHASED", [0, 2, 3, 4, 1]), ("inAppOwnershipType=FAMILY_SHARED", []),
                ("revoked=true", [1]), ("revoked=False", [0, 2, 3, 4]), ("excludeRevoked=true", [0, 2, 3, 4]),
                ("excludeRevoked=false", [0, 2, 3, 4, 1]),
                ("productType=AUTO_RENEWABLE&productId=coins", []), ("nothing=7", [0, 2, 3, 4, 1]),
                ("productType=AUTO_RENEWABLE&subscriptionGroupIdentifier=week&revoked=false", [4]),
            ]
            for (query, places) in expected {
                // The revoked transaction was modified last.
                let wanted = places.map { bought[$0] }
                for version in 1...2 {
                    #expect(
                        try await Self.ids(test, client, bought[0], query, version: version) == wanted,
                        "\(query) in version \(version)")
                }
            }
        }
    }

    @Test func `an invalid value has the error code of its filter`() async throws {
        try await TestStore.withServer { test, client in
            let bought = try await test.buy("coins").transactionID
            let refused: [(String, ErrorCode)] = [
                ("startDate=yesterday", .invalidStartDate), ("startDate=-1", .invalidStartDate),
                ("startDate=1&startDate=2", .invalidStartDate), ("endDate=1.5", .invalidEndDate),
                ("endDate=", .invalidEndDate), ("startDate=5&endDate=5", .invalidEndDate),
                ("productType=BOOK", .invalidProductType), ("productType=CONSUMABLE&productType=", .invalidProductType),
                ("productId=", .invalidProductId), ("sort=UP", .invalidSort),
                ("sort=ASCENDING&sort=DESCENDING", .invalidSort),
                ("subscriptionGroupIdentifier=", .invalidSubscriptionGroupIdentifier),
                ("inAppOwnershipType=MINE", .invalidInAppOwnershipType), ("revoked=2", .invalidRevoked),
                ("excludeRevoked=no", .invalidExcludeRevoked), ("revision=x", .invalidRequestRevision),
                ("revision=", .invalidRequestRevision), ("revision=1_2_3", .invalidRequestRevision),
                ("revision=a&revision=a", .invalidRequestRevision), ("productId=%FF", .generalBadRequest),
            ]
            for (query, code) in refused {
                for version in 1...2 {
                    let path = "/inApps/v\(version)/history/\(bought)?\(query)"
                    #expect(try await client.code(.get, path) == code, "\(query)")
                }
            }
            for version in 1...2 {
                for number in impossibleNumbers {
                    #expect(
                        try await client.code(.get, "/inApps/v\(version)/history/\(number)") == .invalidTransactionId)
                }
                #expect(try await client.code(.get, "/inApps/v\(version)/history/77") == .transactionIdNotFound)
            }
        }
    }

    @Test func `version 1 omits finished consumables, unless they were revoked`()
        async throws
    {
        try await TestStore.withServer { test, client in
            var coins: [TransactionID] = []
            for _ in 0..<3 { coins.append(try await test.buy("coins").transactionID) }
            let pack = try await test.buy("pack").transactionID
            for transaction in [coins[0], coins[1], pack] {
                #expect(try await client.code(.post, "/inApps/v1/transactions/\(transaction)/finish") == nil)
            }
            try await test.store.refund(coins[1])
            let all = [coins[0], coins[2], pack, coins[1]].map(\.rawValue)
            #expect(try await Self.ids(test, client, coins[0].rawValue) == all)
            #expect(try await Self.ids(test, client, coins[0].rawValue, version: 1) == Array(all.dropFirst()))
        }
    }

    @Test func `a shared transaction is in the member's history from the day of joining`() async throws {
        try await TestStore.withServer(catalogue: TestStore.familyCatalogue) { test, client in
            try await test.store.createAccount("ben")
            let coins = try await test.buy("coins", "ben").transactionID.rawValue
            try await test.store.createAccount("anna")
            try await test.store.createFamily("us", organizer: "anna")
            let bought = try await [test.buy("pack"), test.buy("family")].map(\.transactionID.rawValue)
            try await test.advance(.days(3))
            let first = try await client.get("/inApps/v2/history/\(coins)", as: Answer.self)
            try await test.store.join("us", "ben")
            #expect(try await Self.ids(test, client, bought[0]) == bought)
            let shared = try await Self.ids(test, client, coins, "inAppOwnershipType=FAMILY_SHARED")
            #expect(shared.count == 2 && Set(shared).isDisjoint(with: bought))
            #expect(
                try await Self.ids(test, client, shared[0]) == [coins] + shared,
                "The share is newer than ben's purchases.")
            #expect(try await Self.ids(test, client, coins, "inAppOwnershipType=PURCHASED") == [coins])
            let response = try await client.get(
                "/inApps/v2/history/\(coins)?revision=\(try #require(first.revision))", as: Answer.self)
            #expect(try test.decoded(response.signedTransactions).compactMap(\.transactionId) == shared)
            try await test.store.leave("us", "ben")
            #expect(try await Self.ids(test, client, coins, "revoked=true") == shared)
        }
    }
}

struct HistoryPagingTests {
    private typealias Answer = AppStoreServerAPI.HistoryResponse

    private struct Reader {
        let test: TestStore
        let client: ServerClient
        var path: String

        /// Returns the transaction numbers and the revision of a page, and whether another page follows.
        func page(_ revision: String? = nil) async throws -> (ids: [String], revision: String, hasMore: Bool) {
            let mark = path.contains("?") ? "&" : "?"
            let answer = try await client.get(path + (revision.map { "\(mark)revision=\($0)" } ?? ""), as: Answer.self)
            let ids = try test.decoded(answer.signedTransactions).compactMap(\.transactionId)
            return (ids, try #require(answer.revision), try #require(answer.hasMore as Bool?))
        }

        func all(_ between: () async throws -> Void = {}) async throws -> [String] {
            var (ids, revision, hasMore) = try await page()
            while hasMore {
                try await between()
                let next = try await page(revision)
                #expect(!next.ids.isEmpty && next.ids.count <= 20)
                ids += next.ids
                (revision, hasMore) = (next.revision, next.hasMore)
            }
            return ids
        }
    }

    /// Opens a store with a weekly subscription that has been renewed for `weeks`.
    private static func with(
        weeks: Int, _ query: String = "", _ body: (TestStore, Reader, ServerClient) async throws -> Void
    ) async throws {
        try await TestStore.withServer { test, client in
            let first = try await test.buy("weekly").transactionID
            if weeks > 1 { try await test.advance(.weeks(weeks - 1)) }
            let path = "/inApps/v2/history/\(first)" + (query.isEmpty ? "" : "?\(query)")
            try await body(test, Reader(test: test, client: client, path: path), client)
        }
    }

    @Test(arguments: [1, 19, 20, 21, 40, 41, 100])
    func `each transaction is on exactly one page of at most 20 transactions`(weeks: Int) async throws {
        for sort in ["ASCENDING", "DESCENDING"] {
            try await Self.with(weeks: weeks, "sort=\(sort)") { test, reader, _ in
                let (first, _, hasMore) = try await reader.page()
                #expect(first.count == min(weeks, 20) && hasMore == (weeks > 20))
                let all = try await test.store.transactions(of: "anna").map(\.transactionID.rawValue)
                #expect(try await reader.all() == (sort == "ASCENDING" ? all : all.reversed()))
            }
        }
    }

    @Test func `ascending pages continue to new transactions, which do not shift descending pages`() async throws {
        try await Self.with(weeks: 50) { test, reader, _ in
            let all = try await reader.all { try await test.advance(.weeks(1)) }
            let sold = try await test.store.transactions(of: "anna").map(\.transactionID.rawValue)
            #expect(all == sold && sold.count == 52)
        }
        try await Self.with(weeks: 50, "sort=DESCENDING") { test, reader, _ in
            let before = try await test.store.transactions(of: "anna").map(\.transactionID.rawValue)
            #expect(try await reader.all { try await test.advance(.weeks(1)) } == before.reversed())
        }
    }

    @Test func `the last page's revision leads to new and modified transactions`() async throws {
        try await Self.with(weeks: 21) { test, reader, _ in
            let bought = try await test.store.transactions(of: "anna").map(\.transactionID)
            let second = try await reader.page(try await reader.page().revision)
            #expect(second.ids.count == 1 && !second.hasMore)
            let nothing = try await reader.page(second.revision)
            #expect(nothing.ids.isEmpty && !nothing.hasMore && nothing.revision == second.revision)
            try await test.store.refund(bought[3])
            let coins = try await test.buy("coins").transactionID
            let response = try await reader.page(nothing.revision)
            #expect(
                response.ids == [bought[3], coins].map(\.rawValue),
                "The changed transaction must be reported again, then the new one."
            )
        }
    }

    @Test func `an empty history has a revision too`() async throws {
        try await TestStore.withServer { test, client in
            try await test.store.createAccount("anna")
            let reader = Reader(test: test, client: client, path: "/inApps/v2/history/\(try test.appTransactionID())")
            let empty = try await reader.page()
            #expect(empty.ids.isEmpty && !empty.hasMore)
            let coins = try await test.buy("coins").transactionID.rawValue
            #expect(try await reader.page(empty.revision).ids == [coins])
        }
    }

    @Test func `a revision is valid only for the same query of the same customer, with parameters in any order`()
        async throws
    {
        try await Self.with(weeks: 30, "productId=weekly&productType=AUTO_RENEWABLE") { test, reader, client in
            let revision = try await reader.page().revision
            let path = String(reader.path.prefix { $0 != "?" })
            let same = [
                "productType=AUTO_RENEWABLE&productId=weekly", "productId=weekly&productType=AUTO_RENEWABLE&x=1",
            ]
            for query in same { #expect(try await client.code(.get, "\(path)?\(query)&revision=\(revision)") == nil) }
            let last = try #require(try await test.store.transactions(of: "anna").last).transactionID
            let other = try await test.buy("coins", "ben").transactionID
            let query = "productId=weekly&productType=AUTO_RENEWABLE"
            #expect(try await client.code(.get, "/inApps/v2/history/\(last)?\(query)&revision=\(revision)") == nil)
            for wrong in [
                "\(path)?revision=\(revision)", "\(path)?productId=weekly&revision=\(revision)",
                "\(path)?\(query)&sort=DESCENDING&revision=\(revision)",
                "\(path)?\(query)&revoked=false&revision=\(revision)",
                "/inApps/v1/history/\(last)?\(query)&revision=\(revision)",
                "/inApps/v2/history/\(other)?\(query)&revision=\(revision)",
                "/inApps/v2/refund/lookup/\(last)?revision=\(revision)",
                "\(path)?\(query)&revision=\(revision.dropLast())", "\(path)?\(query)&revision=1\(revision)",
                "\(path)?\(query)&revision=\(revision)_1",
            ] {
                #expect(try await client.code(.get, wrong) == .invalidRequestRevision, "\(wrong)")
            }
        }
    }

    @Test func `two app servers that read during purchases miss and repeat no transaction`() async throws {
        try await Self.with(weeks: 60) { test, reader, client in
            let other = Reader(test: test, client: try ServerClient(test), path: reader.path)
            async let bought: Void = { for _ in 0..<20 { try await test.buy("coins") } }()
            async let one = reader.all()
            async let two = other.all()
            let lists = try await [one, two]
            try await bought
            let sold = try await test.store.transactions(of: "anna").map(\.transactionID.rawValue)
            #expect(sold.count == 80)
            for list in lists {
                #expect(Set(list).count == list.count && list == Array(sold.prefix(list.count)) && list.count >= 60)
            }
        }
    }
}

struct RefundHistoryTests {
    private typealias Answer = AppStoreServerAPI.RefundHistoryResponse
    private typealias Lookup = AppStoreServerAPI.RefundLookupResponse

    @Test func `the refund history has the refunds in their order, by pages`() async throws {
        try await TestStore.withServer { test, client in
            let first = try await test.buy("weekly").transactionID
            try await test.advance(.weeks(59))
            let sold = try await test.store.transactions(of: "anna").map(\.transactionID)
            let path = "/inApps/v2/refund/lookup/\(sold[7])"
            let nothing = try await client.get(path, as: Answer.self)
            #expect(nothing.signedTransactions == [] && nothing.hasMore == false)
            let refunded = Array(sold[1..<56].reversed())
            for transaction in refunded { try await test.store.refund(transaction, .init(percentage: 50)) }
            var (reported, revision): ([String], String) = ([], try #require(nothing.revision))
            var counts: [Int] = []
            repeat {
                let page = try await client.get("\(path)?revision=\(revision)", as: Answer.self)
                let payloads = try test.decoded(page.signedTransactions)
                #expect(payloads.allSatisfy { $0.revocationDate != nil && $0.revocationPercentage == 50_000 })
                reported += payloads.compactMap(\.transactionId)
                counts.append(payloads.count)
                revision = try #require(page.revision)
                if page.hasMore != true { break }
            } while true
            #expect(reported == refunded.map(\.rawValue) && counts == [20, 20, 15])
            let last = try await client.get("/inApps/v1/refund/lookup/\(first)", as: Lookup.self)
            #expect(try test.decoded(last.signedTransactions).compactMap(\.transactionId) == Array(reported.suffix(50)))
            try await test.store.reverseRefund(refunded[0])
            let left = try await client.get("/inApps/v1/refund/lookup/\(first)", as: Lookup.self)
            #expect(try test.decoded(left.signedTransactions).compactMap(\.transactionId) == Array(reported.suffix(50)))
            let again = try await client.get(path, as: Answer.self)
            #expect(try test.decoded(again.signedTransactions).first?.transactionId == reported[1])
        }
    }

    @Test func `a revocation without money is not a refund`() async throws {
        try await TestStore.withServer { test, client in
            let pack = try await test.buy("pack").transactionID
            try await test.store.revoke(pack)
            #expect(
                try await client.get("/inApps/v2/refund/lookup/\(pack)", as: Answer.self).signedTransactions == [])
            #expect(
                try await client.get("/inApps/v1/refund/lookup/\(pack)", as: Lookup.self).signedTransactions == [])
        }
    }

    @Test func `each version of the refund history has its own error codes`() async throws {
        try await TestStore.withServer { test, client in
            try await test.buy("weekly")
            try await test.advance(.weeks(1))
            let renewal = try #require(try await test.store.transactions(of: "anna").last).transactionID.rawValue
            let app = try test.appTransactionID()
            for number in impossibleNumbers {
                #expect(try await client.code(.get, "/inApps/v2/refund/lookup/\(number)") == .invalidTransactionId)
                #expect(
                    try await client.code(.get, "/inApps/v1/refund/lookup/\(number)") == .invalidOriginalTransactionId)
            }
            #expect(try await client.code(.get, "/inApps/v2/refund/lookup/77") == .transactionIdNotFound)
            for number in ["77", renewal, app] {
                #expect(
                    try await client.code(.get, "/inApps/v1/refund/lookup/\(number)") == .originalTransactionIdNotFound)
            }
            for number in [renewal, app] {
                #expect(try await client.code(.get, "/inApps/v2/refund/lookup/\(number)") == nil)
                #expect(
                    try await client.code(.get, "/inApps/v2/refund/lookup/\(number)?revision=7")
                        == .invalidRequestRevision)
            }
        }
    }
}
