import Foundation
import StoreModel

/// What can go wrong between an app and the systems that sell to its customers. Compares by `code`; never contains a
/// key, a receipt or a token.
public struct PurchaseError: Error, Equatable, Sendable {
    /// The kind of failure; open, so that a plugin may bring its own.
    public struct Code: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// `setup(with:appUserId:)` was not called.
        public static let notSetUp = Code(rawValue: "notSetUp")
        /// `setup(with:appUserId:)` was called before.
        public static let alreadySetUp = Code(rawValue: "alreadySetUp")
        /// Every plugin answered `.notSupported`, or there is none.
        public static let noSuitablePlugin = Code(rawValue: "noSuitablePlugin")
        /// The question is about a user and nobody is logged in.
        public static let noUserId = Code(rawValue: "noUserId")
        /// The customer changed their mind.
        public static let cancelledByUser = Code(rawValue: "cancelledByUser")
        public static let webPaymentsNotSupported = Code(rawValue: "webPaymentsNotSupported")
        /// The server does not know the API key.
        public static let invalidKey = Code(rawValue: "invalidKey")
        /// The server knows the API key, and it may not do this.
        public static let notAllowed = Code(rawValue: "notAllowed")
        /// Paid, but no server has acknowledged it yet; it is presented again by itself.
        public static let acknowledgementPending = Code(rawValue: "acknowledgementPending")
        /// No answer could be had; the same question may succeed later.
        public static let unreachable = Code(rawValue: "unreachable")
        /// A plugin did not answer within its deadline.
        public static let timedOut = Code(rawValue: "timedOut")
        /// The server is busy with too many requests.
        public static let rateLimited = Code(rawValue: "rateLimited")
        /// The server failed (status 500 and above).
        public static let serverError = Code(rawValue: "serverError")
        /// The server refused the content of a request.
        public static let validationError = Code(rawValue: "validationError")
        /// The two sides do not agree on the protocol.
        public static let protocolError = Code(rawValue: "protocolError")
        /// An answer is not proven to be the server's; nothing of it was used.
        public static let untrustedAnswer = Code(rawValue: "untrustedAnswer")
        /// An answer does not have the shape it should have.
        public static let decodingError = Code(rawValue: "decodingError")
        /// This version cannot do it.
        public static let unsupported = Code(rawValue: "unsupported")
        /// A place for secrets could not be read or written.
        public static let storageFailed = Code(rawValue: "storageFailed")
        /// The place for secrets is locked together with the device; what is in it is whole.
        public static let storageLocked = Code(rawValue: "storageLocked")
        /// What was stored is damaged.
        public static let storageCorrupt = Code(rawValue: "storageCorrupt")
    }

    public let code: Code
    /// A sentence that says what happened and what to do.
    public let reason: String
    /// The server could not be reached or was not able to answer: nothing was refused, and asking again may succeed.
    public let isRetryable: Bool
    /// How long the server asked to wait.
    public let retryAfter: Duration?
    public let underlying: (any Error)?

    /// - Parameters:
    ///   - code: says what went wrong.
    ///   - reason: by default a sentence for the code.
    ///   - isRetryable: by default true for `unreachable`, `timedOut`, `rateLimited` and `serverError`.
    ///   - retryAfter: how long the server asked to wait.
    ///   - underlying: the error that caused this one.
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

    public static func == (left: PurchaseError, right: PurchaseError) -> Bool { left.code == right.code }

    private static let retryableCodes: Set<Code> = [.unreachable, .timedOut, .rateLimited, .serverError]

    private static let sentences: [Code: String] = [
        .notSetUp: "The purchase client is not set up; call setup(with:appUserId:) first.",
        .alreadySetUp: "The purchase client is already set up; set it up once, with all plugins.",
        .noSuitablePlugin: "No plugin can do this; set the client up with one that sells this product.",
        .noUserId: "Nobody is logged in; call logIn(appUserId:) first.",
        .cancelledByUser: "The customer cancelled the purchase.",
        .webPaymentsNotSupported: "Products of the web cannot be bought in the app; open the web shop.",
        .invalidKey: "The server does not know the API key; check it.",
        .notAllowed: "The API key may not do this; use one with that right.",
        .acknowledgementPending:
            "The purchase is paid and waits for the server to acknowledge it; it is presented again by itself.",
        .unreachable: "The server cannot be reached; try again when the network is back.",
        .timedOut: "No answer came in time; try again.",
        .rateLimited: "The server is busy; try again later.",
        .serverError: "The server failed; try again later.",
        .validationError: "The server refused the request's content.",
        .protocolError: "The server answered in a way this version does not understand; update the app.",
        .untrustedAnswer:
            "The answer is not signed by the server; somebody may be in between, or the app lacks the server's new key.",
        .decodingError: "The server's answer cannot be read; update the app.",
        .unsupported: "This version cannot do that.",
        .storageFailed: "The secure storage cannot be used; check the folder's permissions and free space.",
        .storageLocked: "The secure storage is locked; try again when the device is unlocked.",
        .storageCorrupt: "The stored value is damaged; remove it.",
    ]
}

extension PurchaseError: CustomStringConvertible, LocalizedError {
    public var description: String { reason }
    /// The sentence for a customer, in their language if the app has it; `reason` where `CustomerSentences` has none.
    public var errorDescription: String? { CustomerSentences.sentence(for: code.rawValue) ?? reason }
}
