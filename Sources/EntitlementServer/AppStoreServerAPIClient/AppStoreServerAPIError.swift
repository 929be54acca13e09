import AppStorePayloads
import Foundation
import HTTPCore
import Primitives
import StoreModel

/// Why a call of the App Store Server API did not succeed. Two are equal when kind, status and Apple's code are.
///
/// The reason is a sentence for people. It never quotes a token, a key or what was signed.
public struct AppStoreServerAPIError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The kind of failure, from an open list.
    public typealias Kind = OpenEnum<AppStoreServerAPIError>

    public let kind: Kind
    /// The HTTP status of the answer; `nil` when there was none.
    public let status: Int?
    /// Apple's number of the error; `nil` where the answer has none, as with status 401.
    public let code: AppStoreServerAPI.ErrorCode?
    public let reason: String
    /// When the App Store asks not to be asked before, by the machine's clock.
    public let retryAfter: Date?
    /// Whether the same call may succeed later.
    public let isRetryable: Bool
    public let underlying: (any Error)?

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
    /// What a transport threw.
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

    /// An answer whose status is not one of success, taken at `now`. `token` is cut out of what it says.
    init(refusal answer: HTTPResponse, body: [UInt8], token: String, at now: Date) {
        let json = try? JSONValue(parsing: body, depth: 8)
        let refusal = json.flatMap { try? AppStoreServerAPI.ErrorResponse(json: $0) }
        let code = refusal?.code
        let words = Self.shown(refusal?.errorMessage ?? code?.message ?? "", without: token)
        let reason =
            switch (answer.status, code) {
            case (401, nil):
                "The App Store does not accept the token: compare key, key id, issuer id, bundle id, environment and "
                    + "this machine's clock."
            case (_, let code?): "The App Store refused (\(code)): \(words)"
            default: "The App Store answered with status \(answer.status)."
            }
        self.init(
            .refused, reason, status: answer.status, code: code,
            retryAfter: answer.headers["Retry-After"].flatMap { Self.retryAfter($0, at: now) },
            isRetryable: code?.isRetryable ?? (answer.status == 429 || answer.status >= 500))
    }

    /// An answer of success that does not say what it should.
    init(malformed error: any Error, status: Int) {
        self.init(
            .malformedAnswer, "The App Store's answer is not the one Apple documents: \(error).", status: status,
            underlying: error)
    }

    /// Whether the App Store has surely done nothing, so that even what must not be done twice may be asked again.
    var wasNotActedOn: Bool {
        guard status == nil else { return status == 429 }
        return [.hostNotFound, .connectionFailed].contains((underlying as? HTTPError)?.code)
    }

    /// Apple writes the instant, as milliseconds since 1970. RFC 9110 section 10.2.3 has seconds from now, and a date.
    static func retryAfter(_ text: String, at now: Date) -> Date? {
        let text = text.trimmingCharacters(in: .whitespaces)
        guard !text.isEmpty, text.utf8.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }) else {
            return HTTPDate.seconds(text).map { Date(timeIntervalSince1970: TimeInterval($0)) }
        }
        // 100 billion milliseconds after 1970 are in 1973, as many seconds from now are in three thousand years.
        guard let number = Double(text), number < 1e15 else { return nil }
        return number < 1e11 ? now.addingTimeInterval(number) : Date(timeIntervalSince1970: number / 1000)
    }

    /// At most 200 characters without anything a terminal would act on.
    private static func shown(_ text: String, without token: String) -> String {
        let clean = text.replacing(token, with: SensitiveHeaders.replacement).unicodeScalars.prefix(200).map { scalar in
            [.control, .format].contains(scalar.properties.generalCategory) ? " " : scalar
        }
        return String(String.UnicodeScalarView(clean))
    }
}

extension AppStoreServerAPIError.Kind {
    /// Nothing was asked: the key cannot sign, or an argument cannot stand in a path.
    public static var notAsked: Self { Self(rawValue: "notAsked") }
    /// No answer came, or it broke off; `underlying` is the transport's error.
    public static var unreachable: Self { Self(rawValue: "unreachable") }
    /// The App Store refused; `status` says how, `code` why.
    public static var refused: Self { Self(rawValue: "refused") }
    /// The App Store agreed in words that are not Apple's; `underlying` says what is wrong with them.
    public static var malformedAnswer: Self { Self(rawValue: "malformedAnswer") }
}
