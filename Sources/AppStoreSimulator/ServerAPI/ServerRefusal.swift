import AppStorePayloads
import Foundation
import HTTPCore
import Primitives
import SQLStorage
import SignedData
import StoreModel

/// An error response in Apple's form: a code and a message in JSON, or a status alone for errors without a code.
struct ServerRefusal: Error {
    let response: HTTPResponse

    /// `retryAt` is the instant of the next permitted request, which Apple sends in milliseconds since 1970.
    init(_ code: AppStoreServerAPI.ErrorCode, _ message: String? = nil, retryAt: Date? = nil) {
        var response = HTTPResponse(
            status: code.status, json: AppStoreServerAPI.ErrorResponse(code, message: message).json)
        if let retryAt { response.headers["Retry-After"] = retryAt.payloadValue.text() }
        self.response = response
    }

    init(status: Int) { response = HTTPResponse(status: status) }

    /// Creates the response to a request that failed with `error`. After most errors of the database, and after a
    /// cancellation while the store closes, the request can be retried.
    init(answering error: any Error) {
        switch error {
        case let refusal as ServerRefusal: self = refusal
        case let code as AppStoreServerAPI.ErrorCode: self.init(code)
        case let error as HTTPError where error.code == .bodyTooLarge: self.init(.generalBadRequest, error.reason)
        case is JSONError: self.init(.generalBadRequest, "The body is not a JSON object.")
        // SQL text cannot contain U+0000.
        case let error as SQLError where error.code == .invalidValue: self.init(.generalBadRequest)
        case is SQLError, is CancellationError: self.init(.generalInternalRetryable)
        default: self.init(.generalInternal)
        }
    }

    /// Creates the response to an invalid token. Unlike Apple's response, it has the reason in the header of RFC 6750.
    init(unauthenticated error: SignedDataError) {
        let reason = error.reason.unicodeScalars.map { scalar in
            scalar == "\"" ? "'" : scalar.isASCII && scalar != "\\" ? String(scalar) : "?"
        }
        response = HTTPResponse(
            status: 401,
            headers: [
                "Content-Type": "text/plain",
                "WWW-Authenticate": "Bearer error=\"invalid_token\", error_description=\"\(reason.joined())\"",
            ], body: .text("Unauthenticated\n"))
    }
}
