import Primitives
import StoreModel
import Testing

@testable import SignedData

/// Every member that Apple's own library has in a payload has a place in ours.
@Suite(.enabled(if: AppleVerifier.interpreter != nil, "SOUK_PYTHON names no interpreter with Apple's library"))
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
    ]

    @Test func `no member of Apple's types is unknown`() throws {
        let names = Self.schemas.keys.sorted()
        let (status, answer) = try AppleVerifier.run("apple_models.py", .array(names.map { .string($0) }))
        try #require(status == 0)
        for name in names {
            let members = try #require(answer[name]?.arrayValue).compactMap(\.stringValue)
            try #require(!members.isEmpty)
            let json = JSONValue.object(JSONMembers(members.map { ($0, JSONValue.null) }))
            #expect(Self.schemas[name]?.unknownMembers(of: json) == [], "\(name)")
        }
    }
}
