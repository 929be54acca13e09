import Foundation
import Primitives
import StoreModel
import Testing

@testable import AppStorePayloads

@Suite struct PayloadSchemaTests {
    @Test(arguments: Payloads.all + Payloads.parts)
    func `a payload has the members that Apple documents, with their kinds`(type: any AppStorePayloadFields.Type) throws
    {
        let name = type.title
        let documented = try #require(DocumentedMembers.all[name])
        #expect(type.schema == DocumentedMembers.schema(of: name))
        #expect(Mirror(reflecting: type.known).children.compactMap(\.label).sorted() == documented.keys.sorted())
    }

    @Test func `every documented payload is declared, once`() {
        let names = (Payloads.all + Payloads.parts).map { $0.title }
        #expect(names.sorted() == DocumentedMembers.all.keys.sorted())
    }

    /// Each payload has a value for every known member, an unknown member first, and one after each known member.
    @Test(arguments: Payloads.all + Payloads.parts)
    func `every member is decoded and encoded in its place`(type: any AppStorePayloadFields.Type) throws {
        let known = DocumentedMembers.example(of: type.title)
        var pairs: [(String, JSONValue)] = [("unknown first", ["b": 1, "a": 1.50])]
        for (name, value) in known { pairs += [(name, value), ("after \(name)", nil)] }
        let json = JSONValue.object(JSONMembers(pairs))
        #expect(try type.copied(json).text() == json.text())
        let empty = JSONValue.object(JSONMembers(known.map { ($0.0, JSONValue.null) }))
        #expect(try type.membersWithValue(empty).isEmpty)
        #expect(try type.membersWithValue(json).sorted() == known.map(\.0).sorted())
    }

    @Test func `members that Apple added later are found at every depth`() throws {
        let text = #"""
            {"transactionId":"1","a/b":1,"~":null,"advancedCommerceInfo":{"items":[{"SKU":"s","new":1},{"more":{}}],"x":[]}}
            """#
        let unknown = JWSTransactionDecodedPayload.schema.unknownMembers(of: try JSONValue(parsing: text))
        #expect(
            Set(unknown) == [
                "/a~1b", "/~0", "/advancedCommerceInfo/items/0/new", "/advancedCommerceInfo/items/1/more",
                "/advancedCommerceInfo/x",
            ])
        #expect(JWSTransactionDecodedPayload.schema.unknownMembers(of: [1, 2]) == [])
    }

    @Test(arguments: [
        ("0", 0.0), ("1698148900123", 1_698_148_900.123), ("1.698148900123e12", 1_698_148_900.123), ("-1", -0.001),
        ("253402300799999", 253_402_300_799.999), ("-62167219200000", -62_167_219_200),
    ])
    func `a date is any number of milliseconds that RFC 3339 can represent`(text: String, seconds: Double) throws {
        let payload = try JWSTransactionDecodedPayload(json: JSONValue(parsing: #"{"signedDate":\#(text)}"#))
        let date = try #require(payload.signedDate)
        #expect(abs(date.timeIntervalSince1970 - seconds) < 1e-4)
    }

    @Test(arguments: ["253402300800000", "-62167219200001", "1e400", "true", "\"1\"", "{}"])
    func `a value that is not a number of milliseconds in the years 0 to 9999 is refused`(text: String) {
        #expect(
            throws: AppStorePayloadError(
                pointer: "/signedDate", expected: "a number of milliseconds since 1970, in the years 0 to 9999")
        ) {
            try JWSTransactionDecodedPayload(json: JSONValue(parsing: #"{"signedDate":\#(text)}"#))
        }
    }

    @Test(arguments: ["1", "1.0", "1e0", "10e-1"]) func `an integer may be written with a fraction or an exponent`(
        text: String
    ) throws {
        let payload = try JWSTransactionDecodedPayload(json: JSONValue(parsing: #"{"quantity":\#(text)}"#))
        #expect(payload.quantity == 1)
        #expect(payload.json.text() == #"{"quantity":\#(text)}"#)
    }

    @Test(arguments: ["1.5", "9223372036854775808", "1e19", "\"1\"", "true", "[]"])
    func `a value that is not an integer of 64 bits is refused`(text: String) {
        #expect(throws: AppStorePayloadError(pointer: "/quantity", expected: "an integer")) {
            try JWSTransactionDecodedPayload(json: JSONValue(parsing: #"{"quantity":\#(text)}"#))
        }
    }
}

/// The members of each payload and their kinds, from Apple's documentation.
private enum DocumentedMembers {
    static let all: [String: [String: String]] = {
        var all: [String: [String: String]] = [:]
        var payload = ""
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ").map(String.init)
            if line.hasPrefix(" ") { all[payload]?[words[0]] = words[1] } else { payload = words[0] }
            if all[payload] == nil { all[payload] = [:] }
        }
        return all
    }()

    static func schema(of payload: String) -> PayloadSchema {
        PayloadSchema((all[payload] ?? [:]).map { ($0.key, kind($0.value)) })
    }

    private static func kind(_ word: String) -> PayloadSchema.Kind {
        switch word {
        case "text": .text
        case "integer": .integer
        case "boolean": .boolean
        case "date": .date
        case "counts": .counts
        default: word.hasPrefix("[") ? .list(kind(String(word.dropFirst().dropLast()))) : .object(schema(of: word))
        }
    }

    /// A value for every member of a payload.
    static func example(of payload: String) -> [(String, JSONValue)] {
        (all[payload] ?? [:]).sorted { $0.key < $1.key }.map { ($0.key, example($0.value, of: $0.key)) }
    }

    private static func example(_ word: String, of member: String) -> JSONValue {
        switch word {
        case "text": "7e3fb20b-4cdb-47cc-936d-99d65f608138"
        case "integer": 7
        case "boolean": true
        case "date": 1_698_148_900_123
        case "counts": ["NO_RESPONSE": 2, "TIMED_OUT": 1]
        default:
            word.hasPrefix("[")
                ? [example(String(word.dropFirst().dropLast()), of: member)]
                : .object(JSONMembers(example(of: word)))
        }
    }

    private static let text = """
        AdvancedCommerceDescriptors
          description text
          displayName text
        AdvancedCommerceInfo
          advancedCommerceData text
          messageIdentifier text
        AdvancedCommerceOffer
          period text
          periodCount integer
          price integer
          reason text
        AdvancedCommercePriceIncreaseInfo
          dependentSKUs [text]
          price integer
          status text
        AdvancedCommerceRefund
          refundAmount integer
          refundDate date
          refundReason text
          refundType text
        AdvancedCommerceRenewalInfo
          consistencyToken text
          descriptors AdvancedCommerceDescriptors
          items [AdvancedCommerceRenewalItem]
          period text
          requestReferenceId text
          taxCode text
        AdvancedCommerceRenewalItem
          SKU text
          description text
          displayName text
          offer AdvancedCommerceOffer
          price integer
          priceIncreaseInfo AdvancedCommercePriceIncreaseInfo
        AdvancedCommerceTransactionInfo
          descriptors AdvancedCommerceDescriptors
          estimatedTax integer
          items [AdvancedCommerceTransactionItem]
          period text
          requestReferenceId text
          taxCode text
          taxExclusivePrice integer
          taxRate text
        AdvancedCommerceTransactionItem
          SKU text
          description text
          displayName text
          offer AdvancedCommerceOffer
          price integer
          refunds [AdvancedCommerceRefund]
          revocationDate date
        AlternateProduct
          billingPlanType text
          messageIdentifier text
          productId text
        AppTransaction
          appAppleId integer
          appTransactionId text
          applicationVersion text
          bundleId text
          deviceVerification text
          deviceVerificationNonce text
          originalApplicationVersion text
          originalPlatform text
          originalPurchaseDate date
          preorderDate date
          receiptCreationDate date
          receiptType text
          versionExternalIdentifier integer
        AppTransactionInfoResponse
          signedAppTransactionInfo text
        AssociateSeatRequest
          appTransactionId text
        BulletPoint
          altText text
          imageIdentifier text
          text text
        CheckTestNotificationResponse
          firstSendAttemptResult text
          sendAttempts [SendAttemptItem]
          signedPayload text
        ClaimSeatRequest
          appTransactionId text
          requestIdentifier text
        ClaimSeatResponse
          seatClaimId text
        ConsumptionRequest
          consumptionPercentage integer
          customerConsented boolean
          deliveryStatus text
          refundPreference text
          sampleContentProvided boolean
        ConsumptionRequestV1
          accountTenure integer
          appAccountToken text
          consumptionStatus integer
          customerConsented boolean
          deliveryStatus integer
          lifetimeDollarsPurchased integer
          lifetimeDollarsRefunded integer
          platform integer
          playTime integer
          refundPreference integer
          sampleContentProvided boolean
          userStatus integer
        DecodedRealtimeRequestBody
          appAppleId integer
          environment text
          originalTransactionId text
          productId text
          requestIdentifier text
          signedDate date
          userLocale text
        DefaultConfigurationRequest
          messageIdentifier text
        DefaultConfigurationResponse
          messageIdentifier text
        ErrorResponse
          errorCode integer
          errorMessage text
        ExtendRenewalDateRequest
          extendByDays integer
          extendReasonCode integer
          requestIdentifier text
        ExtendRenewalDateResponse
          effectiveDate date
          originalTransactionId text
          success boolean
          webOrderLineItemId text
        ExternalPurchaseToken
          appAppleId integer
          bundleId text
          externalPurchaseId text
          tokenCreationDate date
          tokenExpirationDate date
          tokenType text
        GetCustomerGroupsResponse
          groups [GroupEntry]
        GetGroupMembersResponse
          hasMore boolean
          members [GroupMemberEntry]
          paginationToken text
        GetImageListResponse
          imageIdentifiers [GetImageListResponseItem]
        GetImageListResponseItem
          imageIdentifier text
          imageSize text
          imageState text
        GetMessageListResponse
          messageIdentifiers [GetMessageListResponseItem]
        GetMessageListResponseItem
          messageIdentifier text
          messageState text
        GetSeatInfoResponse
          assignedSeatClaimIds [text]
          availableSeatCount integer
          totalSeatCount integer
        GroupEntry
          groupId text
          groupType text
          roles [RoleEntry]
        GroupMemberEntry
          appTransactionId text
        HistoryResponse
          appAppleId integer
          bundleId text
          environment text
          hasMore boolean
          revision text
          signedTransactions [text]
        JWSRenewalInfoDecodedPayload
          advancedCommerceInfo AdvancedCommerceRenewalInfo
          appAccountToken text
          appTransactionId text
          autoRenewProductId text
          autoRenewStatus integer
          commitmentInfo RenewalCommitmentInfo
          currency text
          deviceVerification text
          deviceVerificationNonce text
          eligibleWinBackOfferIds [text]
          environment text
          expirationIntent integer
          gracePeriodExpiresDate date
          isInBillingRetryPeriod boolean
          multiSeatInfo RenewalMultiSeatInfo
          offerDiscountType text
          offerIdentifier text
          offerPeriod text
          offerType integer
          originalTransactionId text
          priceIncreaseStatus integer
          productId text
          recentSubscriptionStartDate date
          renewalBillingPlanType text
          renewalDate date
          renewalPrice integer
          renewalQuantity integer
          signedDate date
        JWSTransactionDecodedPayload
          additionalTransactionReason text
          advancedCommerceInfo AdvancedCommerceTransactionInfo
          appAccountToken text
          appTransactionId text
          billingPlanType text
          bundleId text
          commitmentInfo TransactionCommitmentInfo
          currency text
          deviceVerification text
          deviceVerificationNonce text
          environment text
          expiresDate date
          inAppOwnershipType text
          isUpgraded boolean
          multiSeatInfo TransactionMultiSeatInfo
          offerDiscountType text
          offerIdentifier text
          offerPeriod text
          offerType integer
          originalPurchaseDate date
          originalTransactionId text
          previousOriginalTransactionId text
          price integer
          productId text
          purchaseDate date
          quantity integer
          revocationDate date
          revocationPercentage integer
          revocationReason integer
          revocationType text
          signedDate date
          storefront text
          storefrontId text
          subscriptionGroupIdentifier text
          transactionId text
          transactionReason text
          type text
          webOrderLineItemId text
        LastTransactionsItem
          originalTransactionId text
          signedRenewalInfo text
          signedTransactionInfo text
          status integer
        MassExtendRenewalDateRequest
          extendByDays integer
          extendReasonCode integer
          productId text
          requestIdentifier text
          storefrontCountryCodes [text]
        MassExtendRenewalDateResponse
          requestIdentifier text
        MassExtendRenewalDateStatusResponse
          complete boolean
          completeDate date
          failedCount integer
          requestIdentifier text
          succeededCount integer
        MultiSeatPriceTier
          price integer
          quantity integer
        NotificationAppData
          appAppleId integer
          bundleId text
          environment text
          signedAppTransactionInfo text
        NotificationData
          appAppleId integer
          bundleId text
          bundleVersion text
          consumptionRequestReason text
          environment text
          signedRenewalInfo text
          signedTransactionInfo text
          status integer
        NotificationHistoryRequest
          endDate date
          notificationSubtype text
          notificationType text
          onlyFailures boolean
          startDate date
          transactionId text
        NotificationHistoryResponse
          hasMore boolean
          notificationHistory [NotificationHistoryResponseItem]
          paginationToken text
        NotificationHistoryResponseItem
          firstSendAttemptResult text
          sendAttempts [SendAttemptItem]
          signedPayload text
        NotificationSummary
          appAppleId integer
          bundleId text
          environment text
          failedCount integer
          productId text
          requestIdentifier text
          storefrontCountryCodes [text]
          succeededCount integer
        OrderLookupResponse
          signedTransactions [text]
          status integer
        PerformanceTestConfig
          maxConcurrentRequests integer
          responseTimeThreshold integer
          successRateThreshold integer
          totalDuration integer
          totalRequests integer
        PerformanceTestRequest
          originalTransactionId text
        PerformanceTestResponse
          config PerformanceTestConfig
          requestId text
        PerformanceTestResponseTimes
          average integer
          p50 integer
          p90 integer
          p95 integer
          p99 integer
        PerformanceTestResultResponse
          config PerformanceTestConfig
          failures counts
          numPending integer
          responseTimes PerformanceTestResponseTimes
          result text
          successRate integer
          target text
        PromotionalOffer
          messageIdentifier text
          promotionalOfferSignatureV1 PromotionalOfferSignatureV1
          promotionalOfferSignatureV2 text
        PromotionalOfferSignatureV1
          appAccountToken text
          encodedSignature text
          keyId text
          nonce text
          offerIdentifier text
          productId text
          timestamp integer
        RealtimeRequestBody
          signedPayload text
        RealtimeResponseBody
          advancedCommerceInfo AdvancedCommerceInfo
          alternateProduct AlternateProduct
          message RetentionMessage
          promotionalOffer PromotionalOffer
        RealtimeUrlRequest
          realtimeURL text
        RealtimeUrlResponse
          realtimeURL text
        RefundHistoryResponse
          hasMore boolean
          revision text
          signedTransactions [text]
        RefundLookupResponse
          signedTransactions [text]
        RenewalCommitmentInfo
          commitmentAutoRenewProductId text
          commitmentAutoRenewStatus integer
          commitmentRenewalBillingPlanType text
          commitmentRenewalDate date
          commitmentRenewalPrice integer
        RenewalMultiSeatInfo
          renewalPriceTiers [MultiSeatPriceTier]
        ResponseBodyV2DecodedPayload
          appData NotificationAppData
          data NotificationData
          externalPurchaseToken ExternalPurchaseToken
          notificationType text
          notificationUUID text
          signedDate date
          subtype text
          summary NotificationSummary
          unclaimInfo UnclaimInfo
          version text
        RetentionMessage
          messageIdentifier text
        RoleEntry
          productId text
          role text
        SendAttemptItem
          attemptDate date
          sendAttemptResult text
        SendTestNotificationResponse
          testNotificationToken text
        StatusResponse
          appAppleId integer
          bundleId text
          data [SubscriptionGroupIdentifierItem]
          environment text
        SubscriptionGroupIdentifierItem
          lastTransactions [LastTransactionsItem]
          subscriptionGroupIdentifier text
        TransactionCommitmentInfo
          billingPeriodNumber integer
          commitmentExpiresDate date
          commitmentPrice integer
          totalBillingPeriods integer
        TransactionInfoResponse
          signedTransactionInfo text
        TransactionMultiSeatInfo
          invitationManagement text
          priceTiers [MultiSeatPriceTier]
          revokedSeatQuantity integer
        UnclaimInfo
          unclaimSeatIds [text]
        UpdateAppAccountTokenRequest
          appAccountToken text
        UploadMessageImage
          altText text
          imageIdentifier text
        UploadMessageRequestBody
          body text
          bulletPoints [BulletPoint]
          header text
          headerPosition text
          image UploadMessageImage
        """
}

extension AppStorePayloadFields {
    /// The name of the payload.
    static var title: String { String("\(Self.self)".dropLast("Fields".count)) }

    /// The known members and their kinds.
    static var schema: PayloadSchema { layout.schema }

    /// Every known member.
    static var known: Any { layout.fields }

    /// Returns the JSON of the payload that was decoded from `json`.
    static func payload(_ json: JSONValue) throws -> JSONValue { try AppStorePayload<Self>(json: json).json }

    /// Returns the JSON after every known member was read and set again.
    static func copied(_ json: JSONValue) throws -> JSONValue {
        var payload = try AppStorePayload<Self>(json: json)
        for case let (_, field as any CopiedMember) in Mirror(reflecting: layout.fields).children {
            field.copyValue(in: &payload.fields)
        }
        return payload.json
    }

    /// Returns the names of the members that have a value.
    static func membersWithValue(_ json: JSONValue) throws -> [String] {
        let payload = try AppStorePayload<Self>(json: json)
        return Mirror(reflecting: layout.fields).children.compactMap {
            ($0.value as? any CopiedMember)?.nameOfValue(in: payload.fields)
        }
    }
}

private protocol CopiedMember {
    func copyValue(in members: inout JSONMembers)
    func nameOfValue(in members: JSONMembers) -> String?
}

extension PayloadField: CopiedMember {
    func copyValue(in members: inout JSONMembers) { members[name] = members[name].flatMap(read).map(write) }

    func nameOfValue(in members: JSONMembers) -> String? { members[name].flatMap(read) == nil ? nil : name }
}
