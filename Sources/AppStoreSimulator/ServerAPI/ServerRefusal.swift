import AppStorePayloads
import Foundation
import HTTPCore
import Primitives
import SQLStorage
import SignedData
import StoreModel

/// What is refused, as Apple refuses it: a number and a message in JSON; a bare status for what has no number.
struct ServerRefusal: Error {
    let response: HTTPResponse

    /// `retryAt`: when the next request may be sent, which Apple tells in milliseconds since 1970.
    init(_ code: AppStoreServerAPI.ErrorCode, _ message: String? = nil, retryAt: Date? = nil) {
        var response = HTTPResponse(
            status: code.status, json: AppStoreServerAPI.ErrorResponse(code, message: message).json)
        if let retryAt { response.headers["Retry-After"] = retryAt.payloadValue.text() }
        self.response = response
    }

    init(status: Int) { response = HTTPResponse(status: status) }

    /// What went wrong while a request was answered.
    init(answering error: any Error) {
        switch error {
        case let refusal as ServerRefusal: self = refusal
        case let code as AppStoreServerAPI.ErrorCode: self.init(code)
        case let error as HTTPError where error.code == .bodyTooLarge: self.init(.generalBadRequest, error.reason)
        case is JSONError: self.init(.generalBadRequest, "The body is not a JSON object.")
        // A string with U+0000.
        case let error as SQLError where error.code == .invalidValue: self.init(.generalBadRequest)
        // The store is closing, or its disk has a moment.
        case is SQLError, is CancellationError: self.init(.generalInternalRetryable)
        default: self.init(.generalInternal)
        }
    }

    /// Apple does not say what is wrong with a token. This store does, where HTTP has a place for it (RFC 6750).
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
