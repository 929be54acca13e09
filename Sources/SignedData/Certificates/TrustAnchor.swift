import Foundation
import Primitives

/// A root that signed data may come from.
///
///     let anchors = TrustAnchor.apple + (try TrustAnchor.certificates(in: file))
public struct TrustAnchor: Hashable, Sendable {
    enum Form: Hashable, Sendable {
        case fingerprint([UInt8])
        case certificate(Certificate)
    }

    let form: Form

    /// The root whose SHA-256 is `sha256`: exactly that certificate must stand last in a chain.
    ///
    /// Takes hexadecimal digits in either case, colons and spaces between them allowed. Throws `malformed` unless 32 bytes.
    public init(fingerprint sha256: String) throws(SignedDataError) {
        let digits = sha256.filter { $0 != ":" && !$0.isWhitespace }
        guard let bytes = Hex.decode(digits), bytes.count == 32 else {
            throw SignedDataError(.malformed, "A root's fingerprint is its SHA-256: 64 hexadecimal digits.")
        }
        form = .fingerprint(bytes)
    }

    /// A given root: the last certificate of a chain must be it, or be of the same subject with the same key. The given
    /// certificate's validity and constraints count, not those of the one in the chain.
    public init(_ certificate: Certificate) { form = .certificate(certificate) }

    private init(known fingerprint: String) {
        form = .fingerprint(Hex.decode(fingerprint) ?? [])
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

    /// The certificate to end a chain at when `last` stands last in it; `nil` when this anchor does not trust `last`.
    func anchor(for last: Certificate) -> Certificate? {
        switch form {
        case .fingerprint(let fingerprint): fingerprint == last.fingerprint ? last : nil
        case .certificate(let root): root == last || root.isSameAuthority(as: last) ? root : nil
        }
    }
}
