import AppStorePayloads
import Foundation
import HTTPCore
import Primitives
import StoreKitAdapter
import StoreModel
import Testing

@testable import AppStoreSimulator

/// Test notifications and the notification history of the App Store Server API.
struct NotificationEndpointTests {
    private typealias Check = AppStoreServerAPI.CheckTestNotificationResponse
    private typealias Sent = AppStoreServerAPI.SendTestNotificationResponse
    private static let test = "/inApps/v1/notifications/test"

    @Test func `a test notification needs a URL, and has no status before it is sent`() async throws {
        try await TestStore.withServer { test, client in
            #expect(try await client.code(.post, Self.test) == .serverNotificationUrlNotFound)
            try await test.startNotifying()
            let token = try await Self.request(client)
            #expect(token.hasSuffix("_1769853600000"))
            #expect(try await client.code(.get, "\(Self.test)/\(token)") == .testNotificationNotFound)
        }
    }

    @Test func `the status of a test notification has all its attempts`() async throws {
        let receiver = Receiver { _ in 500 }
        try await TestStore.notifying(receiver) { test in
            let client = try ServerClient(test)
            let token = try await Self.request(client)
            try await test.store.deliverNotifications()
            receiver.answer { _ in 200 }
            try await test.advance(.hour)
            try await test.store.deliverNotifications()
            let check = try await client.get("\(Self.test)/\(token)", as: Check.self)
            #expect(check.sendAttempts?.map(\.sendAttemptResult) == [.unsuccessfulHttpResponseCode, .success])
            #expect(check.firstSendAttemptResult == .unsuccessfulHttpResponseCode)
            let reported = try test.verifier().notification(try #require(check.signedPayload)).payload
            #expect(reported.notificationType == .test)
            #expect(receiver.arrivals.map(\.signedPayload) == [check.signedPayload, check.signedPayload])
        }
    }

    private static func request(_ client: ServerClient) async throws -> String {
        let response = try await client.send(.post, test)
        #expect(response.status == 200)
        return try #require(try Sent(json: try await response.body.json()).testNotificationToken)
    }

    @Test func `a malformed token has another error than an unknown one`() async throws {
        try await TestStore.withServer { test, client in
            for (token, code) in [
                ("x", .invalidTestNotificationToken), ("\(UUID())", .invalidTestNotificationToken),
                ("\(UUID())_x", .invalidTestNotificationToken), ("\(UUID())_1_2", .invalidTestNotificationToken),
                ("\(UUID())_1", .testNotificationNotFound),
            ] as [(String, ErrorCode)] {
                let answered = try await client.code(.get, "\(Self.test)/\(token)")
                #expect(answered == code, "\(token)")
            }
        }
    }
}

struct NotificationHistoryTests {
    private typealias Answer = AppStoreServerAPI.NotificationHistoryResponse
    private static let path = "/inApps/v1/notifications/history"

    private struct Reader {
        let test: TestStore
        let client: ServerClient

        func body(_ changes: [String: JSONValue?] = [:]) async -> String {
            let now = await test.store.clockState().now
            var body: JSONValue = [
                "startDate": now.addingTimeInterval(-170 * 86400).payloadValue,
                "endDate": now.addingTimeInterval(86400).payloadValue,
            ]
            for (name, value) in changes { body[name] = value }
            return body.text()
        }

        func page(_ body: String, _ token: String? = nil) async throws -> Answer {
            let response = try await client.send(.post, path + (token.map { "?paginationToken=\($0)" } ?? ""), body)
            let json = try await response.body.json()
            #expect(response.status == 200, "\(json)")
            #expect(Answer.schema.unknownMembers(of: json).isEmpty)
            return try Answer(json: json)
        }

        func types(_ changes: [String: JSONValue?] = [:]) async throws -> [String] {
            try await page(await body(changes)).notificationHistory?.map { item in
                let reported = try test.verifier().notification(try #require(item.signedPayload)).payload
                return [reported.notificationType?.rawValue, reported.subtype?.rawValue].compactMap(\.self)
                    .joined(separator: " ")
            } ?? []
        }

        func code(_ changes: [String: JSONValue?], query: String = "") async throws -> ErrorCode? {
            try await client.code(.post, path + query, await body(changes))
        }
    }

    private static func with(
        _ receiver: Receiver = Receiver(), _ body: (TestStore, Reader) async throws -> Void
    ) async throws {
        try await TestStore.notifying(receiver) { test in
            try await body(test, Reader(test: test, client: try ServerClient(test)))
        }
    }

    @Test func `unsent notifications are not in the history`() async throws {
        try await TestStore.withServer { test, client in
            try await test.startNotifying()
            try await test.buy("coins")
            #expect(try await Reader(test: test, client: client).types().isEmpty)
        }
    }

    @Test func `sent notifications are in the history with their results, and are filtered`() async throws {
        let receiver = Receiver { _ in 500 }
        try await Self.with(receiver) { test, reader in
            #expect(try await reader.page(await reader.body()).notificationHistory == [])
            let weekly = try await test.buy("weekly").transactionID
            try await test.store.deliverNotifications()
            receiver.answer { _ in 204 }
            try await test.advance(.hour)
            try await test.buy("coins", "ben")
            try await test.store.deliverNotifications()
            receiver.answer { _ in throw HTTPError(.noAnswer, "Nothing came.") }
            try await test.store.cancel("weekly", for: "anna")
            try await test.store.deliverNotifications()
            let all = [
                "SUBSCRIBED INITIAL_BUY", "ONE_TIME_CHARGE", "DID_CHANGE_RENEWAL_STATUS AUTO_RENEW_DISABLED",
            ]
            #expect(try await reader.types() == all)
            #expect(try await reader.types(["onlyFailures": true]) == [all[2]])
            #expect(try await reader.types(["onlyFailures": false]) == all)
            #expect(try await reader.types(["notificationType": "SUBSCRIBED"]) == [all[0]])
            #expect(
                try await reader.types([
                    "notificationType": "DID_CHANGE_RENEWAL_STATUS", "notificationSubtype": "AUTO_RENEW_ENABLED",
                ]).isEmpty)
            for number in [weekly.rawValue, try test.appTransactionID()] {
                #expect(try await reader.types(["transactionId": .string(number)]) == [all[0], all[2]])
            }
            let page = try await reader.page(await reader.body())
            #expect(page.hasMore == false && page.paginationToken == nil)
            let first = try #require(page.notificationHistory?.first)
            #expect(first.sendAttempts?.map(\.sendAttemptResult) == [.unsuccessfulHttpResponseCode, .success])
            #expect(first.firstSendAttemptResult == .unsuccessfulHttpResponseCode)
            #expect(page.notificationHistory?.last?.sendAttempts?.map(\.sendAttemptResult) == [.noResponse])
        }
    }

    @Test func `a notification in its first attempt has not failed, and one in a retry has failed`() async throws {
        let receiver = Receiver { _ in 500 }
        try await Self.with(receiver) { test, reader in
            try await test.buy("weekly")
            try await test.store.deliverNotifications()
            let gate = Gate()
            receiver.answer { _ in
                await gate.wait()
                return 200
            }
            try await test.buy("coins", "ben")
            try await test.advance(.hour)
            await receiver.arrivals(atLeast: 3)
            let all = ["SUBSCRIBED INITIAL_BUY", "ONE_TIME_CHARGE"]
            #expect(try await reader.types() == all)
            #expect(try await reader.types(["onlyFailures": true]) == [all[0]])
            gate.open()
            try await test.store.deliverNotifications()
            #expect(try await reader.types(["onlyFailures": true]).isEmpty)
        }
    }

    @Test func `each notification of the same millisecond is on exactly one page`() async throws {
        try await Self.with { test, reader in
            for _ in 0..<45 { try await test.buy("coins") }
            try await test.store.deliverNotifications()
            let body = await reader.body()
            var (seen, token, counts): ([String], String?, [Int]) = ([], nil, [])
            repeat {
                let page = try await reader.page(body, token)
                seen += (page.notificationHistory ?? []).compactMap(\.signedPayload)
                counts.append(page.notificationHistory?.count ?? 0)
                #expect((page.paginationToken != nil) == (page.hasMore == true))
                token = page.paginationToken
            } while token != nil
            #expect(counts == [20, 20, 5] && Set(seen).count == 45)
        }
    }

    @Test func `a pagination token is valid for the same request only`() async throws {
        try await Self.with { test, reader in
            for _ in 0..<21 { try await test.buy("coins") }
            try await test.store.deliverNotifications()
            let token = try #require(try await reader.page(await reader.body()).paginationToken)
            #expect(try await reader.code([:], query: "?paginationToken=\(token)") == nil)
            for changes in [["onlyFailures": true], ["notificationType": "TEST"], ["endDate": 99_999_999_999_999]]
                as [[String: JSONValue?]]
            {
                #expect(try await reader.code(changes, query: "?paginationToken=\(token)") == .invalidPaginationToken)
            }
            for wrong in ["x", "", "\(token)x", "1_1_1", "\(token)&paginationToken=\(token)"] {
                #expect(try await reader.code([:], query: "?paginationToken=\(wrong)") == .invalidPaginationToken)
            }
        }
    }

    @Test func `an invalid request has the error code of its member`() async throws {
        try await Self.with { test, reader in
            let coins = try await test.buy("coins").transactionID.rawValue
            let now = await test.store.clockState().now
            let old = now.addingTimeInterval(-181 * 86400).payloadValue
            let refused: [([String: JSONValue?], ErrorCode)] = [
                (["startDate": nil], .invalidStartDate), (["startDate": "now"], .invalidStartDate),
                (["startDate": -1], .invalidStartDate), (["startDate": 1.5], .invalidStartDate),
                (["endDate": nil], .invalidEndDate), (["endDate": 1e30], .invalidEndDate),
                (["startDate": 5, "endDate": 5], .startDateAfterEndDate),
                (["startDate": old], .startDateTooFarInPast),
                (["notificationType": "NEWS"], .invalidNotificationType),
                (["notificationType": 7], .invalidNotificationType),
                (["notificationSubtype": "UPGRADE"], .invalidNotificationType),
                (["notificationType": "TEST", "notificationSubtype": "UPGRADE"], .invalidNotificationType),
                (["notificationType": "EXPIRED", "notificationSubtype": 7], .invalidNotificationType),
                (["notificationType": "TEST", "transactionId": .string(coins)], .multipleFiltersSupplied),
                (["transactionId": "x"], .invalidTransactionId), (["transactionId": 77], .invalidTransactionId),
                (["transactionId": "77"], .transactionIdNotFound), (["onlyFailures": "yes"], .generalBadRequest),
            ]
            for (changes, code) in refused { #expect(try await reader.code(changes) == code, "\(changes)") }
            #expect(try await reader.client.code(.post, Self.path, "[]") == .generalBadRequest)
            #expect(try await reader.code(["onlyFailures": .some(.null), "transactionId": .some(.null)]) == nil)
        }
    }
}
