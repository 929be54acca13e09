import Foundation
import Primitives

/// What the App Store asks when a customer looks at a subscription they may cancel: which message to show (Retention
/// Messaging API, `DecodedRealtimeRequestBody`). It names the app by its number, not by its bundle.
public struct DecodedRealtimeRequestBody: AppStorePayload {
    public var fields: JSONMembers
    public init(unchecked fields: JSONMembers) { self.fields = fields }

    /// Every argument left out is absent from the JSON; Apple sends them all.
    public init(
        originalTransactionId: String? = nil,
        appAppleId: Int? = nil,
        productId: String? = nil,
        userLocale: String? = nil,
        requestIdentifier: UUID? = nil,
        environment: AppStoreEnvironment? = nil,
        signedDate: Date? = nil
    ) {
        fields = [:]
        self.originalTransactionId = originalTransactionId
        self.appAppleId = appAppleId
        self.productId = productId
        self.userLocale = userLocale
        self.requestIdentifier = requestIdentifier
        self.environment = environment
        self.signedDate = signedDate
    }

    /// The subscription the customer is looking at.
    public var originalTransactionId: String? {
        get { self["originalTransactionId"] }
        set { self["originalTransactionId"] = newValue }
    }

    /// The App Store's number of the app. Answer only when it is yours.
    public var appAppleId: Int? {
        get { self["appAppleId"] }
        set { self["appAppleId"] = newValue }
    }

    /// The product of the subscription.
    public var productId: String? {
        get { self["productId"] }
        set { self["productId"] = newValue }
    }

    /// The language and region of the device, as `en-US`.
    public var userLocale: String? {
        get { self["userLocale"] }
        set { self["userLocale"] = newValue }
    }

    /// The identifier of this request. A text that is no UUID reads as `nil` and stays in `fields`.
    public var requestIdentifier: UUID? {
        get { self["requestIdentifier"] }
        set { self["requestIdentifier"] = newValue }
    }

    /// The store that signed.
    public var environment: AppStoreEnvironment? {
        get { self["environment"] }
        set { self["environment"] = newValue }
    }

    /// When the store signed this.
    public var signedDate: Date? {
        get { self["signedDate"] }
        set { self["signedDate"] = newValue }
    }

    public static let schema = PayloadSchema([
        "originalTransactionId": .text,
        "appAppleId": .integer,
        "productId": .text,
        "userLocale": .text,
        "requestIdentifier": .text,
        "environment": .text,
        "signedDate": .date,
    ])
}

extension AppStoreServerAPI {
    /// The body the App Store sends to an app's server for a message (Retention Messaging API, `RealtimeRequestBody`).
    public struct RealtimeRequestBody: AppStorePayload {
        public var fields: JSONMembers
        public init(unchecked fields: JSONMembers) { self.fields = fields }

        /// Every argument left out is absent from the JSON.
        public init(signedPayload: String? = nil) {
            fields = [:]
            self.signedPayload = signedPayload
        }

        /// A `DecodedRealtimeRequestBody`, signed.
        public var signedPayload: String? {
            get { self["signedPayload"] }
            set { self["signedPayload"] = newValue }
        }

        public static let schema = PayloadSchema(["signedPayload": .text])
    }
}
