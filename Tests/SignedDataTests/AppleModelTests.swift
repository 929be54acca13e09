import AppStorePayloads
import HostTestSupport
import Primitives
import StoreModel
import Testing

@testable import SignedData

/// Checks that our payloads have every member of Apple's own library.
@Suite(.outsideJudge(OutsideJudge.python != nil, "SOUK_PYTHON names no interpreter with Apple's library"))
struct AppleModelTests {
    static let schemas: [String: PayloadSchema] = [
        "JWSTransactionDecodedPayload": JWSTransactionDecodedPayload.schema,
        "JWSRenewalInfoDecodedPayload": JWSRenewalInfoDecodedPayload.schema,
        "AppTransaction": AppTransaction.schema,
        "ResponseBodyV2DecodedPayload": ResponseBodyV2DecodedPayload.schema,
        "DecodedRealtimeRequestBody": DecodedRealtimeRequestBody.schema,
        "RealtimeRequestBody": AppStoreServerAPI.RealtimeRequestBody.schema,
        "Data": AppStoreServerAPI.NotificationData.schema,
        "Summary": AppStoreServerAPI.NotificationSummary.schema,
        "ExternalPurchaseToken": AppStoreServerAPI.ExternalPurchaseToken.schema,
        "AppData": AppStoreServerAPI.NotificationAppData.schema,
        "TransactionCommitmentInfo": AppStoreServerAPI.TransactionCommitmentInfo.schema,
        "RenewalCommitmentInfo": AppStoreServerAPI.RenewalCommitmentInfo.schema,
        "AdvancedCommerceTransactionInfo": AppStoreServerAPI.AdvancedCommerceTransactionInfo.schema,
        "AdvancedCommerceTransactionItem": AppStoreServerAPI.AdvancedCommerceTransactionItem.schema,
        "AdvancedCommerceRenewalInfo": AppStoreServerAPI.AdvancedCommerceRenewalInfo.schema,
        "AdvancedCommerceRenewalItem": AppStoreServerAPI.AdvancedCommerceRenewalItem.schema,
        "AdvancedCommercePriceIncreaseInfo": AppStoreServerAPI.AdvancedCommercePriceIncreaseInfo.schema,
        "AdvancedCommerceDescriptors": AppStoreServerAPI.AdvancedCommerceDescriptors.schema,
        "AdvancedCommerceOffer": AppStoreServerAPI.AdvancedCommerceOffer.schema,
        "AdvancedCommerceRefund": AppStoreServerAPI.AdvancedCommerceRefund.schema,
        "StatusResponse": AppStoreServerAPI.StatusResponse.schema,
        "LastTransactionsItem": AppStoreServerAPI.LastTransactionsItem.schema,
        "HistoryResponse": AppStoreServerAPI.HistoryResponse.schema,
        "TransactionInfoResponse": AppStoreServerAPI.TransactionInfoResponse.schema,
        "RefundHistoryResponse": AppStoreServerAPI.RefundHistoryResponse.schema,
        "OrderLookupResponse": AppStoreServerAPI.OrderLookupResponse.schema,
        "AppTransactionInfoResponse": AppStoreServerAPI.AppTransactionInfoResponse.schema,
        "UpdateAppAccountTokenRequest": AppStoreServerAPI.UpdateAppAccountTokenRequest.schema,
        "ExtendRenewalDateRequest": AppStoreServerAPI.ExtendRenewalDateRequest.schema,
        "ExtendRenewalDateResponse": AppStoreServerAPI.ExtendRenewalDateResponse.schema,
        "MassExtendRenewalDateRequest": AppStoreServerAPI.MassExtendRenewalDateRequest.schema,
        "MassExtendRenewalDateResponse": AppStoreServerAPI.MassExtendRenewalDateResponse.schema,
        "MassExtendRenewalDateStatusResponse": AppStoreServerAPI.MassExtendRenewalDateStatusResponse.schema,
        "ConsumptionRequest": AppStoreServerAPI.ConsumptionRequest.schema,
        "ConsumptionRequestV1": AppStoreServerAPI.ConsumptionRequestV1.schema,
        "SendAttemptItem": AppStoreServerAPI.SendAttemptItem.schema,
        "SendTestNotificationResponse": AppStoreServerAPI.SendTestNotificationResponse.schema,
        "CheckTestNotificationResponse": AppStoreServerAPI.CheckTestNotificationResponse.schema,
        "NotificationHistoryRequest": AppStoreServerAPI.NotificationHistoryRequest.schema,
        "NotificationHistoryResponse": AppStoreServerAPI.NotificationHistoryResponse.schema,
        "NotificationHistoryResponseItem": AppStoreServerAPI.NotificationHistoryResponseItem.schema,
        "AdvancedCommerceInfo": AppStoreServerAPI.AdvancedCommerceInfo.schema,
        "AlternateProduct": AppStoreServerAPI.AlternateProduct.schema,
        "BulletPoint": AppStoreServerAPI.BulletPoint.schema,
        "DefaultConfigurationRequest": AppStoreServerAPI.DefaultConfigurationRequest.schema,
        "DefaultConfigurationResponse": AppStoreServerAPI.DefaultConfigurationResponse.schema,
        "GetImageListResponse": AppStoreServerAPI.GetImageListResponse.schema,
        "GetImageListResponseItem": AppStoreServerAPI.GetImageListResponseItem.schema,
        "GetMessageListResponse": AppStoreServerAPI.GetMessageListResponse.schema,
        "GetMessageListResponseItem": AppStoreServerAPI.GetMessageListResponseItem.schema,
        "Message": AppStoreServerAPI.RetentionMessage.schema,
        "PerformanceTestConfig": AppStoreServerAPI.PerformanceTestConfig.schema,
        "PerformanceTestRequest": AppStoreServerAPI.PerformanceTestRequest.schema,
        "PerformanceTestResponse": AppStoreServerAPI.PerformanceTestResponse.schema,
        "PerformanceTestResponseTimes": AppStoreServerAPI.PerformanceTestResponseTimes.schema,
        "PerformanceTestResultResponse": AppStoreServerAPI.PerformanceTestResultResponse.schema,
        "PromotionalOffer": AppStoreServerAPI.PromotionalOffer.schema,
        "PromotionalOfferSignatureV1": AppStoreServerAPI.PromotionalOfferSignatureV1.schema,
        "RealtimeResponseBody": AppStoreServerAPI.RealtimeResponseBody.schema,
        "RealtimeUrlRequest": AppStoreServerAPI.RealtimeUrlRequest.schema,
        "RealtimeUrlResponse": AppStoreServerAPI.RealtimeUrlResponse.schema,
        "UploadMessageImage": AppStoreServerAPI.UploadMessageImage.schema,
        "UploadMessageRequestBody": AppStoreServerAPI.UploadMessageRequestBody.schema,
    ]

    typealias API = AppStoreServerAPI
    static let values: [String: [any OpenAppStoreValue]] = [
        "OrderLookupStatus": [API.OrderLookupStatus.valid, API.OrderLookupStatus.invalid],
        "ExtendReasonCode": [
            API.ExtendReasonCode.undeclared, API.ExtendReasonCode.customerSatisfaction, API.ExtendReasonCode.other,
            API.ExtendReasonCode.serviceIssueOrOutage,
        ],
        "DeliveryStatus": [
            API.DeliveryStatus.delivered, API.DeliveryStatus.undeliveredQualityIssue,
            API.DeliveryStatus.undeliveredWrongItem, API.DeliveryStatus.undeliveredServerOutage,
            API.DeliveryStatus.undeliveredOther,
        ],
        "RefundPreference": [
            API.RefundPreference.decline, API.RefundPreference.grantFull, API.RefundPreference.grantProrated,
        ],
        "SendAttemptResult": [
            API.SendAttemptResult.success, API.SendAttemptResult.timedOut, API.SendAttemptResult.tlsIssue,
            API.SendAttemptResult.circularRedirect, API.SendAttemptResult.noResponse,
            API.SendAttemptResult.socketIssue, API.SendAttemptResult.unsupportedCharset,
            API.SendAttemptResult.invalidResponse, API.SendAttemptResult.prematureClose,
            API.SendAttemptResult.unsuccessfulHttpResponseCode, API.SendAttemptResult.other,
        ],
        "ConsumptionStatus": [
            API.ConsumptionStatus.undeclared, API.ConsumptionStatus.notConsumed,
            API.ConsumptionStatus.partiallyConsumed, API.ConsumptionStatus.fullyConsumed,
        ],
        "Platform": [API.Platform.undeclared, API.Platform.apple, API.Platform.nonApple],
        "DeliveryStatusV1": [
            API.DeliveryStatusV1.deliveredAndWorkingProperly, API.DeliveryStatusV1.didNotDeliverDueToQualityIssue,
            API.DeliveryStatusV1.deliveredWrongItem, API.DeliveryStatusV1.didNotDeliverDueToServerOutage,
            API.DeliveryStatusV1.didNotDeliverDueToInGameCurrencyChange,
            API.DeliveryStatusV1.didNotDeliverForOtherReason,
        ],
        "AccountTenure": [
            API.AccountTenure.undeclared, API.AccountTenure.zeroToThreeDays, API.AccountTenure.threeDaysToTenDays,
            API.AccountTenure.tenDaysToThirtyDays, API.AccountTenure.thirtyDaysToNinetyDays,
            API.AccountTenure.ninetyDaysToOneHundredEightyDays,
            API.AccountTenure.oneHundredEightyDaysToThreeHundredSixtyFiveDays,
            API.AccountTenure.greaterThanThreeHundredSixtyFiveDays,
        ],
        "PlayTime": [
            API.PlayTime.undeclared, API.PlayTime.zeroToFiveMinutes, API.PlayTime.fiveToSixtyMinutes,
            API.PlayTime.oneToSixHours, API.PlayTime.sixHoursToTwentyFourHours, API.PlayTime.oneDayToFourDays,
            API.PlayTime.fourDaysToSixteenDays, API.PlayTime.overSixteenDays,
        ],
        "LifetimeDollarsPurchased": [
            API.LifetimeDollarsPurchased.undeclared, API.LifetimeDollarsPurchased.none,
            API.LifetimeDollarsPurchased.under50, API.LifetimeDollarsPurchased.under100,
            API.LifetimeDollarsPurchased.under500, API.LifetimeDollarsPurchased.under1000,
            API.LifetimeDollarsPurchased.under2000, API.LifetimeDollarsPurchased.over2000,
        ],
        "LifetimeDollarsRefunded": [
            API.LifetimeDollarsRefunded.undeclared, API.LifetimeDollarsRefunded.none,
            API.LifetimeDollarsRefunded.under50, API.LifetimeDollarsRefunded.under100,
            API.LifetimeDollarsRefunded.under500, API.LifetimeDollarsRefunded.under1000,
            API.LifetimeDollarsRefunded.under2000, API.LifetimeDollarsRefunded.over2000,
        ],
        "UserStatus": [
            API.UserStatus.undeclared, API.UserStatus.active, API.UserStatus.suspended, API.UserStatus.terminated,
            API.UserStatus.limitedAccess,
        ],
        "RefundPreferenceV1": [
            API.RefundPreferenceV1.undeclared, API.RefundPreferenceV1.preferGrant,
            API.RefundPreferenceV1.preferDecline, API.RefundPreferenceV1.noPreference,
        ],
        "HeaderPosition": [API.HeaderPosition.aboveBody, API.HeaderPosition.aboveImage],
        "MessageState": [API.MessageState.pending, API.MessageState.approved, API.MessageState.rejected],
        "ImageState": [API.ImageState.pending, API.ImageState.approved, API.ImageState.rejected],
        "ImageSize": [API.ImageSize.fullSize, API.ImageSize.bulletPoint],
        "PerformanceTestStatus": [
            API.PerformanceTestStatus.pending, API.PerformanceTestStatus.pass, API.PerformanceTestStatus.fail,
        ],
    ]

    @Test func `no member of Apple's types is unknown`() async throws {
        let names = Self.schemas.keys.sorted()
        let (status, answer) = try await AppleVerifier.run("apple_models.py", .array(names.map { .string($0) }))
        try #require(status == 0)
        for name in names {
            let members = try #require(answer[name]?.arrayValue).compactMap(\.stringValue)
            try #require(!members.isEmpty)
            let json = JSONValue.object(JSONMembers(members.map { ($0, JSONValue.null) }))
            #expect(Self.schemas[name]?.unknownMembers(of: json) == [], "\(name)")
        }
    }

    @Test func `our values of an enumeration are Apple's`() async throws {
        let names = Self.values.keys.sorted()
        let (status, answer) = try await AppleVerifier.run("apple_models.py", .array(names.map { .string($0) }))
        try #require(status == 0)
        for name in names {
            let ours = try #require(Self.values[name]).map { try JSONValue(encoding: $0) }
            #expect(try Set(#require(answer[name]?.objectValue).values) == Set(ours), "\(name)")
        }
    }

    @Test func `a history request has Apple's names`() async throws {
        let (status, answer) = try await AppleVerifier.run("apple_models.py", ["TransactionHistoryRequest"])
        try #require(status == 0)
        let ours = Mirror(reflecting: AppStoreServerAPI.TransactionHistoryRequest()).children.compactMap(\.label)
        let apples = try #require(answer["TransactionHistoryRequest"]?.arrayValue).compactMap(\.stringValue)
        #expect(Set(ours) == Set(apples))
    }

    @Test func `the table of errors is Apple's, in numbers and names`() async throws {
        let (status, answer) = try await AppleVerifier.run("apple_models.py", ["APIError"])
        try #require(status == 0)
        let apples = try #require(answer["APIError"]?.objectValue).map { name, code in
            // INVALID_SORT in Python is InvalidSortError in the documentation; some names keep the suffix.
            let words = name.split(separator: "_").map { $0.lowercased() }
            return "\(code.intValue ?? 0) \((words.last == "error" ? words.dropLast() : words[...]).joined())"
        }
        let ours = AppStoreServerAPI.ErrorCode.all.map { "\($0.rawValue) \($0.name?.lowercased() ?? "")" }
        #expect(Set(ours) == Set(apples))
        #expect(ours.count == apples.count)
    }
}
