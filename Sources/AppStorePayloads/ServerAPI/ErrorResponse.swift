import Foundation
import Primitives
import StoreModel

extension AppStoreServerAPI {
    /// An error response of the App Store Server API.
    package typealias ErrorResponse = AppStorePayload<ErrorResponseFields>

    /// The members of ``ErrorResponse`` that Apple documents.
    package final class ErrorResponseFields: AppStorePayloadFields {
        package static let layout = PayloadLayout(ErrorResponseFields())

        /// Apple's number of the error.
        package let errorCode = PayloadField<Int>("errorCode")
        /// The meaning of the error.
        package let errorMessage = PayloadField<String>("errorMessage")
    }
}
