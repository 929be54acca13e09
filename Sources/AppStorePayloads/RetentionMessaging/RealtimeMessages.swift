import Foundation
import Primitives
import StoreModel

extension AppStoreServerAPI {
    /// The body of a realtime request to an app's server.
    package typealias RealtimeRequestBody = AppStorePayload<RealtimeRequestBodyFields>

    /// The members of ``RealtimeRequestBody`` that Apple documents.
    package final class RealtimeRequestBodyFields: AppStorePayloadFields {
        package static let layout = PayloadLayout(RealtimeRequestBodyFields())

        /// A `DecodedRealtimeRequestBody`, signed.
        package let signedPayload = PayloadField<String>("signedPayload")
    }

    /// The answer of an app's server to a realtime request: one of its members is the message to show.
    package typealias RealtimeResponseBody = AppStorePayload<RealtimeResponseBodyFields>

    /// The members of ``RealtimeResponseBody`` that Apple documents.
    package final class RealtimeResponseBodyFields: AppStorePayloadFields {
        package static let layout = PayloadLayout(RealtimeResponseBodyFields())

        /// A message with an optional image.
        package let message = PayloadField<RetentionMessage>("message")
        /// A message that suggests another subscription.
        package let alternateProduct = PayloadField<AlternateProduct>("alternateProduct")
        /// A message with a promotional offer.
        package let promotionalOffer = PayloadField<PromotionalOffer>("promotionalOffer")
        /// A message of an app that uses the Advanced Commerce API.
        package let advancedCommerceInfo = PayloadField<AdvancedCommerceInfo>("advancedCommerceInfo")
    }

    /// The choice of a message without an offer. Apple's name is `message`.
    package typealias RetentionMessage = AppStorePayload<RetentionMessageFields>

    /// The members of ``RetentionMessage`` that Apple documents.
    package final class RetentionMessageFields: AppStorePayloadFields {
        package static let layout = PayloadLayout(RetentionMessageFields())

        /// The identifier of the message. For a string that is not a UUID, this is `nil`, and `fields` has the string.
        package let messageIdentifier = PayloadField<UUID>("messageIdentifier")
    }

    /// The choice of a message that suggests another subscription.
    package typealias AlternateProduct = AppStorePayload<AlternateProductFields>

    /// The members of ``AlternateProduct`` that Apple documents.
    package final class AlternateProductFields: AppStorePayloadFields {
        package static let layout = PayloadLayout(AlternateProductFields())

        /// The identifier of the message. For a string that is not a UUID, this is `nil`, and `fields` has the string.
        package let messageIdentifier = PayloadField<UUID>("messageIdentifier")
        /// The suggested subscription.
        package let productId = PayloadField<String>("productId")
        /// The billing plan of the suggested subscription.
        package let billingPlanType = PayloadField<BillingPlanType>("billingPlanType")
    }

    /// The choice of a message with a promotional offer, which is signed in one of two forms.
    package typealias PromotionalOffer = AppStorePayload<PromotionalOfferFields>

    /// The members of ``PromotionalOffer`` that Apple documents.
    package final class PromotionalOfferFields: AppStorePayloadFields {
        package static let layout = PayloadLayout(PromotionalOfferFields())

        /// The identifier of the message. For a string that is not a UUID, this is `nil`, and `fields` has the string.
        package let messageIdentifier = PayloadField<UUID>("messageIdentifier")
        /// The signed offer as a JWS.
        package let promotionalOfferSignatureV2 = PayloadField<String>("promotionalOfferSignatureV2")
        /// The signed offer in the earlier form.
        package let promotionalOfferSignatureV1 = PayloadField<PromotionalOfferSignatureV1>(
            "promotionalOfferSignatureV1")
    }

    /// A promotional offer that is signed in the earlier form.
    package typealias PromotionalOfferSignatureV1 = AppStorePayload<PromotionalOfferSignatureV1Fields>

    /// The members of ``PromotionalOfferSignatureV1`` that Apple documents.
    package final class PromotionalOfferSignatureV1Fields: AppStorePayloadFields {
        package static let layout = PayloadLayout(PromotionalOfferSignatureV1Fields())

        /// The signature in base64.
        package let encodedSignature = PayloadField<String>("encodedSignature")
        /// The product of the offer.
        package let productId = PayloadField<String>("productId")
        /// The UUID that is used for one signature only.
        package let nonce = PayloadField<UUID>("nonce")
        /// The time of the signature in milliseconds since 1970.
        package let timestamp = PayloadField<Int>("timestamp")
        /// The identifier of the key.
        package let keyId = PayloadField<String>("keyId")
        /// The identifier of the offer.
        package let offerIdentifier = PayloadField<String>("offerIdentifier")
        /// The UUID with which the app named the customer.
        package let appAccountToken = PayloadField<UUID>("appAccountToken")
    }

    /// The choice of a message of an app that uses the Advanced Commerce API.
    package typealias AdvancedCommerceInfo = AppStorePayload<AdvancedCommerceInfoFields>

    /// The members of ``AdvancedCommerceInfo`` that Apple documents.
    package final class AdvancedCommerceInfoFields: AppStorePayloadFields {
        package static let layout = PayloadLayout(AdvancedCommerceInfoFields())

        /// The identifier of the message. For a string that is not a UUID, this is `nil`, and `fields` has the string.
        package let messageIdentifier = PayloadField<UUID>("messageIdentifier")
        /// A JSON object in base64 that contains the signed offer or suggestion.
        package let advancedCommerceData = PayloadField<String>("advancedCommerceData")
    }
}
