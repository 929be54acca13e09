import AppStorePayloads
import Foundation
import Primitives
import StoreModel
import Testing

@Suite struct AppStorePayloadTests {
    @Test func `dates are milliseconds in the JSON and dates in Swift`() throws {
        let payload = JWSTransactionDecodedPayload {
            $0.transactionId = "1"
            $0.purchaseDate = Date(timeIntervalSince1970: 1_698_148_900.123)
            $0.price = 10_990
            $0.currency = "USD"
        }
        #expect(
            payload.json.text() == #"{"transactionId":"1","purchaseDate":1698148900123,"price":10990,"currency":"USD"}"#
        )
        #expect(payload.purchaseDate == Date(timeIntervalSince1970: 1_698_148_900.123))
    }

    @Test func `unknown members keep their order and spelling`() throws {
        let text = #"{"new":{"b":1.50,"a":null},"quantity":2,"type":"Rental","offerType":9,"price":null}"#
        var payload = try JWSTransactionDecodedPayload(json: JSONValue(parsing: text))
        #expect(payload.json.text() == text)
        #expect(payload.type == ProductType(rawValue: "Rental"))
        #expect(payload.offerType?.rawValue == 9)
        #expect(payload.price == nil)
        payload.quantity = 3
        payload.offerType = nil
        #expect(payload.json.text() == #"{"new":{"b":1.50,"a":null},"quantity":3,"type":"Rental","price":null}"#)
    }

    @Test func `a UUID is written in lower case, and an invalid one stays in the fields`() throws {
        let token = try #require(UUID(uuidString: "7E3FB20B-4CDB-47CC-936D-99D65F608138"))
        let payload = JWSRenewalInfoDecodedPayload { $0.appAccountToken = token }
        #expect(payload.json.text() == #"{"appAccountToken":"7e3fb20b-4cdb-47cc-936d-99d65f608138"}"#)
        #expect(payload.appAccountToken == token)
        let odd = try JWSRenewalInfoDecodedPayload(json: ["appAccountToken": "customer 7"])
        #expect(odd.appAccountToken == nil)
        #expect(odd.fields["appAccountToken"] == "customer 7")
    }

    @Test func `a nested payload can be changed in place`() {
        var notification = ResponseBodyV2DecodedPayload {
            $0.notificationType = .subscribed
            $0.subtype = .initialBuy
            $0.data = .init {
                $0.bundleId = "a"
                $0.status = .active
            }
        }
        notification.data?.bundleId = "b"
        #expect(notification.json["data"]?["bundleId"] == "b")
        #expect(notification.data?.status == .active)
    }

    @Test(arguments: [
        (#"{"transactionId":1}"#, "/transactionId"), (#"{"price":1.5}"#, "/price"),
        (#"{"purchaseDate":1e300}"#, "/purchaseDate"), (#"{"purchaseDate":-1e999}"#, "/purchaseDate"),
        (#"{"purchaseDate":253402300800000}"#, "/purchaseDate"),
        (#"{"purchaseDate":"2026-01-01"}"#, "/purchaseDate"), (#"{"isUpgraded":1}"#, "/isUpgraded"),
        (#"{"commitmentInfo":{"billingPeriodNumber":"1"}}"#, "/commitmentInfo/billingPeriodNumber"),
        (
            #"{"advancedCommerceInfo":{"items":[{},{"refunds":[{"refundDate":"x"}]}]}}"#,
            "/advancedCommerceInfo/items/1/refunds/0/refundDate"
        ), ("[]", ""), (#""text""#, ""),
    ])
    func `the error for a value of the wrong type has its JSON pointer`(text: String, pointer: String) throws {
        let json = try JSONValue(parsing: text)
        #expect {
            try JWSTransactionDecodedPayload(json: json)
        } throws: {
            ($0 as? AppStorePayloadError)?.pointer == pointer
        }
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode(JWSTransactionDecodedPayload.self, from: Data(text.utf8))
        }
    }

    @Test func `members that Apple added later are found by their pointers`() {
        let json: JSONValue = [
            "price": 1, "a/b~": 1, "advancedCommerceInfo": ["items": [["SKU": "x"], ["hue": "red"]]],
        ]
        let unknown = JWSTransactionDecodedPayload.schema.unknownMembers(of: json)
        #expect(unknown == ["/a~1b~0", "/advancedCommerceInfo/items/1/hue"])
    }

    @Test func `JSONEncoder and JSONDecoder keep the JSON of a payload`() throws {
        let payload = JWSRenewalInfoDecodedPayload {
            $0.autoRenewStatus = .on
            $0.signedDate = Date(timeIntervalSince1970: 1)
            $0.eligibleWinBackOfferIds = ["a", "b"]
        }
        let data = try JSONEncoder().encode(payload)
        #expect(try JSONValue(parsing: data) == payload.json)
        #expect(try JSONDecoder().decode(JWSRenewalInfoDecodedPayload.self, from: data) == payload)
    }
}

/// Payloads that Apple published, in the folder that `SOUK_CONFORMANCE` names.
@Suite(.enabled(if: ConformanceModels.folder != nil, "SOUK_CONFORMANCE names no folder of conformance data"))
struct AppStoreModelConformanceTests {
    @Test func `every member of seven published payloads is known and comes back unchanged`() throws {
        try check(JWSTransactionDecodedPayload.self, "signedTransaction")
        try check(JWSRenewalInfoDecodedPayload.self, "signedRenewalInfo")
        try check(ResponseBodyV2DecodedPayload.self, "signedNotification")
        try check(AppStoreServerAPI.StatusResponse.self, "getAllSubscriptionStatusesResponse")
        try check(AppStoreServerAPI.HistoryResponse.self, "transactionHistoryResponse")
        try check(AppStoreServerAPI.TransactionInfoResponse.self, "transactionInfoResponse")
        try check(AppStoreServerAPI.ErrorResponse.self, "transactionIdNotFoundError")
    }

    private func check<Fields>(_ type: AppStorePayload<Fields>.Type, _ name: String) throws {
        let json = try ConformanceModels.json(name)
        #expect(try type.init(json: json).json == json)
        #expect(try JSONValue(parsing: type.init(json: json).json.encoded()) == json)
        #expect(type.schema.unknownMembers(of: json).isEmpty, "\(name)")
    }

    /// Finds the type of a document by its members, because the names of files can change.
    @Test func `every published document fits a payload, and each fitting payload returns the document unchanged`()
        throws
    {
        let folder = try #require(ConformanceModels.folder).appendingPathComponent("models")
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".json") }
        try #require(!files.isEmpty)
        for file in files {
            let json = try ConformanceModels.json(String(file.dropLast(".json".count)))
            let fitting = Payloads.all.filter { $0.schema.unknownMembers(of: json).isEmpty }
            #expect(!fitting.isEmpty, "\(file)")
            for type in fitting { #expect(try type.payload(json).encoded() == json.encoded(), "\(file)") }
        }
    }

    @Test func `a transaction reads as Swift values`() throws {
        let payload = try JWSTransactionDecodedPayload(json: ConformanceModels.json("signedTransaction"))
        #expect(payload.expiresDate == Date(timeIntervalSince1970: 1_698_149_000))
        #expect(payload.type == .autoRenewableSubscription)
        #expect(payload.environment == .localTesting)
        #expect(payload.revocationReason == .issueWithinApp)
        #expect(payload.offerDiscountType == .payAsYouGo)
        #expect(payload.appAccountToken == UUID(uuidString: "7e3fb20b-4cdb-47cc-936d-99d65f608138"))
        #expect(payload.advancedCommerceInfo?.items?.first?.refunds?.first?.refundType == .prorated)
        #expect(payload.commitmentInfo?.totalBillingPeriods == 12)
    }

    @Test func `a renewal info reads as Swift values`() throws {
        let payload = try JWSRenewalInfoDecodedPayload(json: ConformanceModels.json("signedRenewalInfo"))
        #expect(payload.autoRenewStatus == .on)
        #expect(payload.expirationIntent == .customerCancelled)
        #expect(payload.gracePeriodExpiresDate == Date(timeIntervalSince1970: 1_698_148_900))
        #expect(payload.eligibleWinBackOfferIds == ["eligible1", "eligible2"])
        #expect(payload.advancedCommerceInfo?.items?.first?.priceIncreaseInfo?.status == .pending)
        #expect(payload.commitmentInfo?.commitmentRenewalBillingPlanType == .monthly)
    }

    @Test func `a status answer reads as Swift values`() throws {
        let json = try ConformanceModels.json("getAllSubscriptionStatusesResponse")
        let groups = try AppStoreServerAPI.StatusResponse(json: json).data
        #expect(groups?.map { $0.lastTransactions?.count } == [2, 1])
        #expect(groups?.first?.lastTransactions?.last?.status == .revoked)
    }
}

enum ConformanceModels {
    static var folder: URL? {
        ProcessInfo.processInfo.environment["SOUK_CONFORMANCE"].map { URL(fileURLWithPath: $0, isDirectory: true) }
    }

    static func json(_ name: String) throws -> JSONValue {
        let file = try #require(folder).appendingPathComponent("models/\(name).json")
        return try JSONValue(parsing: Data(contentsOf: file))
    }
}
