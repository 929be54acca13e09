import Foundation
import Primitives
import StoreModel

/// A trusted root, with the environments for which it may sign.
///
///     let anchors = TrustAnchor.apple + (try TrustAnchor.certificates(in: file))
///     let simulator = try TrustAnchor(fingerprint: sha256OfTheRoot, for: [.sandbox])
///
/// The owner of a root's key can sign anything, so limit additional roots to their environments.
public struct TrustAnchor: Hashable, Sendable {
    enum Form: Hashable, Sendable {
        case fingerprint([UInt8])
        case certificate(Certificate)
        /// A SubjectPublicKeyInfo in DER.
        case key([UInt8])
    }

    /// The environments for which the root may sign.
    enum Scope: Hashable, Sendable {
        case all
        /// All environments except the local ones.
        case stores
        case only(Set<AppStoreEnvironment>)
    }

    let form: Form
    let scope: Scope

    /// Creates an anchor from the SHA-256 of a root. The last certificate of a chain of three must be exactly this
    /// root.
    ///
    /// - Parameters:
    ///   - sha256: 64 hexadecimal digits in either case, with or without colons and spaces.
    ///   - environments: The environments for which the root may sign, or `nil` for all except the local ones.
    /// - Throws: `SignedDataError` with `malformed` unless the digits are 32 bytes.
    public init(
        fingerprint sha256: String, for environments: Set<AppStoreEnvironment>? = nil
    ) throws(SignedDataError) {
        let digits = sha256.filter { $0 != ":" && !$0.isWhitespace }
        guard let bytes = Hex.decode(digits), bytes.count == 32 else {
            throw SignedDataError(.malformed, "A root's fingerprint is its SHA-256: 64 hexadecimal digits.")
        }
        form = .fingerprint(bytes)
        scope = environments.map { .only($0) } ?? .stores
    }

    /// Creates an anchor from a root. The last certificate of a chain must be this root, or have the same subject and
    /// key. The validity and constraints of this root are checked, not those of the chain's certificate.
    ///
    /// The certificate of StoreKit Testing in Xcode (Xcode: Editor, Save Public Certificate) is given in the same way.
    /// A chain of only this certificate is accepted if the configuration's environments have `xcode` or `localTesting`,
    /// and only for those.
    ///
    /// - Parameters:
    ///   - certificate: The root.
    ///   - environments: The environments for which it may sign, or `nil` for all that the configuration accepts.
    package init(_ certificate: Certificate, for environments: Set<AppStoreEnvironment>? = nil) {
        form = .certificate(certificate)
        scope = environments.map { .only($0) } ?? .all
    }

    /// Creates an anchor from the key of StoreKit Testing in Xcode. It matches only chains of one certificate with this
    /// key.
    ///
    /// - Parameter key: The public key of the local certificate.
    public init(localKey key: VerificationKey) {
        form = .key(key.der)
        scope = .only(AppStoreEnvironment.local)
    }

    private init(known fingerprint: String) {
        form = .fingerprint(Hex.decode(fingerprint) ?? [])
        scope = .stores
    }

    /// Returns the roots in a file: one in DER, or any number in PEM.
    ///
    /// - Parameter encoded: The bytes of the file.
    /// - Returns: An anchor for each certificate.
    /// - Throws: `SignedDataError` with `certificateMalformed` if there is no certificate, or one cannot be read.
    public static func certificates(in encoded: [UInt8]) throws(SignedDataError) -> [TrustAnchor] {
        guard PEM.isPEM(encoded) else { return [TrustAnchor(try Certificate(der: encoded))] }
        let certificates = try Certificate.all(inPEM: encoded)
        guard !certificates.isEmpty else {
            throw SignedDataError(.certificateMalformed, "There is no certificate in the PEM text.")
        }
        return certificates.map { TrustAnchor($0) }
    }

    /// Apple's roots for purchases: Apple Root CA, Apple Root CA - G2 and Apple Root CA - G3 (Apple PKI page).
    public static let apple = [
        TrustAnchor(known: "b0b1730ecbc7ff4505142c49f1295e6eda6bcaed7e2c68c5be91b5a11001f024"),
        TrustAnchor(known: "c2b9b042dd57830e7d117dac55ac8ae19407d38e41d88f3215bc3a890444a050"),
        TrustAnchor(known: "63343abfb89a6a03ebb57e9b3f5fa7be7c4f5c756f3017b3a8c488c3653e9179"),
    ]

    /// Returns the certificate of the anchor if `der` has the same bytes.
    func certificate(encodedAs der: [UInt8]) -> Certificate? {
        guard case .certificate(let certificate) = form, certificate.der == der else { return nil }
        return certificate
    }

    /// Returns the trusted certificate for a chain of three whose last one is `last`, or `nil` if the anchor does not
    /// match.
    func anchor(for last: Certificate) -> Certificate? {
        switch form {
        case .fingerprint(let fingerprint): fingerprint == last.fingerprint ? last : nil
        case .certificate(let root): root == last || root.isSameAuthority(as: last) ? root : nil
        case .key: nil
        }
    }

    /// Returns the trusted certificate for a chain with the single certificate `only`, or `nil` if the anchor does not
    /// match. A fingerprint never matches: each development machine has its own certificate.
    func localAnchor(for only: Certificate) -> Certificate? {
        switch form {
        case .fingerprint: nil
        case .certificate(let trusted): trusted == only || trusted.isSameAuthority(as: only) ? trusted : nil
        case .key(let key): only.verificationKey()?.der == key ? only : nil
        }
    }

    /// Returns whether the root may sign for `environment`; `nil` means a document without an environment.
    func covers(_ environment: AppStoreEnvironment?) -> Bool {
        switch scope {
        case .all: true
        case .stores: environment.map { !AppStoreEnvironment.local.contains($0) } ?? true
        case .only(let environments): environment.map { environments.contains($0) } ?? false
        }
    }
}

extension AppStoreEnvironment {
    /// The environments of development machines (StoreKit Testing in Xcode). Anyone can make their keys.
    static let local: Set<AppStoreEnvironment> = [.xcode, .localTesting]
}
