import AppStorePayloads
import Foundation
import HTTPCore
import Primitives
import StoreKitAdapter
import StoreModel
import Testing

@testable import AppStoreSimulator

/// Random requests, valid or not, get a response of Apple's form, and the store continues to work.
struct RandomRequestTests {
    private struct Dice: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state ^ (state >> 29)
        }

        mutating func pick<Value>(_ values: [Value]) -> Value { values[Int.random(in: 0..<values.count, using: &self)] }
    }

    private static let filters = [
        "startDate", "endDate", "productId", "productType", "sort", "subscriptionGroupIdentifier",
        "inAppOwnershipType", "revoked", "excludeRevoked", "revision", "status", "paginationToken", "x",
    ]
    private static let members = [
        "appAccountToken", "extendByDays", "extendReasonCode", "requestIdentifier", "productId",
        "storefrontCountryCodes", "startDate", "endDate", "notificationType", "notificationSubtype", "transactionId",
        "onlyFailures", "customerConsented", "sampleContentProvided", "deliveryStatus", "consumptionPercentage",
        "refundPreference", "accountTenure", "playTime", "platform", "userStatus", "x",
    ]

    /// Strings that are valid in some requests, and some that are valid in none.
    private static func words(_ test: TestStore) async throws -> [String] {
        let bought = try await test.store.transactions(of: "anna")
        let uuid = "7389a31a-fb6d-4569-a2a6-db7d85d84813"
        return bought.map(\.transactionID.rawValue) + bought.compactMap(\.orderID) + [
            try test.appTransactionID(), "weekly", "coins", "week", "r1", uuid, "\(uuid)_1", "true", "False", "1", "5",
            "-1", "1769853600000", "9223372036854775807", "99999999999999999999", "1e400", "CONSUMABLE", "DESCENDING",
            "FAMILY_SHARED", "DELIVERED", "DECLINE", "TEST", "EXPIRED", "VOLUNTARY", "USA", "0_0_0", "", " ", "ä",
            "\u{0}",
            "😀", "a/b", "..", "%", "null", String(repeating: "7", count: 300),
        ]
    }

    private static func body(_ words: [String], _ dice: inout Dice) -> String {
        var body = JSONMembers()
        for _ in 0..<Int.random(in: 0...8, using: &dice) {
            let word = dice.pick(words)
            let values: [JSONValue] = [
                .string(word), .number(Int(word) ?? 7), .bool(word.count.isMultiple(of: 2)), .null, [.string(word)],
                [:], .number(Double(word) ?? 0.5), true,
            ]
            body[dice.pick(members)] = dice.pick(values)
        }
        let text = JSONValue.object(body).text()
        return dice.pick([text, text, text, text, "", "[]", String(text.dropLast()), "7"])
    }

    @Test(arguments: 1...6)
    func `every response has Apple's form`(seed: Int) async throws {
        try await TestStore.notifying(Receiver()) { test in
            let client = try ServerClient(test)
            try await test.buy("weekly")
            try await test.buy("coins")
            try await test.advance(.weeks(3))
            let words = try await Self.words(test)
            var dice = Dice(state: UInt64(seed))
            var statuses: [Int: Int] = [:]
            for _ in 0..<400 {
                let endpoint = dice.pick(ServerAPIEndpoints.all)
                let path = endpoint.path { _ in PercentEncoding.encode(dice.pick(words)) }
                var query = HTTPQuery()
                for _ in 0..<Int.random(in: 0...3, using: &dice) {
                    query.items.append(.init(name: dice.pick(Self.filters), value: dice.pick(words)))
                }
                let asked = "\(path)?\(query.encoded)"
                let body = endpoint.method == .get ? "" : Self.body(words, &dice)
                let response = try await client.send(endpoint.method, asked, body)
                statuses[response.status, default: 0] += 1
                try await Self.check(response, "\(endpoint.method) \(asked) \(body.prefix(200))")
            }
            #expect(statuses[200, default: 0] > 20 && statuses[400, default: 0] > 20, "\(statuses)")
            #expect(try await test.store.transactions(of: "anna").count == 5)
        }
    }

    private static func check(_ response: HTTPResponse, _ asked: String) async throws {
        #expect(response.status < 500, "\(asked)")
        let bytes = try await response.body.collect(upTo: 1 << 20)
        guard !bytes.isEmpty else {
            // A path with an empty parameter is another path. An image with another media type gets 415.
            #expect([200, 202, 404, 405, 415].contains(response.status), "\(asked): \(response.status)")
            return
        }
        #expect(response.headers["Content-Type"] == "application/json", "\(asked)")
        let json = try JSONValue(parsing: bytes)
        guard !response.isSuccess else { return }
        let code = try AppStoreServerAPI.ErrorResponse(json: json).errorCode ?? 0
        #expect(code / 10_000 == response.status, "\(asked): \(json)")
    }
}
