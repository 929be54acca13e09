import Foundation
import GooglePlay
import HTTPCore
import Primitives

/// A failed call of the Google Play Developer API.
///
/// The reason is a sentence for people. It contains no purchase token, access token or key.
package struct GooglePlayFailure: Error, Equatable, Sendable, CustomStringConvertible {
    package enum Kind: Sendable {
        /// No purchase has the token, or the purchase is of another kind of product. Google's answer is 404, or 400 to
        /// a request that reads a purchase.
        case unknownToken
        /// The token is no longer valid, because the subscription ended long ago (410).
        case expiredToken
        /// Google refuses the call, and will until something else changes: the access of the service account, the
        /// package name, or the state of the purchase. `error` has Google's answer.
        case refused
        /// There is no usable answer. The same call may succeed later.
        case unavailable
    }

    package let kind: Kind
    package let reason: String
    /// The error in Google's answer, if it has one.
    package let error: GoogleAPIError?
    /// The seconds from the answer until the next call, if Google asked for a pause: 0 to an hour.
    package let retryAfter: TimeInterval?
    /// Whether a repetition within seconds may succeed.
    let isBrief: Bool

    /// The longest pause that is respected. A longer one would keep a purchase from its acknowledgement.
    static let longestPause: TimeInterval = 3600

    package init(
        _ kind: Kind, _ reason: String, error: GoogleAPIError? = nil, retryAfter: TimeInterval? = nil,
        isBrief: Bool = false
    ) {
        self.kind = kind
        self.reason = reason
        self.error = error
        self.retryAfter = retryAfter.map { min(max(0, $0), Self.longestPause) }
        self.isBrief = isBrief
    }

    package var description: String { reason }
}

extension GooglePlayFailure {
    /// Converts an error of a transport.
    init(transport error: any Error) {
        let error = error as? HTTPError
        self.init(
            .unavailable, "Google Play does not answer: \(error?.reason ?? "the transport failed").",
            isBrief: error?.isRetryable ?? false)
    }

    /// Converts an answer with an error status, received at `now`. `secrets` are removed from its message.
    init(refusal answer: HTTPResponse, body: [UInt8], isRead: Bool, without secrets: [String], at now: Date) {
        let error = (try? JSONValue(parsing: body, depth: 16)).flatMap { GoogleAPIError($0) }.map { error in
            var error = error
            error.httpStatus = answer.status
            error.message = AppStoreServerAPIError.shown(error.message, without: secrets)
            error.reason = AppStoreServerAPIError.shown(error.reason, without: secrets)
            return error
        }
        let words =
            error.map { "Google Play refused (\(answer.status) \($0.reason)): \($0.message)" }
            ?? "Google Play answered with status \(answer.status)."
        let kind: Kind =
            switch answer.status {
            case 400 where isRead: .unknownToken
            // The reason of an unknown package name: no purchase of this app can be read.
            case 404 where error?.reason != "applicationNotFound": .unknownToken
            case 410: .expiredToken
            case 408, 429, 500...: .unavailable
            default: .refused
            }
        self.init(
            kind, words, error: error,
            retryAfter: answer.headers["Retry-After"].flatMap {
                AppStoreServerAPIError.retryAfter($0, at: now)?.timeIntervalSince(now)
            }, isBrief: kind == .unavailable && answer.status != 501)
    }

    /// Converts a successful answer that cannot be decoded. The error is not quoted: it may contain a credential.
    init(malformed what: String) {
        self.init(.unavailable, "Google Play's \(what) is not in the documented format.")
    }
}
