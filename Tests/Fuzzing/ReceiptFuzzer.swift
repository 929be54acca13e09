import Foundation
import Primitives
import StoreModel

@testable import SignedData

/// Receipts in three forms, chosen by the first byte of an input. These are the input itself, possibly in base64; a
/// payload that the fuzzer signs, so that mutations reach the code after the signature; and the certificates of a good
/// receipt.
#if FUZZING
    @_cdecl("LLVMFuzzerTestOneInput")
#endif
public func fuzzReceipts(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = Fuzzing.bytes(start, count)
    guard let way = input.first else { return 0 }
    let rest = Array(input.dropFirst())
    switch way % 3 {
    case 0:
        let bytes = (try? ReceiptEncoding.bytes(of: rest)) ?? rest
        _ = try? UnverifiedReceipt(unverified: bytes)
        if let verified = try? world.verifier.verify(bytes) {
            Fuzzing.claim(world.payloads.contains(Array(verified.payloadBytes)), "only what was signed is accepted")
        }
    case 1:
        let receipt = Fuzzing.must { try world.signer.sign(payload: rest) }
        let unverified = try? UnverifiedReceipt(unverified: receipt)
        for verifier in [world.verifier, world.anyVerifier] {
            guard let verified = try? verifier.verify(receipt) else { continue }
            Fuzzing.claim(Array(verified.payloadBytes) == rest, "the payload is the signed one")
            Fuzzing.claim(unverified?.unverifiedReceipt == verified.receipt, "both readers read the same")
            try? verified.check(world.device)
        }
    default:
        guard let certificate = try? Certificate(der: rest),
            let signer = try? ReceiptSigner(
                key: world.chain.leafKey, certificates: [certificate] + world.chain.certificates.dropFirst()),
            let receipt = try? signer.sign(payload: world.seeds[0])
        else { break }
        let isAccepted = (try? world.verifier.verify(receipt)) != nil
        Fuzzing.claim(!isAccepted || certificate == world.chain.leaf, "no certificate of a receipt can be exchanged")
    }
    return 0
}

private let world = World()

/// A store and its receipts.
private struct World {
    let chain = Fuzzing.must { try SigningChain.open(in: Fuzzing.keys) }
    let signer: ReceiptSigner
    let verifier: ReceiptVerifier
    let anyVerifier: ReceiptVerifier
    let device: DeviceIdentifier
    /// The payloads that the fuzzer starts from.
    let seeds: [[UInt8]]
    let payloads: Set<[UInt8]>

    init() {
        let (chain, now) = (chain, Date(timeIntervalSince1970: 1_700_000_000))
        signer = Fuzzing.must { try ReceiptSigner(chain) }
        let anchors = [TrustAnchor(chain.root)]
        verifier = ReceiptVerifier(
            configuration: .init(bundleIDs: ["com.example"], environments: [.sandbox], trustAnchors: anchors))
        anyVerifier = ReceiptVerifier(
            configuration: .init(bundleIDs: nil, environments: nil, trustAnchors: anchors))
        device = DeviceIdentifier(UUID(uuidString: "368F3888-DCD8-11EF-B3C8-325096B39F47")!)
        let purchase = AppReceipt.InAppPurchase(
            quantity: 1, productID: "com.example.pro", transactionID: "2000000000000001", purchaseDate: now,
            originalTransactionID: "2000000000000001", originalPurchaseDate: now, expiresDate: now,
            webOrderLineItemID: "2000000000000007", isTrialPeriod: false, isInIntroOfferPeriod: true)
        seeds = [
            AppReceipt(
                receiptType: "ProductionSandbox", bundleID: "com.example", appVersion: "2", originalAppVersion: "1.0",
                creationDate: now, opaqueValue: [1, 2, 3, 4], sha1Hash: [UInt8](repeating: 7, count: 20),
                inAppPurchases: [purchase, purchase]),
            AppReceipt(receiptType: "ProductionSandbox", bundleID: "com.example", creationDate: now),
        ].map(\.der)
        payloads = Set(seeds)
    }
}

/// The seeds of the search.
func receiptSeeds() -> [[UInt8]] {
    var seeds: [[UInt8]] = []
    for payload in world.seeds {
        let receipt = Fuzzing.must { try world.signer.sign(payload: payload) }
        seeds += [[0] + receipt, [0] + Array(Base64.encode(receipt).utf8), [1] + payload]
    }
    seeds += world.chain.certificates.map { [2] + $0.der }
    seeds.append([0] + Array(#"{ "signature" = "AAAA"; "purchase-info" = "e30="; }"#.utf8))
    return seeds
}

#if FUZZING
    @_cdecl("LLVMFuzzerInitialize")
#endif
public func initializeReceipts(_ count: UnsafeMutableRawPointer?, _ arguments: UnsafeMutableRawPointer?) -> CInt {
    Fuzzing.plant(receiptSeeds())
    return 0
}
