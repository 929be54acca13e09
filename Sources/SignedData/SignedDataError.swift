import Primitives

/// Why signed data was not accepted, or why something could not be signed. Two are equal when their codes are.
///
/// The reason is a sentence for people. It may quote what the data says (a bundle id, a date), never a key, a signature or
/// the data itself.
public struct SignedDataError: Error, Equatable, CustomStringConvertible {
    /// What kind of refusal, the same word in `SignedData`, on the server's wire and in the output of `souk`.
    public typealias Code = OpenEnum<SignedDataError>

    public let code: Code
    /// What is wrong, and with what.
    public let reason: String
    /// What lies beneath, where something does.
    public let underlying: (any Error)?

    public init(_ code: Code, _ reason: String, underlying: (any Error)? = nil) {
        self.code = code
        self.reason = reason
        self.underlying = underlying
    }

    /// Whether the same data may be accepted later, without a change of configuration.
    public var isRetryable: Bool { code == .onlineCheckFailed || code == .storageFailed }

    public var description: String { "\(code): \(reason)" }

    public static func == (left: SignedDataError, right: SignedDataError) -> Bool { left.code == right.code }
}

/// A text from outside inside a sentence of ours: in quotes, short, without anything a terminal would act on.
struct Excerpt: CustomStringConvertible {
    let description: String

    init(_ text: String) {
        let shown = text.unicodeScalars.prefix(80).map { scalar in
            scalar.properties.generalCategory == .control || scalar.properties.generalCategory == .format ? " " : scalar
        }
        let isWhole = shown.count == text.unicodeScalars.count
        description = "\"\(String(String.UnicodeScalarView(shown)))\(isWhole ? "" : "…")\""
    }
}

extension SignedDataError.Code {
    /// Not of the form it should have: segments, base64, header.
    public static var malformed: Self { Self(rawValue: "malformed") }
    /// Longer than the configuration allows.
    public static var tooLarge: Self { Self(rawValue: "tooLarge") }
    /// Not ES256, or a key that ES256 cannot use.
    public static var unsupportedAlgorithm: Self { Self(rawValue: "unsupportedAlgorithm") }
    /// No `x5c` in the header.
    public static var missingCertificateChain: Self { Self(rawValue: "missingCertificateChain") }
    /// Neither three certificates nor, where those of Xcode are accepted, one.
    public static var chainLength: Self { Self(rawValue: "chainLength") }
    /// A certificate that cannot be read.
    public static var certificateMalformed: Self { Self(rawValue: "certificateMalformed") }
    /// The last certificate is none of the trusted roots, or of none that may sign for this environment.
    public static var untrustedRoot: Self { Self(rawValue: "untrustedRoot") }
    /// The certificates did not sign each other, or name nobody to ask where revocation is to be checked.
    public static var chainInvalid: Self { Self(rawValue: "chainInvalid") }
    /// A certificate was not valid at the instant the chain is judged at: not yet, or no longer.
    public static var certificateExpired: Self { Self(rawValue: "certificateExpired") }
    /// The intermediate or the root may not sign certificates.
    public static var notACertificateAuthority: Self { Self(rawValue: "notACertificateAuthority") }
    /// The leaf or the intermediate lacks Apple's mark of certificates made for signing purchases.
    public static var missingMarkerOID: Self { Self(rawValue: "missingMarkerOID") }
    /// A certificate was revoked.
    public static var revoked: Self { Self(rawValue: "revoked") }
    /// The question whether a certificate was revoked got no answer.
    public static var onlineCheckFailed: Self { Self(rawValue: "onlineCheckFailed") }
    /// The signature is not the leaf's over these bytes.
    public static var signatureInvalid: Self { Self(rawValue: "signatureInvalid") }
    /// The payload is not JSON, or a member is missing or of another kind.
    public static var payloadMalformed: Self { Self(rawValue: "payloadMalformed") }
    /// Signed for another app.
    public static var wrongBundle: Self { Self(rawValue: "wrongBundle") }
    /// Signed for an app with another App Store number.
    public static var wrongAppID: Self { Self(rawValue: "wrongAppID") }
    /// A receipt for another version of the app than the one the caller asked for; never on the server's wire.
    public static var wrongAppVersion: Self { Self(rawValue: "wrongAppVersion") }
    /// Signed in another environment than the one expected, or parts of one notification disagree.
    public static var wrongEnvironment: Self { Self(rawValue: "wrongEnvironment") }
    /// Signed in none of the several environments accepted.
    public static var environmentNotAccepted: Self { Self(rawValue: "environmentNotAccepted") }
    /// Bound to another customer than the one who presents it.
    public static var boundToAnotherCustomer: Self { Self(rawValue: "boundToAnotherCustomer") }
    /// A receipt whose device hash is that of another device.
    public static var deviceMismatch: Self { Self(rawValue: "deviceMismatch") }
    /// A receipt whose content has another digest than the signed one.
    public static var digestMismatch: Self { Self(rawValue: "digestMismatch") }
    /// A receipt of the form before iOS 7.
    public static var legacyReceipt: Self { Self(rawValue: "legacyReceipt") }
    /// A key that cannot be read, or of another kind than P-256.
    public static var keyMalformed: Self { Self(rawValue: "keyMalformed") }
    /// Signed with a key that is not among those given.
    public static var unknownKey: Self { Self(rawValue: "unknownKey") }
    /// Encrypted with another key, or changed since.
    public static var decryptionFailed: Self { Self(rawValue: "decryptionFailed") }
    /// A value that cannot be signed, or that a signature of this kind may not say.
    public static var claimInvalid: Self { Self(rawValue: "claimInvalid") }
    /// Signed too long ago, or not yet.
    public static var notCurrent: Self { Self(rawValue: "notCurrent") }
    /// Keys and certificates of one signing chain that do not belong together.
    public static var signingChainInvalid: Self { Self(rawValue: "signingChainInvalid") }
    /// A file that could not be read or written.
    public static var storageFailed: Self { Self(rawValue: "storageFailed") }
    /// OpenSSL could not do what it always can: memory or its configuration is at fault.
    public static var cryptographyFailed: Self { Self(rawValue: "cryptographyFailed") }
}
