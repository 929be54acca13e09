import Foundation
import Primitives
import StoreModel

extension AppStoreServerAPI {
    /// The response of Get Image List: every image of the app with its state.
    public typealias GetImageListResponse = AppStorePayload<GetImageListResponseFields>

    /// The members of ``GetImageListResponse`` that Apple documents.
    public final class GetImageListResponseFields: AppStorePayloadFields {
        public static let layout = PayloadLayout(GetImageListResponseFields())

        /// The images.
        public let imageIdentifiers = PayloadField<[GetImageListResponseItem]>("imageIdentifiers")
    }

    /// An image with its state.
    public typealias GetImageListResponseItem = AppStorePayload<GetImageListResponseItemFields>

    /// The members of ``GetImageListResponseItem`` that Apple documents.
    public final class GetImageListResponseItemFields: AppStorePayloadFields {
        public static let layout = PayloadLayout(GetImageListResponseItemFields())

        /// The identifier of the image.
        public let imageIdentifier = PayloadField<UUID>("imageIdentifier")
        /// Whether Apple has approved the image.
        public let imageState = PayloadField<ImageState>("imageState")
        /// The size of the image.
        public let imageSize = PayloadField<ImageSize>("imageSize")
    }

    /// The state of the review of an image.
    public typealias ImageState = OpenEnum<GetImageListResponseItemFields>

    /// The size of an image, which decides where a message may have it.
    public struct ImageSize: OpenAppStoreValue {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The size of the image of a message.
        public static let fullSize = Self(rawValue: "FULL_SIZE")
        /// The size of the image of a bullet point.
        public static let bulletPoint = Self(rawValue: "BULLET_POINT")
    }
}

extension AppStoreServerAPI.ImageState {
    public static var pending: Self { Self(rawValue: "PENDING") }
    public static var approved: Self { Self(rawValue: "APPROVED") }
    public static var rejected: Self { Self(rawValue: "REJECTED") }
}
