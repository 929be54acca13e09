import Foundation
import Primitives
import StoreModel
import Testing

@Suite struct PurchaseWireTests {
    private let id = UUID(uuidString: "7E3FB20B-4CDB-47CC-936D-99D65F608138") ?? UUID()

    private func json(_ value: some Encodable) throws -> JSONValue { try JSONValue(parsing: WireJSON.encode(value)) }

    @Test func `the request for features has the members of the contract`() throws {
        #expect(
            try json(GetFeaturesRequestPayload(customerId: .string("ada")))
                == ["customerId": ["type": "merchant-str", "value": "ada"]])
    }

    @Test func `the request for subscriptions has ids only when some are given`() throws {
        let all = GetSubscriptionsRequestPayload(customerId: .string("ada"))
        #expect(try json(all) == ["customerId": ["type": "merchant-str", "value": "ada"]])
        let some = GetSubscriptionsRequestPayload(customerId: .string("ada"), onlyIds: [id])
        #expect(try json(some)["onlyIds"] == [.string(id.uuidString)])
    }

    @Test(arguments: ["2026-11-20T14:40:00Z", "2026-11-20T14:40:00.000Z", "2026-11-20T15:40:00+01:00"])
    func `dates are read with a fraction, without one and with an offset`(date: String) throws {
        let row: JSONValue = ["quantity": 1, "actualFrom": .string(date), "feature": "pro"]
        let answer = try WireJSON.decode(FeaturesResponse.self, from: JSONValue.object(["features": [row]]).encoded())
        let expected = FeatureInternal(actualFrom: Date(timeIntervalSince1970: 1_795_185_600), feature: "pro")
        #expect(answer.features == [expected])
    }

    @Test func `the end and the subscription of a feature are read`() throws {
        let row: JSONValue = [
            "quantity": 2, "actualFrom": "2026-11-20T14:40:00Z", "actualTill": "2026-11-20T14:40:01.5Z",
            "feature": "pro", "lastSubscriptionId": .string(id.uuidString), "more": [1],
        ]
        let feature = try WireJSON.decode(FeatureInternal.self, from: row.encoded())
        #expect(feature.actualTill == Date(timeIntervalSince1970: 1_795_185_601.5))
        #expect(feature.lastSubscriptionId == id && feature.quantity == 2)
        #expect(try WireJSON.decode(FeatureInternal.self, from: WireJSON.encode(feature)) == feature)
    }

    private func row(_ changes: [String: JSONValue?] = [:]) -> JSONValue {
        var row: JSONValue = [
            "id": .string(id.uuidString), "state": "active", "createdAt": "2026-11-20T14:40:00Z",
            "currentPeriodStartAt": "2026-11-20T14:40:00Z", "currentPeriodEndAt": "2026-12-20T14:40:00Z",
            "tags": ["trial", "blue", "source:appStore", "originalTransactionID:2000000123"],
            "pricePoint": [
                "ident": "pro.monthly", "services": [["featureIdent": "pro"]], "currencyCode": "USD",
                "introTotalPrice": "0.99",
            ],
        ]
        for (name, value) in changes { row[name] = value }
        return row
    }

    @Test func `a subscription keeps unknown states and tags`() throws {
        let answer = try WireJSON.decode(
            SubscriptionsResponse.self, from: JSONValue.object(["subscriptions": [row(["state": "paused"])]]).encoded())
        let subscription = try #require(answer.subscriptions.first)
        #expect(subscription.state.rawValue == "paused")
        #expect(subscription.tags.contains(.trial) && subscription.tags.contains(.sourceAppStore))
        #expect(subscription.tags.compactMap(\.originalTransactionID) == ["2000000123"])
        #expect(SubscriptionInternal.Tag.originalTransactionID("7").rawValue == "originalTransactionID:7")
        #expect(answer.unreadable.isEmpty)
    }

    @Test func `a row that cannot be read is left out and listed, the others are kept`() throws {
        let rows: [JSONValue] = [row(["createdAt": "yesterday"]), row(), row(["pricePoint": nil]), 7]
        let answer = try WireJSON.decode(
            SubscriptionsResponse.self, from: JSONValue.object(["subscriptions": .array(rows)]).encoded())
        #expect(answer.subscriptions.map(\.id) == [id])
        #expect(answer.unreadable.map(\.index) == [0, 2, 3])
        #expect(answer.unreadable.first?.reason.contains("createdAt") ?? false)
        #expect(answer.unreadable.dropFirst().first?.reason.contains("pricePoint") ?? false)
    }

    @Test func `an answer without subscriptions is refused`() {
        #expect(throws: DecodingError.self) {
            try WireJSON.decode(SubscriptionsResponse.self, from: Array("{}".utf8))
        }
    }

    @Test func `an answer is written as it is read`() throws {
        let subscription = try WireJSON.decode(SubscriptionInternal.self, from: row().encoded())
        let answer = SubscriptionsResponse(subscriptions: [subscription])
        #expect(try json(answer) == ["subscriptions": [row()]])
    }
}
