import Foundation
import Primitives
import StoreModel

extension AppStoreServerAPI {
    /// The request of Upload Message: the text of a retention message, with optional images.
    public typealias UploadMessageRequestBody = AppStorePayload<UploadMessageRequestBodyFields>

    /// The members of ``UploadMessageRequestBody`` that Apple documents.
    public final class UploadMessageRequestBodyFields: AppStorePayloadFields {
        public static let layout = PayloadLayout(UploadMessageRequestBodyFields())

        /// The header, at most 66 characters.
        public let header = PayloadField<String>("header")
        /// The text below the header, at most 144 characters.
        public let body = PayloadField<String>("body")
        /// The image beside the text. Messages with an offer or another product have no image.
        public let image = PayloadField<UploadMessageImage>("image")
        /// The place of the header. Absent means above the body.
        public let headerPosition = PayloadField<HeaderPosition>("headerPosition")
        /// The bullet points, five at most.
        public let bulletPoints = PayloadField<[BulletPoint]>("bulletPoints")
    }

    /// The image of a retention message.
    public typealias UploadMessageImage = AppStorePayload<UploadMessageImageFields>

    /// The members of ``UploadMessageImage`` that Apple documents.
    public final class UploadMessageImageFields: AppStorePayloadFields {
        public static let layout = PayloadLayout(UploadMessageImageFields())

        /// The identifier of an image of full size. For a string that is not a UUID, this is `nil`, and `fields` has
        /// the string.
        public let imageIdentifier = PayloadField<UUID>("imageIdentifier")
        /// The description of the image for customers who cannot see it, at most 150 characters.
        public let altText = PayloadField<String>("altText")
    }

    /// A bullet point of a retention message.
    public typealias BulletPoint = AppStorePayload<BulletPointFields>

    /// The members of ``BulletPoint`` that Apple documents.
    public final class BulletPointFields: AppStorePayloadFields {
        public static let layout = PayloadLayout(BulletPointFields())

        /// The text, at most 66 characters.
        public let text = PayloadField<String>("text")
        /// The identifier of an image of the size for bullet points. For a string that is not a UUID, this is `nil`,
        /// and `fields` has the string.
        public let imageIdentifier = PayloadField<UUID>("imageIdentifier")
        /// The description of the image for customers who cannot see it, at most 150 characters.
        public let altText = PayloadField<String>("altText")
    }

    /// The place of the header of a retention message.
    public typealias HeaderPosition = OpenEnum<UploadMessageRequestBodyFields>

    /// The response of Get Message List: every message of the app with its state.
    public typealias GetMessageListResponse = AppStorePayload<GetMessageListResponseFields>

    /// The members of ``GetMessageListResponse`` that Apple documents.
    public final class GetMessageListResponseFields: AppStorePayloadFields {
        public static let layout = PayloadLayout(GetMessageListResponseFields())

        /// The messages.
        public let messageIdentifiers = PayloadField<[GetMessageListResponseItem]>("messageIdentifiers")
    }

    /// A message with its state.
    public typealias GetMessageListResponseItem = AppStorePayload<GetMessageListResponseItemFields>

    /// The members of ``GetMessageListResponseItem`` that Apple documents.
    public final class GetMessageListResponseItemFields: AppStorePayloadFields {
        public static let layout = PayloadLayout(GetMessageListResponseItemFields())

        /// The identifier of the message.
        public let messageIdentifier = PayloadField<UUID>("messageIdentifier")
        /// Whether Apple has approved the message.
        public let messageState = PayloadField<MessageState>("messageState")
    }

    /// The state of the review of a message.
    public typealias MessageState = OpenEnum<GetMessageListResponseItemFields>

    /// The request of Configure Default Message.
    package typealias DefaultConfigurationRequest = AppStorePayload<DefaultConfigurationRequestFields>

    /// The members of ``DefaultConfigurationRequest`` that Apple documents.
    package final class DefaultConfigurationRequestFields: AppStorePayloadFields {
        package static let layout = PayloadLayout(DefaultConfigurationRequestFields())

        /// The identifier of the default message. For a string that is not a UUID, this is `nil`, and `fields` has the
        /// string.
        package let messageIdentifier = PayloadField<UUID>("messageIdentifier")
    }

    /// The response of Get Default Message.
    public typealias DefaultConfigurationResponse = AppStorePayload<DefaultConfigurationResponseFields>

    /// The members of ``DefaultConfigurationResponse`` that Apple documents.
    public final class DefaultConfigurationResponseFields: AppStorePayloadFields {
        public static let layout = PayloadLayout(DefaultConfigurationResponseFields())

        /// The identifier of the default message.
        public let messageIdentifier = PayloadField<UUID>("messageIdentifier")
    }
}

extension AppStoreServerAPI.HeaderPosition {
    public static var aboveBody: Self { Self(rawValue: "ABOVE_BODY") }
    public static var aboveImage: Self { Self(rawValue: "ABOVE_IMAGE") }
}

extension AppStoreServerAPI.MessageState {
    public static var pending: Self { Self(rawValue: "PENDING") }
    public static var approved: Self { Self(rawValue: "APPROVED") }
    public static var rejected: Self { Self(rawValue: "REJECTED") }
}
