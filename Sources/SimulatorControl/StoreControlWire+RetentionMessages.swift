import Foundation
import Primitives
import StoreModel

extension StoreControlWire {
    /// The screen on which a customer can cancel a subscription, with a retention message or without one.
    public struct RetentionMessage: Codable, Sendable, Equatable {
        /// The number of the screen. A later screen has a greater number.
        public var number: Int64
        /// The virtual time.
        public var at: Date
        /// The account.
        public var account: String
        /// The product of the subscription.
        public var productID: ProductID
        /// The original transaction of the subscription.
        public var originalTransactionID: TransactionID
        /// The locale of the device.
        public var locale: String
        /// The identifier of the realtime request; `nil` if none was sent.
        public var requestIdentifier: UUID?
        /// The result of the realtime request in Apple's words; `nil` until it has ended.
        public var result: String?
        /// The reason why the answer to the realtime request was not used.
        public var refusal: String?
        /// The origin of the message.
        public var source: Source
        /// The kind of message; `nil` if the customer saw none.
        public var kind: Kind?
        /// The identifier of the message.
        public var messageIdentifier: UUID?
        /// The header of the message.
        public var header: String?
        /// The text of the message.
        public var body: String?
        /// The place of the header in Apple's words; `nil` means above the body.
        public var headerPosition: String?
        /// The image of the message.
        public var imageIdentifier: UUID?
        /// The description of the image.
        public var altText: String?
        /// The texts of the bullet points.
        public var bulletPoints: [String]?
        /// The product that the message suggests, or whose offer it has.
        public var offeredProductID: ProductID?
        /// The promotional offer of the message.
        public var offerID: String?

        /// Creates a screen without a message.
        ///
        /// - Parameters:
        ///   - number: The number of the screen.
        ///   - at: The virtual time.
        ///   - account: The account.
        ///   - productID: The product of the subscription.
        ///   - originalTransactionID: The original transaction of the subscription.
        ///   - locale: The locale of the device.
        public init(
            number: Int64, at: Date, account: String, productID: ProductID, originalTransactionID: TransactionID,
            locale: String
        ) {
            self.number = number
            self.at = at
            self.account = account
            self.productID = productID
            self.originalTransactionID = originalTransactionID
            self.locale = locale
            source = .nothing
        }

        /// The origin of a message. The set is closed.
        public enum Source: String, Codable, Sendable, CaseIterable {
            /// The app's server chose the message.
            case realtime
            /// The default message of the product and locale.
            case defaultMessage = "default"
            /// The customer saw no message.
            case nothing
        }

        /// The kind of a message. The set is closed.
        public enum Kind: String, Codable, Sendable, CaseIterable {
            case text, alternateProduct, promotionalOffer
        }
    }

    package struct RetentionMessages: Codable, Sendable, Equatable {
        package var retentionMessages: [RetentionMessage]
        package init(retentionMessages: [RetentionMessage]) { self.retentionMessages = retentionMessages }
    }

    /// The images and messages that the app's server uploaded, oldest first.
    package struct RetentionUploads: Codable, Sendable, Equatable {
        package var images: [Image]
        package var messages: [Message]

        package init(images: [Image], messages: [Message]) {
            self.images = images
            self.messages = messages
        }

        /// An uploaded image, without its pixels.
        package struct Image: Codable, Sendable, Equatable {
            package var imageIdentifier: UUID
            /// The virtual time of the upload.
            package var at: Date
            /// The size in Apple's words.
            package var size: String
            /// The width in pixels.
            package var width: Int
            /// The height in pixels.
            package var height: Int
            /// The state in Apple's words.
            package var state: String

            package init(imageIdentifier: UUID, at: Date, size: String, width: Int, height: Int, state: String) {
                self.imageIdentifier = imageIdentifier
                self.at = at
                self.size = size
                self.width = width
                self.height = height
                self.state = state
            }
        }

        /// An uploaded message.
        package struct Message: Codable, Sendable, Equatable {
            package var messageIdentifier: UUID
            /// The virtual time of the upload.
            package var at: Date
            /// The state in Apple's words.
            package var state: String
            /// The body of the upload, unchanged: an `UploadMessageRequestBody` of Apple.
            package var message: JSONValue
            /// The subscriptions and locales whose default message this is.
            package var defaultFor: [Place]

            package init(
                messageIdentifier: UUID, at: Date, state: String, message: JSONValue, defaultFor: [Place]
            ) {
                self.messageIdentifier = messageIdentifier
                self.at = at
                self.state = state
                self.message = message
                self.defaultFor = defaultFor
            }
        }

        /// A product and a locale that have a default message.
        package struct Place: Codable, Sendable, Equatable {
            package var productID: ProductID
            package var locale: String

            package init(productID: ProductID, locale: String) {
                self.productID = productID
                self.locale = locale
            }
        }
    }

    /// Identifies a subscription, with the locale of the customer's device.
    package struct Cancel: Codable, Sendable, Equatable {
        package var productID: ProductID
        /// The locale such as `en-US`; `nil` means that of the catalogue.
        package var locale: String?
        package init(productID: ProductID, locale: String? = nil) {
            self.productID = productID
            self.locale = locale
        }
    }

    /// The review of an uploaded message or of an image: exactly one of them.
    public struct RetentionReview: Codable, Sendable, Equatable {
        /// The identifier of the message.
        package var messageIdentifier: UUID?
        /// The identifier of the image.
        package var imageIdentifier: UUID?
        /// The new state.
        package var state: State

        package init(messageIdentifier: UUID? = nil, imageIdentifier: UUID? = nil, state: State) {
            self.messageIdentifier = messageIdentifier
            self.imageIdentifier = imageIdentifier
            self.state = state
        }

        /// The state of a message or image in Apple's words. The set is closed.
        public enum State: String, Codable, Sendable, CaseIterable {
            case pending = "PENDING"
            case approved = "APPROVED"
            case rejected = "REJECTED"
        }
    }
}
