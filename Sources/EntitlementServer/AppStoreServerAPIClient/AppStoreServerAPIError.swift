import AppStorePayloads
import Foundation
import HTTPCore
import Primitives
import StoreModel

/// An error of the App Store Server API. Two errors are equal when kind, status and Apple's code are.
///
/// The reason is a sentence for people. It contains no token, key or signed data.
public struct AppStoreServerAPIError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The kind of failure.
    public typealias Kind = OpenEnum<AppStoreServerAPIError>

    /// The kind of failure.
    public let kind: Kind
    /// The HTTP status of the response; `nil` without a response.
    public let status: Int?
    /// Apple's error code; `nil` if the response has none, as with status 401.
    public let code: AppStoreServerAPI.ErrorCode?
    /// A sentence that says what failed.
    public let reason: String
    /// The earliest time of the next call, from the App Store's `Retry-After`, by the machine's clock.
    public let retryAfter: Date?
    /// Whether the same call may succeed later.
    public let isRetryable: Bool
    /// The error that caused this one, if any.
    public let underlying: (any Error)?

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - kind: The kind of failure.
    ///   - reason: A sentence that says what failed.
    ///   - status: The HTTP status of the response.
    ///   - code: Apple's error code.
    ///   - retryAfter: The earliest time of the next call.
    ///   - isRetryable: Whether the same call may succeed later.
    ///   - underlying: The error that caused this one, if any.
    public init(
        _ kind: Kind, _ reason: String, status: Int? = nil, code: AppStoreServerAPI.ErrorCode? = nil,
        retryAfter: Date? = nil, isRetryable: Bool = false, underlying: (any Error)? = nil
    ) {
        self.kind = kind
        self.status = status
        self.code = code
        self.reason = reason
        self.retryAfter = retryAfter
        self.isRetryable = isRetryable
        self.underlying = underlying
    }

    public var description: String { reason }

    public static func == (left: Self, right: Self) -> Bool {
        (left.kind, left.status, left.code) == (right.kind, right.status, right.code)
    }
}

extension AppStoreServerAPIError {
    /// Converts an error of a transport.
    init(transport error: any Error) {
        let error = error as? HTTPError
        if error?.code == .bodyTooLarge {
            self.init(.malformedAnswer, "The App Store's answer is longer than allowed.", underlying: error)
            return
        }
        self.init(
            .unreachable, "The App Store does not answer: \(error?.reason ?? "the transport failed").",
            isRetryable: error?.isRetryable ?? false, underlying: error)
    }

    /// Converts a response with an error status, received at `now`. `token` is removed from its message.
    init(refusal answer: HTTPResponse, body: [UInt8], token: String, at now: Date) {
        let json = try? JSONValue(parsing: body, depth: 8)
        let refusal = json.flatMap { try? AppStoreServerAPI.ErrorResponse(json: $0) }
        let code = refusal?.code
        let message = Self.shown(refusal?.errorMessage ?? code?.message ?? "", without: [token])
        let reason =
            switch (answer.status, code) {
            case (401, nil):
                "The App Store does not accept the token: compare key, key id, issuer id, bundle id, environment and "
                    + "this machine's clock."
            case (_, let code?): "The App Store refused (\(code)): \(message)"
            default: "The App Store answered with status \(answer.status)."
            }
        self.init(
            .refused, reason, status: answer.status, code: code,
            retryAfter: answer.headers["Retry-After"].flatMap { Self.retryAfter($0, at: now) },
            isRetryable: code?.isRetryable ?? (answer.status == 429 || answer.status >= 500))
    }

    /// Converts a successful response that cannot be decoded.
    init(malformed error: any Error, status: Int) {
        self.init(
            .malformedAnswer, "The App Store's response is not in the documented format: \(error).", status: status,
            underlying: error)
    }

    /// Whether the call certainly had no effect, so that it can be repeated even if it is not idempotent.
    var hadNoEffect: Bool {
        guard status == nil else { return status == 429 }
        return [.hostNotFound, .connectionFailed].contains((underlying as? HTTPError)?.code)
    }

    /// Parses `Retry-After`: Apple sends milliseconds since 1970; RFC 9110 section 10.2.3 has seconds from now, and a
    /// date.
    static func retryAfter(_ text: String, at now: Date) -> Date? {
        let text = text.trimmingCharacters(in: .whitespaces)
        guard !text.isEmpty, text.utf8.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }) else {
            return HTTPDate.seconds(text).map { Date(timeIntervalSince1970: TimeInterval($0)) }
        }
        // A number of 10¹¹ or more is in milliseconds: as milliseconds it is a date after 1973, as seconds 3000 years.
        guard let number = Double(text), number < 1e15 else { return nil }
        return number < 1e11 ? now.addingTimeInterval(number) : Date(timeIntervalSince1970: number / 1000)
    }

    /// Returns at most 200 characters of a text, with secrets and control characters replaced.
    static func shown(_ text: String, without secrets: [String]) -> String {
        let safe = secrets.reduce(text) { $0.replacing($1, with: SensitiveHeaders.replacement) }
        let clean = safe.unicodeScalars.prefix(200).map { scalar in
            [.control, .format].contains(scalar.properties.generalCategory) ? " " : scalar
        }
        return String(String.UnicodeScalarView(clean))
    }
}

extension AppStoreServerAPIError.Kind {
    /// No request was sent: the key cannot sign, or an argument cannot be part of a path.
    public static var notAsked: Self { Self(rawValue: "notAsked") }
    /// There is no complete response; `underlying` is the transport's error.
    public static var unreachable: Self { Self(rawValue: "unreachable") }
    /// The App Store refused the call; `status` and `code` have the reason.
    public static var refused: Self { Self(rawValue: "refused") }
    /// The successful response is too long, cannot be decoded, or announces a next page without a new token for it.
    public static var malformedAnswer: Self { Self(rawValue: "malformedAnswer") }
}
