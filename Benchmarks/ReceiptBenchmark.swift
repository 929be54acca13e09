import COpenSSL
import Foundation
import Primitives
import SignedData
import StoreModel

/// Decodes and verifies receipts. In all verifications except `cold`, the verifier has verified the certificates
/// before. The reference is OpenSSL with the same bytes. Receipts are signed with RSA, as Apple's are, or with ECDSA,
/// as the simulator's are. An ECDSA signature costs more than the rest of a verification.
enum ReceiptBenchmark {
    private static let creationDate = Date(timeIntervalSince1970: 1_763_000_000)

    static func run() throws -> [BenchmarkResult] {
        let signer = try RSAReceiptSigner()
        let chain = try SigningChain.generate()
        var results: [BenchmarkResult] = []
        for (purchases, budget) in [(4, Budget.ratio(0.05)), (187, .ratio(0.2))] {
            let simulated = try ReceiptSigner(chain).sign(receipt(purchases: purchases))
            let content = try UnverifiedReceipt(unverified: simulated).unverifiedPayloadBytes
            let signed = try signer.sign(Array(content))
            results += try verification("RSA", purchases, signed, root: signer.root, budget: budget)
            results += try verification("ECDSA", purchases, simulated, root: chain.root.der, budget: .none)
            if purchases == 4 { results.append(try cold(purchases, signed, root: signer.root)) }
            results.append(try decoding(purchases, signed, root: signer.root))
        }
        return results
    }

    private static func configuration(root: [UInt8]) throws -> ReceiptVerifier.Configuration {
        .init(
            bundleIDs: ["com.example.souk"], environments: [.sandbox],
            trustAnchors: [TrustAnchor(try Certificate(der: root))])
    }

    private static func verification(
        _ kind: String, _ purchases: Int, _ receipt: [UInt8], root: [UInt8], budget: Budget
    ) throws -> [BenchmarkResult] {
        let verifier = ReceiptVerifier(configuration: try configuration(root: root))
        let references = try (0..<2).map { _ in try OpenSSLReceipts(root: root, at: creationDate) }
        // Each thread has its own bytes, as each request has. With shared bytes, both threads would change one
        // reference count.
        let receipts = (0..<2).map { _ in receipt.withUnsafeBufferPointer { Array($0) } }
        return try Workers.results(
            "receipt verify, leaf seen before, \(kind), \(purchases) purchases", reference: "OpenSSL CMS_verify",
            budget: budget, iterations: 64, more: [("bytes", .number(receipt.count))]
        ) { worker in
            _ = try verifier.verify(receipts[worker])
        } against: { worker in
            guard references[worker].accepts(receipts[worker]) else {
                throw BenchmarkFailure("OpenSSL refuses the receipt")
            }
        }
    }

    /// A verifier with an empty cache. It also decodes three certificates and checks two of their signatures.
    private static func cold(_ purchases: Int, _ receipt: [UInt8], root: [UInt8]) throws -> BenchmarkResult {
        let configuration = try configuration(root: root)
        let reference = try OpenSSLReceipts(root: root, at: creationDate)
        let times = try paired(iterations: 32) {
            _ = try ReceiptVerifier(configuration: configuration).verify(receipt)
        } reference: {
            guard reference.accepts(receipt) else { throw BenchmarkFailure("OpenSSL refuses the receipt") }
        }
        return BenchmarkResult(
            name: "receipt verify, cold, RSA, \(purchases) purchases", reference: "OpenSSL CMS_verify", rounds: times)
    }

    private static func decoding(_ purchases: Int, _ receipt: [UInt8], root: [UInt8]) throws -> BenchmarkResult {
        let reference = try OpenSSLReceipts(root: root, at: creationDate)
        let times = try paired(iterations: 64) {
            _ = try UnverifiedReceipt(unverified: receipt).unverifiedReceipt
        } reference: {
            guard reference.reads(receipt) else { throw BenchmarkFailure("OpenSSL cannot read the receipt") }
        }
        return BenchmarkResult(
            name: "receipt decode only, \(purchases) purchases", reference: "OpenSSL d2i_CMS_ContentInfo", rounds: times
        )
    }

    /// Returns a receipt with the attributes of Apple's receipts.
    private static func receipt(purchases: Int) -> AppReceipt {
        let empty = [1709, 1714, 1715, 1716, 1717, 1718].map { ReceiptAttribute(type: $0, text: "") }
        let others =
            empty + [ReceiptAttribute(type: 1722, integer: 0), ReceiptAttribute(type: 1710, integer: 1_297_239_070)]
        return AppReceipt(
            receiptType: "ProductionSandbox", bundleID: "com.example.souk", appVersion: "15741",
            originalAppVersion: "434", creationDate: creationDate, opaqueValue: [UInt8](0..<16),
            sha1Hash: [UInt8](0..<20),
            inAppPurchases: (0..<purchases).map { number in
                let date = creationDate.addingTimeInterval(Double(number - 1000) * 86400)
                return AppReceipt.InAppPurchase(
                    quantity: 1, productID: ProductID(unchecked: "com.example.souk.pro.\(number % 3)"),
                    transactionID: TransactionID(unchecked: "\(340_001_196_262_039 + number)"), purchaseDate: date,
                    originalTransactionID: "340001196262039", originalPurchaseDate: creationDate,
                    productType: .autoRenewableSubscription, expiresDate: date.addingTimeInterval(86400),
                    webOrderLineItemID: "\(340_000_558_053_130 + number)", isTrialPeriod: false,
                    isInIntroOfferPeriod: false, otherAttributes: ReceiptAttributes(others))
            },
            otherAttributes: ReceiptAttributes(
                [1, 9, 11, 13, 14, 15, 16, 25].map { ReceiptAttribute(type: $0, integer: 125_402_914) }
                    + [ReceiptAttribute(type: 6, value: ArraySlice(repeating: 0x55, count: 79))]))
    }
}

/// Calls `CMS_verify` as a program would: the certificate store is created once, and the receipt is read each time.
private final class OpenSSLReceipts: @unchecked Sendable {
    // Sendable: each thread has its own instance.
    private let store: OpaquePointer

    init(root: [UInt8], at date: Date) throws {
        let certificate = root.withUnsafeBufferPointer { bytes in
            var cursor = bytes.baseAddress
            return d2i_X509(nil, &cursor, bytes.count)
        }
        guard let store = X509_STORE_new(), let parameters = X509_STORE_get0_param(store) else {
            throw BenchmarkFailure("OpenSSL cannot create a certificate store")
        }
        X509_STORE_add_cert(store, certificate)
        X509_VERIFY_PARAM_set_purpose(parameters, X509_PURPOSE_ANY)
        X509_VERIFY_PARAM_set_time(parameters, time_t(date.timeIntervalSince1970))
        X509_free(certificate)
        self.store = store
    }

    deinit { X509_STORE_free(store) }

    func accepts(_ receipt: [UInt8]) -> Bool {
        guard let container = read(receipt), let content = BIO_new(BIO_s_mem()) else { return false }
        defer {
            CMS_ContentInfo_free(container)
            BIO_free(content)
        }
        return CMS_verify(container, nil, store, nil, content, UInt32(CMS_BINARY)) == 1
    }

    func reads(_ receipt: [UInt8]) -> Bool {
        guard let container = read(receipt) else { return false }
        CMS_ContentInfo_free(container)
        return true
    }

    private func read(_ receipt: [UInt8]) -> OpaquePointer? {
        receipt.withUnsafeBufferPointer { bytes in
            var cursor = bytes.baseAddress
            return d2i_CMS_ContentInfo(nil, &cursor, bytes.count)
        }
    }
}
