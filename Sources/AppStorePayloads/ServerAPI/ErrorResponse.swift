import Foundation
import Primitives
import StoreModel

extension AppStoreServerAPI {
    /// An error response of the App Store Server API.
    package struct ErrorResponse: AppStorePayload {
        package var fields: JSONMembers
        package init(unchecked fields: JSONMembers) { self.fields = fields }
        package static let layout = PayloadLayout(Fields())

        /// The members that Apple documents.
        package struct Fields: Sendable {
            /// Apple's number of the error.
            package let errorCode = PayloadField<Int>("errorCode")
            /// The meaning of the error.
            package let errorMessage = PayloadField<String>("errorMessage")
        }
    }
}
