import Foundation
import Primitives
import StoreModel

/// The payload of a realtime request: the App Store asks which message to show to a customer who may cancel a
/// subscription (Retention Messaging API). It contains the app's number and not its bundle identifier.
public typealias DecodedRealtimeRequestBody = AppStorePayload<DecodedRealtimeRequestBodyFields>

/// The members of ``DecodedRealtimeRequestBody`` that Apple documents.
public final class DecodedRealtimeRequestBodyFields: AppStorePayloadFields {
    public static let layout = PayloadLayout(DecodedRealtimeRequestBodyFields())

    /// The original transaction of the subscription that the customer looks at.
    public let originalTransactionId = PayloadField<String>("originalTransactionId")
    /// The App Store's number of the app. Answer only when it is yours.
    public let appAppleId = PayloadField<Int>("appAppleId")
    /// The product of the subscription.
    public let productId = PayloadField<String>("productId")
    /// The language and region of the device, such as `en-US`.
    public let userLocale = PayloadField<String>("userLocale")
    /// The identifier of this request. For a string that is not a UUID, this is `nil`, and `fields` has the
    /// string.
    public let requestIdentifier = PayloadField<UUID>("requestIdentifier")
    /// The environment of the store that signed.
    public let environment = PayloadField<AppStoreEnvironment>("environment")
    /// The date on which the store signed the payload.
    public let signedDate = PayloadField<Date>("signedDate")
}
