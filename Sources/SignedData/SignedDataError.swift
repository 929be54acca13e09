import Primitives

/// An error of verifying or signing data. Two errors are equal if their codes are equal.
///
/// The reason is a sentence for developers. It may quote the data, for example a bundle id or a date, but never a key,
/// a signature or the whole data.
public struct SignedDataError: Error, Equatable, CustomStringConvertible {
    /// The kind of error, with the same code in `SignedData`, in the server's answers and in the output of `souk`.
    public typealias Code = OpenEnum<SignedDataError>

    /// The kind of error.
    public let code: Code
    /// A sentence that says what is wrong.
    public let reason: String
    /// The error that caused this one, if any.
    public let underlying: (any Error)?

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - code: The kind of error.
    ///   - reason: A sentence that says what is wrong.
    ///   - underlying: The error that caused this one, if any.
    public init(_ code: Code, _ reason: String, underlying: (any Error)? = nil) {
        self.code = code
        self.reason = reason
        self.underlying = underlying
    }

    /// Whether the same data may be accepted later, without a change of the configuration.
    public var isRetryable: Bool { code == .onlineCheckFailed || code == .storageFailed }

    public var description: String { "\(code): \(reason)" }

    /// Returns whether two errors have the same code.
    public static func == (left: SignedDataError, right: SignedDataError) -> Bool { left.code == right.code }
}

/// A quotation from untrusted data for an error message: short, in quotation marks, and without control characters.
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
    /// The data does not have the expected form, for example the segments of a JWS, base64 or the container of a
    /// receipt.
    public static var malformed: Self { Self(rawValue: "malformed") }
    /// The data is longer than a limit.
    public static var tooLarge: Self { Self(rawValue: "tooLarge") }
    /// The algorithm of the signature, or the kind of its key, is not accepted. A JWS requires ES256 with a key for
    /// P-256.
    public static var unsupportedAlgorithm: Self { Self(rawValue: "unsupportedAlgorithm") }
    /// The header has no `x5c`.
    public static var missingCertificateChain: Self { Self(rawValue: "missingCertificateChain") }
    /// The chain does not have three certificates. A chain of one certificate is accepted only if a local environment
    /// is accepted.
    public static var chainLength: Self { Self(rawValue: "chainLength") }
    /// A certificate cannot be read.
    public static var certificateMalformed: Self { Self(rawValue: "certificateMalformed") }
    /// The last certificate is not a trusted root, or not one for this environment.
    public static var untrustedRoot: Self { Self(rawValue: "untrustedRoot") }
    /// The certificates are not a valid chain, for example because one did not sign the next. Also if revocation is
    /// checked and a certificate has no OCSP responder.
    public static var chainInvalid: Self { Self(rawValue: "chainInvalid") }
    /// A certificate is not valid yet, or no longer valid, at the instant of verification.
    public static var certificateExpired: Self { Self(rawValue: "certificateExpired") }
    /// The intermediate or root certificate may not sign certificates.
    public static var notACertificateAuthority: Self { Self(rawValue: "notACertificateAuthority") }
    /// The leaf or intermediate certificate lacks Apple's extension for the signing of purchases.
    public static var missingMarkerOID: Self { Self(rawValue: "missingMarkerOID") }
    /// A certificate was revoked.
    public static var revoked: Self { Self(rawValue: "revoked") }
    /// It is not known whether a certificate was revoked: the OCSP responder gave no usable answer.
    public static var onlineCheckFailed: Self { Self(rawValue: "onlineCheckFailed") }
    /// The signature does not match the signed bytes and the signer's key.
    public static var signatureInvalid: Self { Self(rawValue: "signatureInvalid") }
    /// The payload is not JSON or, in a receipt, not a set of attributes; or a part is missing or has the wrong type.
    public static var payloadMalformed: Self { Self(rawValue: "payloadMalformed") }
    /// The data was signed for another app.
    public static var wrongBundle: Self { Self(rawValue: "wrongBundle") }
    /// The data was signed for an app with another App Store number, or does not state the number.
    public static var wrongAppID: Self { Self(rawValue: "wrongAppID") }
    /// The receipt is for another version of the app than the caller expects. The server never answers with this code.
    public static var wrongAppVersion: Self { Self(rawValue: "wrongAppVersion") }
    /// The data is of another environment than the only accepted one, or the parts of a notification disagree.
    public static var wrongEnvironment: Self { Self(rawValue: "wrongEnvironment") }
    /// The environment of the data is not among the accepted ones.
    public static var environmentNotAccepted: Self { Self(rawValue: "environmentNotAccepted") }
    /// The purchase is bound to another customer than the one who presents it.
    public static var boundToAnotherCustomer: Self { Self(rawValue: "boundToAnotherCustomer") }
    /// The device hash of the receipt is that of another device, or the receipt is not bound to a device.
    public static var deviceMismatch: Self { Self(rawValue: "deviceMismatch") }
    /// The content of the receipt does not have the signed digest.
    public static var digestMismatch: Self { Self(rawValue: "digestMismatch") }
    /// The receipt has the format from before iOS 7.
    public static var legacyReceipt: Self { Self(rawValue: "legacyReceipt") }
    /// The key cannot be read, or has the wrong kind or length.
    public static var keyMalformed: Self { Self(rawValue: "keyMalformed") }
    /// The data was signed with a key that is not among the given ones.
    public static var unknownKey: Self { Self(rawValue: "unknownKey") }
    /// The data was encrypted with another key, or was changed.
    public static var decryptionFailed: Self { Self(rawValue: "decryptionFailed") }
    /// A value cannot be signed, or a signature of this kind may not contain it.
    public static var claimInvalid: Self { Self(rawValue: "claimInvalid") }
    /// The data was signed too long ago, or its date is in the future.
    public static var notCurrent: Self { Self(rawValue: "notCurrent") }
    /// The keys and certificates of a signing chain do not belong together.
    public static var signingChainInvalid: Self { Self(rawValue: "signingChainInvalid") }
    /// A file could not be read or written.
    public static var storageFailed: Self { Self(rawValue: "storageFailed") }
    /// OpenSSL failed, because of its configuration or a lack of memory.
    public static var cryptographyFailed: Self { Self(rawValue: "cryptographyFailed") }
}
