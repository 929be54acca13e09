import StoreModel

extension AppStoreServerAPI {
    /// An error of the App Store Server API. Numbers that Apple adds later are kept; they have no name.
    ///
    ///     let code = AppStoreServerAPI.ErrorCode.transactionIdNotFound
    ///     code.rawValue                       // 4040010
    ///     code.status                         // 404
    public struct ErrorCode: OpenAppStoreValue, Error {
        public let rawValue: Int
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// The HTTP status of the response.
        public var status: Int { rawValue / 10_000 }

        /// Apple's name of the error without the suffix `Error`, or `nil` for a number that is not in the table.
        public var name: String? { Self.table[self]?.name }

        /// The meaning of the error, as a sentence.
        public var message: String { Self.table[self]?.message ?? "Error \(rawValue)." }

        /// Whether the same request may succeed later: Apple's retryable errors, and the rate limit.
        public var isRetryable: Bool {
            [
                .accountNotFoundRetryable, .appNotFoundRetryable, .originalTransactionIdNotFoundRetryable,
                .generalInternalRetryable, .rateLimitExceeded,
            ].contains(self)
        }

        /// All errors that Apple's client libraries name, by number.
        public static let all: [ErrorCode] = table.keys.sorted { $0.rawValue < $1.rawValue }

        private static let table: [ErrorCode: (name: String, message: String)] = Dictionary(
            uniqueKeysWithValues: rows.map { ($0.code, ($0.name, $0.message)) })
    }
}

extension AppStoreServerAPI.ErrorResponse {
    /// Creates a response with an error code and a message. The default message is the one in the table.
    package init(_ code: AppStoreServerAPI.ErrorCode, message: String? = nil) {
        self.init {
            $0.errorCode = code.rawValue
            $0.errorMessage = message ?? code.message
        }
    }

    /// `errorCode` with its meaning.
    package var code: AppStoreServerAPI.ErrorCode? { self.errorCode.map(AppStoreServerAPI.ErrorCode.init) }
}

extension AppStoreServerAPI.ErrorCode {
    public static let generalBadRequest = Self(rawValue: 4_000_000)
    public static let invalidAppIdentifier = Self(rawValue: 4_000_002)
    public static let invalidRequestRevision = Self(rawValue: 4_000_005)
    public static let invalidTransactionId = Self(rawValue: 4_000_006)
    public static let invalidOriginalTransactionId = Self(rawValue: 4_000_008)
    public static let invalidExtendByDays = Self(rawValue: 4_000_009)
    public static let invalidExtendReasonCode = Self(rawValue: 4_000_010)
    public static let invalidRequestIdentifier = Self(rawValue: 4_000_011)
    public static let startDateTooFarInPast = Self(rawValue: 4_000_012)
    public static let startDateAfterEndDate = Self(rawValue: 4_000_013)
    public static let invalidPaginationToken = Self(rawValue: 4_000_014)
    public static let invalidStartDate = Self(rawValue: 4_000_015)
    public static let invalidEndDate = Self(rawValue: 4_000_016)
    public static let paginationTokenExpired = Self(rawValue: 4_000_017)
    public static let invalidNotificationType = Self(rawValue: 4_000_018)
    public static let multipleFiltersSupplied = Self(rawValue: 4_000_019)
    public static let invalidTestNotificationToken = Self(rawValue: 4_000_020)
    public static let invalidSort = Self(rawValue: 4_000_021)
    public static let invalidProductType = Self(rawValue: 4_000_022)
    public static let invalidProductId = Self(rawValue: 4_000_023)
    public static let invalidSubscriptionGroupIdentifier = Self(rawValue: 4_000_024)
    public static let invalidExcludeRevoked = Self(rawValue: 4_000_025)
    public static let invalidInAppOwnershipType = Self(rawValue: 4_000_026)
    public static let invalidEmptyStorefrontCountryCodeList = Self(rawValue: 4_000_027)
    public static let invalidStorefrontCountryCode = Self(rawValue: 4_000_028)
    public static let invalidRevoked = Self(rawValue: 4_000_030)
    public static let invalidStatus = Self(rawValue: 4_000_031)
    public static let invalidAccountTenure = Self(rawValue: 4_000_032)
    public static let invalidAppAccountToken = Self(rawValue: 4_000_033)
    public static let invalidConsumptionStatus = Self(rawValue: 4_000_034)
    public static let invalidCustomerConsented = Self(rawValue: 4_000_035)
    public static let invalidDeliveryStatus = Self(rawValue: 4_000_036)
    public static let invalidLifetimeDollarsPurchased = Self(rawValue: 4_000_037)
    public static let invalidLifetimeDollarsRefunded = Self(rawValue: 4_000_038)
    public static let invalidPlatform = Self(rawValue: 4_000_039)
    public static let invalidPlayTime = Self(rawValue: 4_000_040)
    public static let invalidSampleContentProvided = Self(rawValue: 4_000_041)
    public static let invalidUserStatus = Self(rawValue: 4_000_042)
    public static let invalidTransactionNotConsumable = Self(rawValue: 4_000_043)
    public static let invalidTransactionTypeNotSupported = Self(rawValue: 4_000_047)
    public static let appTransactionIdNotSupported = Self(rawValue: 4_000_048)
    public static let invalidImage = Self(rawValue: 4_000_161)
    public static let headerTooLong = Self(rawValue: 4_000_162)
    public static let bodyTooLong = Self(rawValue: 4_000_163)
    public static let invalidLocale = Self(rawValue: 4_000_164)
    public static let altTextTooLong = Self(rawValue: 4_000_175)
    public static let invalidAppAccountTokenUUID = Self(rawValue: 4_000_183)
    public static let familyTransactionNotSupported = Self(rawValue: 4_000_185)
    public static let transactionIdIsNotOriginalTransactionId = Self(rawValue: 4_000_187)
    public static let invalidPerformanceTestRequest = Self(rawValue: 4_000_211)
    public static let invalidRequestId = Self(rawValue: 4_000_212)
    public static let existingPerformanceTestRun = Self(rawValue: 4_000_213)
    public static let badRequestRealtimeUrl = Self(rawValue: 4_000_215)
    public static let badRequestImageSize = Self(rawValue: 4_000_216)
    public static let badRequestTooManyBulletPoints = Self(rawValue: 4_000_218)
    public static let badRequestBulletPointTextTooLong = Self(rawValue: 4_000_219)
    public static let badRequestAboveImageRequiresAnImage = Self(rawValue: 4_000_224)
    public static let subscriptionExtensionIneligible = Self(rawValue: 4_030_004)
    public static let subscriptionMaxExtension = Self(rawValue: 4_030_005)
    public static let familySharedSubscriptionExtensionIneligible = Self(rawValue: 4_030_007)
    public static let maximumNumberOfImagesReached = Self(rawValue: 4_030_014)
    public static let maximumNumberOfMessagesReached = Self(rawValue: 4_030_016)
    public static let messageNotApproved = Self(rawValue: 4_030_017)
    public static let imageNotApproved = Self(rawValue: 4_030_018)
    public static let imageInUse = Self(rawValue: 4_030_019)
    public static let forbiddenNoPassingTest = Self(rawValue: 4_030_026)
    public static let accountNotFound = Self(rawValue: 4_040_001)
    public static let accountNotFoundRetryable = Self(rawValue: 4_040_002)
    public static let appNotFound = Self(rawValue: 4_040_003)
    public static let appNotFoundRetryable = Self(rawValue: 4_040_004)
    public static let originalTransactionIdNotFound = Self(rawValue: 4_040_005)
    public static let originalTransactionIdNotFoundRetryable = Self(rawValue: 4_040_006)
    public static let serverNotificationUrlNotFound = Self(rawValue: 4_040_007)
    public static let testNotificationNotFound = Self(rawValue: 4_040_008)
    public static let statusRequestNotFound = Self(rawValue: 4_040_009)
    public static let transactionIdNotFound = Self(rawValue: 4_040_010)
    public static let imageNotFound = Self(rawValue: 4_040_014)
    public static let messageNotFound = Self(rawValue: 4_040_015)
    public static let performanceTestRunNotFound = Self(rawValue: 4_040_018)
    public static let appTransactionDoesNotExist = Self(rawValue: 4_040_019)
    public static let defaultMessageNotFound = Self(rawValue: 4_040_020)
    public static let realtimeUrlNotFound = Self(rawValue: 4_040_021)
    public static let imageAlreadyExists = Self(rawValue: 4_090_000)
    public static let messageAlreadyExists = Self(rawValue: 4_090_001)
    public static let rateLimitExceeded = Self(rawValue: 4_290_000)
    public static let generalInternal = Self(rawValue: 5_000_000)
    public static let generalInternalRetryable = Self(rawValue: 5_000_001)

    fileprivate static let rows: [(code: Self, name: String, message: String)] = [
        (.generalBadRequest, "generalBadRequest", "Bad request."),
        (.invalidAppIdentifier, "invalidAppIdentifier", "Invalid app identifier."),
        (.invalidRequestRevision, "invalidRequestRevision", "Invalid revision."),
        (.invalidTransactionId, "invalidTransactionId", "Invalid transaction id."),
        (.invalidOriginalTransactionId, "invalidOriginalTransactionId", "Invalid original transaction id."),
        (.invalidExtendByDays, "invalidExtendByDays", "Invalid extendByDays: 1 to 90."),
        (.invalidExtendReasonCode, "invalidExtendReasonCode", "Invalid extendReasonCode: 0 to 3."),
        (.invalidRequestIdentifier, "invalidRequestIdentifier", "Invalid requestIdentifier: 1 to 128 characters."),
        (.startDateTooFarInPast, "startDateTooFarInPast", "The startDate is too long ago."),
        (.startDateAfterEndDate, "startDateAfterEndDate", "The endDate is not after the startDate."),
        (.invalidPaginationToken, "invalidPaginationToken", "Invalid paginationToken."),
        (.invalidStartDate, "invalidStartDate", "Invalid startDate."),
        (.invalidEndDate, "invalidEndDate", "Invalid endDate."),
        (.paginationTokenExpired, "paginationTokenExpired", "The paginationToken has expired."),
        (.invalidNotificationType, "invalidNotificationType", "Invalid notificationType or notificationSubtype."),
        (.multipleFiltersSupplied, "multipleFiltersSupplied", "Give transactionId or notificationType, not both."),
        (.invalidTestNotificationToken, "invalidTestNotificationToken", "Invalid test notification token."),
        (.invalidSort, "invalidSort", "Invalid sort."),
        (.invalidProductType, "invalidProductType", "Invalid productType."),
        (.invalidProductId, "invalidProductId", "Invalid productId."),
        (
            .invalidSubscriptionGroupIdentifier, "invalidSubscriptionGroupIdentifier",
            "Invalid subscriptionGroupIdentifier."
        ),
        (.invalidExcludeRevoked, "invalidExcludeRevoked", "Invalid excludeRevoked."),
        (.invalidInAppOwnershipType, "invalidInAppOwnershipType", "Invalid inAppOwnershipType."),
        (
            .invalidEmptyStorefrontCountryCodeList, "invalidEmptyStorefrontCountryCodeList",
            "The storefrontCountryCodes are empty; leave them out for all storefronts."
        ),
        (.invalidStorefrontCountryCode, "invalidStorefrontCountryCode", "Invalid storefront country code."),
        (.invalidRevoked, "invalidRevoked", "Invalid revoked."),
        (.invalidStatus, "invalidStatus", "Invalid status."),
        (.invalidAccountTenure, "invalidAccountTenure", "Invalid accountTenure."),
        (.invalidAppAccountToken, "invalidAppAccountToken", "Invalid appAccountToken."),
        (.invalidConsumptionStatus, "invalidConsumptionStatus", "Invalid consumptionStatus."),
        (
            .invalidCustomerConsented, "invalidCustomerConsented",
            "Invalid customerConsented, or the customer did not consent."
        ),
        (.invalidDeliveryStatus, "invalidDeliveryStatus", "Invalid deliveryStatus."),
        (.invalidLifetimeDollarsPurchased, "invalidLifetimeDollarsPurchased", "Invalid lifetimeDollarsPurchased."),
        (.invalidLifetimeDollarsRefunded, "invalidLifetimeDollarsRefunded", "Invalid lifetimeDollarsRefunded."),
        (.invalidPlatform, "invalidPlatform", "Invalid platform."),
        (.invalidPlayTime, "invalidPlayTime", "Invalid playTime."),
        (.invalidSampleContentProvided, "invalidSampleContentProvided", "Invalid sampleContentProvided."),
        (.invalidUserStatus, "invalidUserStatus", "Invalid userStatus."),
        (
            .invalidTransactionNotConsumable, "invalidTransactionNotConsumable",
            "The product of the transaction is not a consumable."
        ),
        (
            .invalidTransactionTypeNotSupported, "invalidTransactionTypeNotSupported",
            "This endpoint does not support the type of the transaction."
        ),
        (
            .appTransactionIdNotSupported, "appTransactionIdNotSupported",
            "This endpoint does not support app transaction ids."
        ),
        (.invalidImage, "invalidImage", "Invalid image."),
        (.headerTooLong, "headerTooLong", "The header is too long."),
        (.bodyTooLong, "bodyTooLong", "The body is too long."),
        (.invalidLocale, "invalidLocale", "Invalid locale."),
        (.altTextTooLong, "altTextTooLong", "The alternative text of the image is too long."),
        (.invalidAppAccountTokenUUID, "invalidAppAccountTokenUUID", "The appAccountToken is not a UUID."),
        (
            .familyTransactionNotSupported, "familyTransactionNotSupported",
            "The transaction comes from Family Sharing; this endpoint supports only the buyer's transactions."
        ),
        (
            .transactionIdIsNotOriginalTransactionId, "transactionIdIsNotOriginalTransactionId",
            "The transaction id is not that of an original transaction."
        ),
        (.invalidPerformanceTestRequest, "invalidPerformanceTestRequest", "Invalid performance test request."),
        (.invalidRequestId, "invalidRequestId", "Invalid request id."),
        (.existingPerformanceTestRun, "existingPerformanceTestRun", "Another performance test is running."),
        (.badRequestRealtimeUrl, "badRequestRealtimeUrl", "Invalid URL."),
        (.badRequestImageSize, "badRequestImageSize", "Invalid image size."),
        (.badRequestTooManyBulletPoints, "badRequestTooManyBulletPoints", "Too many bullet points."),
        (
            .badRequestBulletPointTextTooLong, "badRequestBulletPointTextTooLong",
            "The text of a bullet point is too long."
        ),
        (
            .badRequestAboveImageRequiresAnImage, "badRequestAboveImageRequiresAnImage",
            "The header position above the image requires an image."
        ),
        (
            .subscriptionExtensionIneligible, "subscriptionExtensionIneligible",
            "The state of the subscription does not allow its extension."
        ),
        (
            .subscriptionMaxExtension, "subscriptionMaxExtension",
            "The subscription has reached the maximum number of extensions."
        ),
        (
            .familySharedSubscriptionExtensionIneligible, "familySharedSubscriptionExtensionIneligible",
            "A subscription from Family Sharing can be extended only for its buyer."
        ),
        (.maximumNumberOfImagesReached, "maximumNumberOfImagesReached", "The maximum number of images is reached."),
        (
            .maximumNumberOfMessagesReached, "maximumNumberOfMessagesReached",
            "The maximum number of messages is reached."
        ),
        (.messageNotApproved, "messageNotApproved", "The message is not approved."),
        (.imageNotApproved, "imageNotApproved", "The image is not approved."),
        (.imageInUse, "imageInUse", "A message uses the image."),
        (.forbiddenNoPassingTest, "forbiddenNoPassingTest", "The URL must pass a performance test first."),
        (.accountNotFound, "accountNotFound", "Account not found."),
        (.accountNotFoundRetryable, "accountNotFoundRetryable", "Account not found. Try again."),
        (.appNotFound, "appNotFound", "App not found."),
        (.appNotFoundRetryable, "appNotFoundRetryable", "App not found. Try again."),
        (.originalTransactionIdNotFound, "originalTransactionIdNotFound", "Original transaction id not found."),
        (
            .originalTransactionIdNotFoundRetryable, "originalTransactionIdNotFoundRetryable",
            "Original transaction id not found. Try again."
        ),
        (
            .serverNotificationUrlNotFound, "serverNotificationUrlNotFound",
            "No URL for notifications is set."
        ),
        (
            .testNotificationNotFound, "testNotificationNotFound",
            "Test notification not found: it is unknown, was deleted or was not sent yet."
        ),
        (
            .statusRequestNotFound, "statusRequestNotFound",
            "No extension of renewal dates has this product and request identifier."
        ),
        (.transactionIdNotFound, "transactionIdNotFound", "Transaction id not found."),
        (.imageNotFound, "imageNotFound", "Image not found."),
        (.messageNotFound, "messageNotFound", "Message not found."),
        (.performanceTestRunNotFound, "performanceTestRunNotFound", "Performance test not found."),
        (.appTransactionDoesNotExist, "appTransactionDoesNotExist", "The customer has no app transaction."),
        (.defaultMessageNotFound, "defaultMessageNotFound", "No default message is set."),
        (.realtimeUrlNotFound, "realtimeUrlNotFound", "No URL is set."),
        (.imageAlreadyExists, "imageAlreadyExists", "An image with this identifier already exists."),
        (.messageAlreadyExists, "messageAlreadyExists", "A message with this identifier already exists."),
        (.rateLimitExceeded, "rateLimitExceeded", "Rate limit exceeded."),
        (.generalInternal, "generalInternal", "An internal error."),
        (.generalInternalRetryable, "generalInternalRetryable", "An internal error. Try again."),
    ]
}
