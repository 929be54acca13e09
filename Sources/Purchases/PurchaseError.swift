import Foundation
import StoreModel

/// An error of the purchase client, of a plugin or of the in-app store. Errors are equal when their codes are equal. An
/// error never contains a key, a receipt or a token.
public struct PurchaseError: Error, Equatable, Sendable {
    /// The kind of failure. The set is open, so a plugin can add codes.
    public struct Code: RawRepresentable, Hashable, Sendable {
        /// The code as a string.
        public let rawValue: String
        /// Creates a code from `rawValue`.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// `setup(with:appUserId:)` was not called.
        public static let notSetUp = Code(rawValue: "notSetUp")
        /// `setup(with:appUserId:)` was already called.
        public static let alreadySetUp = Code(rawValue: "alreadySetUp")
        /// Every plugin returned `.notSupported`, or there is none.
        public static let noSuitablePlugin = Code(rawValue: "noSuitablePlugin")
        /// The operation needs a user, and no user is logged in.
        public static let noUserId = Code(rawValue: "noUserId")
        /// The customer cancelled the purchase.
        public static let cancelledByUser = Code(rawValue: "cancelledByUser")
        /// The product is sold only in the web shop.
        public static let webPaymentsNotSupported = Code(rawValue: "webPaymentsNotSupported")
        /// The server does not accept the API key.
        public static let invalidKey = Code(rawValue: "invalidKey")
        /// The API key has no permission for this operation.
        public static let notAllowed = Code(rawValue: "notAllowed")
        /// The purchase is paid, but no server has acknowledged it yet. The library presents it again.
        public static let acknowledgementPending = Code(rawValue: "acknowledgementPending")
        /// No response arrived. The same request can succeed later.
        public static let unreachable = Code(rawValue: "unreachable")
        /// A plugin did not answer before its deadline.
        public static let timedOut = Code(rawValue: "timedOut")
        /// The server received too many requests.
        public static let rateLimited = Code(rawValue: "rateLimited")
        /// The server failed (status 500 or greater, except 501).
        public static let serverError = Code(rawValue: "serverError")
        /// The server, or a check before the request, refused the content of a request.
        public static let validationError = Code(rawValue: "validationError")
        /// The two sides use incompatible protocols.
        public static let protocolError = Code(rawValue: "protocolError")
        /// A response has no valid signature of the server. Nothing of it was used.
        public static let untrustedAnswer = Code(rawValue: "untrustedAnswer")
        /// A response could not be decoded.
        public static let decodingError = Code(rawValue: "decodingError")
        /// The operation is not supported by this version, this system or these settings.
        public static let unsupported = Code(rawValue: "unsupported")
        /// A secure storage could not be read or written.
        public static let storageFailed = Code(rawValue: "storageFailed")
        /// The secure storage is locked together with the device. Its content is intact.
        public static let storageLocked = Code(rawValue: "storageLocked")
        /// The stored value is damaged.
        public static let storageCorrupt = Code(rawValue: "storageCorrupt")
    }

    /// The kind of failure.
    public let code: Code
    /// A sentence that says what happened and what to do.
    public let reason: String
    /// Whether the server could not be reached or could not respond, so that the same request can succeed later.
    public let isRetryable: Bool
    /// The pause that the server requires.
    public let retryAfter: Duration?
    /// The error that caused this one.
    public let underlying: (any Error)?

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - code: The kind of failure.
    ///   - reason: A sentence that says what happened and what to do; by default the sentence of the code.
    ///   - isRetryable: Whether the same request can succeed later; by default true for `unreachable`, `timedOut`,
    ///     `rateLimited` and `serverError`.
    ///   - retryAfter: The pause that the server requires.
    ///   - underlying: The error that caused this one.
    public init(
        _ code: Code, _ reason: String? = nil, isRetryable: Bool? = nil, retryAfter: Duration? = nil,
        underlying: (any Error)? = nil
    ) {
        self.code = code
        self.reason = reason ?? Self.sentences[code] ?? "The purchase system reports \(code.rawValue)."
        self.isRetryable = isRetryable ?? Self.retryableCodes.contains(code)
        self.retryAfter = retryAfter
        self.underlying = underlying
    }

    /// Returns whether both errors have the same code.
    public static func == (left: PurchaseError, right: PurchaseError) -> Bool { left.code == right.code }

    private static let retryableCodes: Set<Code> = [.unreachable, .timedOut, .rateLimited, .serverError]

    private static let sentences: [Code: String] = [
        .notSetUp: "The purchase client is not set up; call setup(with:appUserId:) first.",
        .alreadySetUp: "The purchase client is already set up; set it up once, with all plugins.",
        .noSuitablePlugin: "No plugin supports this operation or product; set the client up with one that does.",
        .noUserId: "No user is logged in; call logIn(appUserId:) first.",
        .cancelledByUser: "The customer cancelled the purchase.",
        .webPaymentsNotSupported: "The app cannot sell products of the web shop; open the web shop.",
        .invalidKey: "The server does not accept the API key; check the key.",
        .notAllowed: "The API key has no permission for this; use a key that has it.",
        .acknowledgementPending:
            "The purchase is paid, but the server has not acknowledged it yet; the app presents it again automatically.",
        .unreachable: "The server cannot be reached; try again when the network is back.",
        .timedOut: "No answer came in time; try again.",
        .rateLimited: "The server is busy; try again later.",
        .serverError: "The server failed; try again later.",
        .validationError: "The server refused the request's content.",
        .protocolError: "This version does not support the server's answer; update the app.",
        .untrustedAnswer:
            "The answer is not signed by the server; a proxy may have changed it, or the app lacks the server's new key.",
        .decodingError: "The server's answer cannot be read; update the app.",
        .unsupported: "This version does not support this operation.",
        .storageFailed: "The secure storage cannot be used; check the folder's permissions and free space.",
        .storageLocked: "The secure storage is locked; try again when the device is unlocked.",
        .storageCorrupt: "The stored value is damaged; remove it.",
    ]
}

extension PurchaseError: CustomStringConvertible, LocalizedError {
    /// The reason.
    public var description: String { reason }
    /// The sentence for a customer, translated if the app has a translation, or `reason` if there is no such sentence.
    public var errorDescription: String? { CustomerSentences.sentence(for: code.rawValue) ?? reason }
}
