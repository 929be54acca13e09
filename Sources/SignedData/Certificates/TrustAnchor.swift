import Foundation
import Primitives
import StoreModel

/// A root that signed data may come from, and for which environments.
///
///     let anchors = TrustAnchor.apple + (try TrustAnchor.certificates(in: file))
///     let local = TrustAnchor(xcodeCertificate)                  // and `environments: [.xcode]` in the configuration
///
/// Whoever holds the key of a trusted root can sign anything, so a root given beside Apple's is best limited to what it is
/// for: `TrustAnchor(simulatorRoot, for: [.sandbox])`.
public struct TrustAnchor: Hashable, Sendable {
    enum Form: Hashable, Sendable {
        case fingerprint([UInt8])
        case certificate(Certificate)
        /// A SubjectPublicKeyInfo in DER.
        case key([UInt8])
    }

    /// Which environments it may sign for.
    enum Scope: Hashable, Sendable {
        case all
        /// All that are not a development machine's.
        case stores
        case only(Set<AppStoreEnvironment>)
    }

    let form: Form
    let scope: Scope

    /// The root whose SHA-256 is `sha256`: exactly that certificate must stand last in a chain of three.
    ///
    /// Takes hexadecimal digits in either case, colons and spaces between them allowed. Throws `malformed` unless 32 bytes.
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

    /// A given root: the last certificate of a chain must be it, or be of the same subject with the same key. The given
    /// certificate's validity and constraints count, not those of the one in the chain.
    ///
    /// The certificate StoreKit Testing in Xcode signs with (Xcode: Editor, Save Public Certificate) is given the same
    /// way. A chain of that one alone is accepted when the configuration's environments name `xcode` or `localTesting`,
    /// and for those only.
    ///
    /// - Parameter environments: the environments it may sign for; `nil` is every one the configuration accepts.
    package init(_ certificate: Certificate, for environments: Set<AppStoreEnvironment>? = nil) {
        form = .certificate(certificate)
        scope = environments.map { .only($0) } ?? .all
    }

    /// The key StoreKit Testing in Xcode signs with: good for chains of one certificate that holds it, never for others.
    public init(localKey key: VerificationKey) {
        form = .key(key.der)
        scope = .only(AppStoreEnvironment.local)
    }

    private init(known fingerprint: String) {
        form = .fingerprint(Hex.decode(fingerprint) ?? [])
        scope = .stores
    }

    /// The roots in a file: one in DER, or any number in PEM. Throws `certificateMalformed`, also when there is none.
    public static func certificates(in encoded: [UInt8]) throws(SignedDataError) -> [TrustAnchor] {
        guard PEM.isPEM(encoded) else { return [TrustAnchor(try Certificate(der: encoded))] }
        let certificates = try Certificate.all(inPEM: encoded)
        guard !certificates.isEmpty else {
            throw SignedDataError(.certificateMalformed, "There is no certificate in the PEM text.")
        }
        return certificates.map { TrustAnchor($0) }
    }

    /// Apple's roots that sign purchases: Apple Root CA, Apple Root CA - G2 and Apple Root CA - G3 (Apple PKI page).
    public static let apple = [
        TrustAnchor(known: "b0b1730ecbc7ff4505142c49f1295e6eda6bcaed7e2c68c5be91b5a11001f024"),
        TrustAnchor(known: "c2b9b042dd57830e7d117dac55ac8ae19407d38e41d88f3215bc3a890444a050"),
        TrustAnchor(known: "63343abfb89a6a03ebb57e9b3f5fa7be7c4f5c756f3017b3a8c488c3653e9179"),
    ]

    /// The given certificate when these are its bytes.
    func certificate(encodedAs der: [UInt8]) -> Certificate? {
        guard case .certificate(let certificate) = form, certificate.der == der else { return nil }
        return certificate
    }

    /// The certificate to end a chain of three at when `last` stands last in it; `nil` when this anchor does not trust it.
    func anchor(for last: Certificate) -> Certificate? {
        switch form {
        case .fingerprint(let fingerprint): fingerprint == last.fingerprint ? last : nil
        case .certificate(let root): root == last || root.isSameAuthority(as: last) ? root : nil
        case .key: nil
        }
    }

    /// The certificate a chain of `only` is judged by; `nil` when this anchor was not given for it. A fingerprint never
    /// is: development machines sign with certificates of their own.
    func localAnchor(for only: Certificate) -> Certificate? {
        switch form {
        case .fingerprint: nil
        case .certificate(let given): given == only || given.isSameAuthority(as: only) ? given : nil
        case .key(let key): only.verificationKey()?.der == key ? only : nil
        }
    }

    /// Whether it may sign for `environment`; `nil` is a document that names none.
    func covers(_ environment: AppStoreEnvironment?) -> Bool {
        switch scope {
        case .all: true
        case .stores: environment.map { !AppStoreEnvironment.local.contains($0) } ?? true
        case .only(let environments): environment.map { environments.contains($0) } ?? false
        }
    }
}

extension AppStoreEnvironment {
    /// The environments of development machines (StoreKit Testing in Xcode), whose keys anybody can make.
    static let local: Set<AppStoreEnvironment> = [.xcode, .localTesting]
}
