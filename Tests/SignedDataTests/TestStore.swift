import AppStorePayloads
import Foundation
import Primitives
import StoreModel

@testable import SignedData

/// A small store that signs for `com.example` in the sandbox, with or without faults.
struct TestStore {
    static let signedDate = Date(timeIntervalSince1970: 1_700_000_000)

    let chain: SigningChain

    init() throws { chain = try SigningChain.generate() }

    init(
        root: CertificateTemplate = .root, intermediate: CertificateTemplate = .intermediate,
        leaf: CertificateTemplate = .leaf, leafKey: SigningKey? = nil
    ) throws {
        chain = try SigningChain(root: root, intermediate: intermediate, leaf: leaf, leafKey: leafKey)
    }

    var signer: JWSSigner { JWSSigner(chain) }
    var certificates: [[UInt8]] { chain.certificates.map(\.der) }

    var configuration: SignedDataVerifier.Configuration {
        .init(bundleIDs: ["com.example"], environments: [.sandbox], trustAnchors: [TrustAnchor(chain.root)])
    }

    var verifier: SignedDataVerifier { SignedDataVerifier(configuration: configuration) }

    static func transaction(id: String = "2000000000000001") -> JWSTransactionDecodedPayload {
        JWSTransactionDecodedPayload {
            $0.transactionId = id
            $0.originalTransactionId = "2000000000000001"
            $0.bundleId = "com.example"
            $0.productId = "com.example.pro.monthly"
            $0.purchaseDate = signedDate
            $0.quantity = 1
            $0.type = .autoRenewableSubscription
            $0.signedDate = signedDate
            $0.environment = .sandbox
        }
    }

    static func renewalInfo() -> JWSRenewalInfoDecodedPayload {
        JWSRenewalInfoDecodedPayload {
            $0.originalTransactionId = "2000000000000001"
            $0.productId = "com.example.pro.monthly"
            $0.autoRenewProductId = "com.example.pro.yearly"
            $0.autoRenewStatus = .on
            $0.signedDate = signedDate
            $0.environment = .sandbox
        }
    }

    static func appTransaction() -> AppTransaction {
        AppTransaction {
            $0.receiptType = .sandbox
            $0.bundleId = "com.example"
            $0.applicationVersion = "2"
            $0.receiptCreationDate = signedDate
            $0.originalPlatform = .iOS
        }
    }

    static func notification(_ data: AppStoreServerAPI.NotificationData) -> ResponseBodyV2DecodedPayload {
        ResponseBodyV2DecodedPayload {
            $0.notificationType = .didRenew
            $0.notificationUUID = "9f2b6c1e-0000-4000-8000-000000000001"
            $0.data = data
            $0.version = "2.0"
            $0.signedDate = signedDate
        }
    }

    static func realtimeRequest() -> DecodedRealtimeRequestBody {
        DecodedRealtimeRequestBody {
            $0.originalTransactionId = "2000000000000001"
            $0.appAppleId = 41_234
            $0.productId = "com.example.pro.monthly"
            $0.userLocale = "en-US"
            $0.requestIdentifier = UUID(uuidString: "3db5c98d-8acf-4e29-831e-8e1f82f9f6e9")
            $0.environment = .sandbox
            $0.signedDate = signedDate
        }
    }

    /// The valid header, which tests change.
    var header: JSONValue {
        ["alg": "ES256", "x5c": .array(certificates.map { .string(Base64.encode($0)) })]
    }

    /// Signs a transaction with another header.
    func sign(header: JSONValue, _ payload: JWSTransactionDecodedPayload = transaction()) throws -> String {
        try JWSSigner(key: chain.leafKey, header: header).sign(payload)
    }

    /// Signs a transaction with other certificates in the header.
    func sign(certificates: [[UInt8]]) throws -> String {
        try JWSSigner(key: chain.leafKey, certificates: certificates).sign(TestStore.transaction())
    }

    /// Returns a signed transaction in which one of the three segments is replaced.
    func signed(replacing segment: Int, with change: (String) throws -> String) throws -> String {
        var segments = try signer.sign(TestStore.transaction()).split(separator: ".").map(String.init)
        segments[segment] = try change(segments[segment])
        return segments.joined(separator: ".")
    }

    /// Returns a signed transaction with another signature.
    func signed(signature change: ([UInt8]) throws -> [UInt8]) throws -> String {
        try signed(replacing: 2) { Base64.encodeURL(try change(Base64.decodeURL($0) ?? [])) }
    }
}

/// Returns the code of the error, or `nil` without an error.
func refusal<Result>(_ body: () throws -> Result) -> SignedDataError.Code? {
    do { _ = try body() } catch { return (error as? SignedDataError)?.code ?? .init(rawValue: "\(error)") }
    return nil
}
