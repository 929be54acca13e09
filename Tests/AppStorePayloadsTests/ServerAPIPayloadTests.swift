import AppStorePayloads
import Foundation
import HostTestSupport
import Primitives
import StoreModel
import Testing

enum Payloads {
    typealias API = AppStoreServerAPI

    /// The requests, responses and signed payloads of the App Store Server API.
    static let all: [any AppStorePayloadFields.Type] = [
        JWSTransactionDecodedPayloadFields.self, JWSRenewalInfoDecodedPayloadFields.self, AppTransactionFields.self,
        ResponseBodyV2DecodedPayloadFields.self, DecodedRealtimeRequestBodyFields.self,
        API.RealtimeRequestBodyFields.self,
        API.StatusResponseFields.self, API.HistoryResponseFields.self, API.TransactionInfoResponseFields.self,
        API.ErrorResponseFields.self,
        API.RefundHistoryResponseFields.self, API.RefundLookupResponseFields.self, API.OrderLookupResponseFields.self,
        API.AppTransactionInfoResponseFields.self, API.UpdateAppAccountTokenRequestFields.self,
        API.ExtendRenewalDateRequestFields.self, API.ExtendRenewalDateResponseFields.self,
        API.MassExtendRenewalDateRequestFields.self, API.MassExtendRenewalDateResponseFields.self,
        API.MassExtendRenewalDateStatusResponseFields.self, API.ConsumptionRequestFields.self,
        API.ConsumptionRequestV1Fields.self,
        API.SendTestNotificationResponseFields.self, API.CheckTestNotificationResponseFields.self,
        API.NotificationHistoryRequestFields.self, API.NotificationHistoryResponseFields.self,
        API.NotificationHistoryResponseItemFields.self, API.SendAttemptItemFields.self,
        API.UploadMessageRequestBodyFields.self, API.GetMessageListResponseFields.self,
        API.GetImageListResponseFields.self, API.DefaultConfigurationRequestFields.self,
        API.DefaultConfigurationResponseFields.self, API.RealtimeUrlRequestFields.self,
        API.RealtimeUrlResponseFields.self, API.RealtimeResponseBodyFields.self,
        API.PerformanceTestRequestFields.self, API.PerformanceTestResponseFields.self,
        API.PerformanceTestResultResponseFields.self,
        API.GetCustomerGroupsResponseFields.self, API.GetGroupMembersResponseFields.self,
        API.GetSeatInfoResponseFields.self, API.ClaimSeatRequestFields.self, API.ClaimSeatResponseFields.self,
        API.AssociateSeatRequestFields.self,
    ]

    /// The parts of these payloads.
    static let parts: [any AppStorePayloadFields.Type] = [
        API.TransactionCommitmentInfoFields.self, API.RenewalCommitmentInfoFields.self, API.NotificationDataFields.self,
        API.NotificationSummaryFields.self, API.NotificationAppDataFields.self, API.ExternalPurchaseTokenFields.self,
        API.SubscriptionGroupIdentifierItemFields.self, API.LastTransactionsItemFields.self,
        API.AdvancedCommerceTransactionInfoFields.self, API.AdvancedCommerceTransactionItemFields.self,
        API.AdvancedCommerceRenewalInfoFields.self, API.AdvancedCommerceRenewalItemFields.self,
        API.AdvancedCommerceDescriptorsFields.self, API.AdvancedCommerceOfferFields.self,
        API.AdvancedCommerceRefundFields.self,
        API.AdvancedCommercePriceIncreaseInfoFields.self, API.UploadMessageImageFields.self,
        API.BulletPointFields.self, API.GetMessageListResponseItemFields.self,
        API.GetImageListResponseItemFields.self, API.RetentionMessageFields.self, API.AlternateProductFields.self,
        API.PromotionalOfferFields.self, API.PromotionalOfferSignatureV1Fields.self,
        API.AdvancedCommerceInfoFields.self, API.PerformanceTestConfigFields.self,
        API.PerformanceTestResponseTimesFields.self,
        API.TransactionMultiSeatInfoFields.self, API.RenewalMultiSeatInfoFields.self, API.MultiSeatPriceTierFields.self,
        API.UnclaimInfoFields.self, API.GroupEntryFields.self, API.RoleEntryFields.self,
        API.GroupMemberEntryFields.self,
    ]
}

@Suite struct ServerAPIPayloadTests {
    @Test(arguments: Payloads.all.map { $0.title })
    func `unknown members of requests and responses keep their order and spelling`(name: String) throws {
        let type = try #require(Payloads.all.first { $0.title == name })
        let text = #"{"later":[1.50,{"b":1e2,"a":null}],"than":12345678901234567890,"us":"\u00e9"}"#
        let json = try JSONValue(parsing: text)
        let payload = try type.payload(json)
        #expect(payload.text() == json.text())
        #expect(payload.text().hasPrefix(#"{"later":[1.50,{"b":1e2,"a":null}],"than":12345678901234567890,"#))
    }

    @Test func `a request and a response for an extension of renewal dates have Apple's members`() throws {
        let request = AppStoreServerAPI.MassExtendRenewalDateRequest {
            $0.extendByDays = 45
            $0.extendReasonCode = .serviceIssueOrOutage
            $0.requestIdentifier = "r"
            $0.storefrontCountryCodes = ["USA", "MEX"]
            $0.productId = "p"
        }
        let text =
            #"{"extendByDays":45,"extendReasonCode":3,"requestIdentifier":"r","storefrontCountryCodes":["USA","MEX"],"#
            + #""productId":"p"}"#
        #expect(request.json.text() == text)
        let answer = try AppStoreServerAPI.ExtendRenewalDateResponse(
            json: JSONValue(parsing: #"{"success":true,"effectiveDate":1698148900000}"#))
        #expect(answer.effectiveDate == Date(timeIntervalSince1970: 1_698_148_900))
        #expect(answer.success == true)
        #expect(answer.webOrderLineItemId == nil)
    }

    @Test func `a notification's attempts read as Swift values`() throws {
        let text = #"""
            {"paginationToken":"t","hasMore":true,"notificationHistory":[{"signedPayload":"s",
            "firstSendAttemptResult":"NO_RESPONSE","sendAttempts":[
            {"attemptDate":1698148900000,"sendAttemptResult":"NO_RESPONSE"},
            {"attemptDate":1698152500000,"sendAttemptResult":"ABDUCTED"}]}]}
            """#
        let json = try JSONValue(parsing: text)
        let history = try AppStoreServerAPI.NotificationHistoryResponse(json: json)
        let attempts = try #require(history.notificationHistory?.first?.sendAttempts)
        #expect(attempts.map(\.sendAttemptResult) == [.noResponse, .init(rawValue: "ABDUCTED")])
        #expect(attempts.last?.attemptDate == Date(timeIntervalSince1970: 1_698_152_500))
        #expect(AppStoreServerAPI.NotificationHistoryResponse.schema.unknownMembers(of: json) == [])
        #expect(history.json == json)
    }

    @Test func `the failures of a performance test read as counts by result`() throws {
        let json = try JSONValue(parsing: #"{"failures":{"TIMED_OUT":3,"ABDUCTED":1}}"#)
        var result = try AppStoreServerAPI.PerformanceTestResultResponse(json: json)
        #expect(result.failures == [.timedOut: 3, .init(rawValue: "ABDUCTED"): 1])
        result.failures = [.timedOut: 2, .noResponse: 1]
        #expect(result.json.text() == #"{"failures":{"NO_RESPONSE":1,"TIMED_OUT":2}}"#)
    }

    @Test(arguments: [
        (#"{"A/B":"1"}"#, "/failures/A~1B"), (#"{"OTHER":1.5}"#, "/failures/OTHER"), ("[1]", "/failures"),
    ])
    func `failures that are not counts are refused`(failures: String, pointer: String) throws {
        let json = try JSONValue(parsing: #"{"failures":\#(failures)}"#)
        #expect {
            try AppStoreServerAPI.PerformanceTestResultResponse(json: json)
        } throws: {
            ($0 as? AppStorePayloadError)?.pointer == pointer
        }
    }

    @Test func `a token that is not a UUID stays in the fields`() throws {
        let request = try AppStoreServerAPI.ConsumptionRequestV1(json: ["appAccountToken": "", "platform": 9])
        #expect(request.appAccountToken == nil)
        #expect(request.fields["appAccountToken"] == "")
        #expect(request.platform == .init(rawValue: 9))
    }

    @Test(arguments: [
        (#"{"notificationHistory":[{"sendAttempts":[{"attemptDate":"now"}]}]}"#, "attemptDate"),
        (#"{"notificationHistory":[{"sendAttempts":[1]}]}"#, "sendAttempts/0"), (#"{"hasMore":"no"}"#, "hasMore"),
    ])
    func `the error for a value of the wrong type has its JSON pointer`(text: String, end: String) throws {
        let json = try JSONValue(parsing: text)
        #expect {
            try AppStoreServerAPI.NotificationHistoryResponse(json: json)
        } throws: {
            ($0 as? AppStorePayloadError)?.pointer.hasSuffix("/" + end) == true
        }
    }
}

@Suite struct ErrorCodeTests {
    @Test func `an error has its status, its name and whether a retry may help`() {
        let code = AppStoreServerAPI.ErrorCode.originalTransactionIdNotFoundRetryable
        #expect((code.rawValue, code.status, code.isRetryable) == (4_040_006, 404, true))
        #expect(code.name == "originalTransactionIdNotFoundRetryable")
        #expect(AppStoreServerAPI.ErrorCode.rateLimitExceeded.isRetryable)
    }

    /// The numbers and statuses of Apple's pages.
    @Test(arguments: [
        (4_000_006, 400, "invalidTransactionId"), (4_030_004, 403, "subscriptionExtensionIneligible"),
        (4_040_010, 404, "transactionIdNotFound"), (4_090_000, 409, "imageAlreadyExists"),
        (4_290_000, 429, "rateLimitExceeded"), (5_000_000, 500, "generalInternal"),
        (5_000_001, 500, "generalInternalRetryable"),
    ])
    func `an error number has the status and the name that Apple documents`(number: Int, status: Int, name: String) {
        let code = AppStoreServerAPI.ErrorCode(rawValue: number)
        #expect(code.status == status)
        #expect(code.name == name)
    }

    @Test
    func `an error is retryable exactly if its name ends in Retryable or it is the rate limit`()
        throws
    {
        for code in AppStoreServerAPI.ErrorCode.all {
            let name = try #require(code.name)
            #expect(code.isRetryable == (name.hasSuffix("Retryable") || name == "rateLimitExceeded"), "\(name)")
        }
    }

    @Test func `each error has its own message, which is a sentence`() {
        let codes = AppStoreServerAPI.ErrorCode.all
        #expect(Set(codes.map(\.message)).count == codes.count)
        for code in codes {
            #expect(code.message.contains(" ") && code.message.hasSuffix("."), "\(code)")
            #expect(!code.message.contains("\n"), "\(code)")
        }
    }

    @Test(.outsideJudge(OutsideJudge.python != nil, "SOUK_PYTHON names no interpreter with app-store-server-library"))
    func `Apple's Python library has the same numbers and names of errors`() async throws {
        let verdict = try await OutsideJudge.judge("apple_models.py", ["APIError"])
        try #require(verdict.status == 0, "\(verdict.errors)")
        let apple = try #require(verdict.json?["APIError"]?.objectValue)
        // GENERAL_BAD_REQUEST is our generalBadRequest; some names there end in _ERROR.
        func plain(_ name: String) -> String {
            let letters = name.lowercased().replacing("_", with: "")
            return letters.hasSuffix("error") ? String(letters.dropLast(5)) : letters
        }
        let names = Dictionary(
            uniqueKeysWithValues: try apple.map { name, number in (try #require(number.intValue), plain(name)) })
        let ours = Dictionary(
            uniqueKeysWithValues: try AppStoreServerAPI.ErrorCode.all.map { code in
                (code.rawValue, plain(try #require(code.name)))
            })
        #expect(ours == names)
        let retryable = names.filter { $0.value.hasSuffix("retryable") || $0.value == "ratelimitexceeded" }.keys
        #expect(Set(AppStoreServerAPI.ErrorCode.all.filter(\.isRetryable).map(\.rawValue)) == Set(retryable))
    }

    @Test func `an unknown error code is kept and has no name`() {
        let code = AppStoreServerAPI.ErrorCode(rawValue: 4_990_001)
        #expect((code.name, code.status, code.isRetryable) == (nil, 499, false))
        #expect(code.message == "Error 4990001.")
    }

    @Test func `an error response has the code and its sentence`() {
        let refusal = AppStoreServerAPI.ErrorResponse(.transactionIdNotFound)
        #expect(refusal.json.text() == #"{"errorCode":4040010,"errorMessage":"Transaction id not found."}"#)
        #expect(refusal.code == .transactionIdNotFound)
        #expect(AppStoreServerAPI.ErrorResponse(.invalidSort, message: "No.").errorMessage == "No.")
    }
}

@Suite struct TransactionHistoryRequestTests {
    typealias Request = AppStoreServerAPI.TransactionHistoryRequest

    @Test func `a query is encoded and decoded without a change`() throws {
        let request = Request(
            startDate: Date(timeIntervalSince1970: 1_698_148_800.123),
            endDate: Date(timeIntervalSince1970: 1_698_148_900),
            productIds: ["a", "b"], productTypes: [.autoRenewableSubscription, .nonConsumable], sort: .descending,
            subscriptionGroupIdentifiers: ["g"], inAppOwnershipType: .familyShared, revoked: false)
        #expect(
            request.query.map { "\($0)=\($1)" } == [
                "startDate=1698148800123", "endDate=1698148900000", "productId=a", "productId=b",
                "productType=AUTO_RENEWABLE", "productType=NON_CONSUMABLE", "sort=DESCENDING",
                "subscriptionGroupIdentifier=g", "inAppOwnershipType=FAMILY_SHARED", "revoked=false",
            ])
        #expect(try Request(query: request.query) == request)
        #expect(try Request(query: []) == Request())
        #expect(Request().query.isEmpty)
    }

    @Test func `unknown query items are ignored`() throws {
        #expect(try Request(query: [("revision", "x"), ("hue", "red")]) == Request())
    }

    @Test func `a flag may be written in any case, as Apple's Python client does`() throws {
        #expect(try Request(query: [("revoked", "True")]).revoked == true)
        #expect(try Request(query: [("revoked", "False")]).revoked == false)
    }

    @Test func `excluding revoked transactions requests the others`() throws {
        #expect(try Request(query: [("excludeRevoked", "true")]).revoked == false)
        #expect(try Request(query: [("excludeRevoked", "false")]).revoked == nil)
        #expect(throws: AppStoreServerAPI.ErrorCode.invalidExcludeRevoked) {
            try Request(query: [("excludeRevoked", "true"), ("revoked", "true")])
        }
    }

    static let refused: [(String, AppStoreServerAPI.ErrorCode)] = [
        ("startDate=", .invalidStartDate), ("startDate=2026-01-01", .invalidStartDate),
        ("startDate=-1", .invalidStartDate), ("startDate=1e3", .invalidStartDate),
        ("startDate=1&startDate=1", .invalidStartDate), ("endDate=9999999999999999", .invalidEndDate),
        ("startDate=2&endDate=2", .invalidEndDate), ("startDate=3&endDate=2", .invalidEndDate),
        ("productId=a&productId=", .invalidProductId),
        ("productType=CONSUMABLE&productType=Consumable", .invalidProductType),
        ("sort=UP", .invalidSort), ("sort=ASCENDING&sort=ASCENDING", .invalidSort),
        ("subscriptionGroupIdentifier=", .invalidSubscriptionGroupIdentifier),
        ("inAppOwnershipType=RENTED", .invalidInAppOwnershipType), ("revoked=1", .invalidRevoked),
        ("excludeRevoked=no", .invalidExcludeRevoked),
    ]

    @Test(arguments: refused)
    func `an invalid value of a query item gives Apple's error for this item`(
        query: String, code: AppStoreServerAPI.ErrorCode
    ) {
        let items = query.split(separator: "&").map { item in
            let halves = item.split(separator: "=", omittingEmptySubsequences: false)
            return (String(halves[0]), String(halves[1]))
        }
        #expect(throws: code) { try Request(query: items) }
    }
}
