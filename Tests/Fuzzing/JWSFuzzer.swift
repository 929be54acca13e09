import AppStorePayloads
import Foundation
import Primitives
import StoreModel

@testable import SignedData

/// JWS in five forms, chosen by the first byte of an input. These are the input itself; a payload or a header that the
/// fuzzer signs, so that mutations reach the code after the signature; the content of a notification; and a token of an
/// app's server.
#if FUZZING
    @_cdecl("LLVMFuzzerTestOneInput")
#endif
public func fuzzJWS(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = Fuzzing.bytes(start, count)
    guard let way = input.first else { return 0 }
    let rest = Array(input.dropFirst())
    let text = String(decoding: rest, as: UTF8.self)
    switch way % 5 {
    case 0:
        _ = try? UnverifiedJWS(unverified: text)
        for payload in world.accepted(text) {
            Fuzzing.claim(world.payloads.contains(payload), "only what was signed is accepted")
        }
    case 1:
        for payload in world.accepted(Fuzzing.must { try world.signer.sign(rest) }) {
            Fuzzing.claim(payload == rest, "the payload is the signed one")
        }
    case 2:
        let header = Base64.encodeURL(rest)
        let message = header + "." + Base64.encodeURL(world.seeds[0].payload)
        let signature = Fuzzing.must { try world.chain.leafKey.signature(of: Array(message.utf8)) }
        let accepted = world.accepted(message + "." + Base64.encodeURL(signature))
        Fuzzing.claim(accepted.isEmpty || text.contains("ES256"), "no other algorithm is accepted")
    case 3:
        for field in ["signedTransactionInfo", "signedRenewalInfo"] {
            var notification = world.notification
            notification["data"]?[field] = .string(text)
            if (try? world.verifier.notification(world.signer.sign(notification.encoded()))) != nil {
                let payload = CompactJWS.payload(of: text)
                Fuzzing.claim(
                    payload.map(world.payloads.contains) ?? false, "a notification contains only signed documents")
            }
        }
    default:
        let claims = Fuzzing.must { try world.team.sign(rest) }
        for token in [text, claims] {
            _ = try? world.requests.verify(token, at: world.now)
            _ = try? world.tokens.verify(token, at: world.now)
        }
    }
    return 0
}

private let world = World()

/// A store, its app's server, and signed data of both.
private struct World {
    let chain = Fuzzing.must { try SigningChain.open(in: Fuzzing.keys) }
    let signer: JWSSigner
    let team: JWSSigner
    let verifier: SignedDataVerifier
    let requests: AppStoreRequestVerifier
    let tokens: AppStoreServerTokenVerifier
    let now = Date(timeIntervalSince1970: 1_700_000_000)
    let notification: JSONValue
    let seeds: [(payload: [UInt8], jws: String)]
    let payloads: Set<[UInt8]>

    init() {
        signer = JWSSigner(chain)
        team = JWSSigner(key: chain.leafKey, header: ["alg": "ES256", "kid": "K", "typ": "JWT"])
        var configuration = SignedDataVerifier.Configuration(
            bundleIDs: ["com.example"], environments: [.sandbox], trustAnchors: [TrustAnchor(chain.root)])
        configuration.documentCacheCapacity = 0
        verifier = SignedDataVerifier(configuration: configuration)
        let keys = ["K": chain.leafKey.verificationKey]
        requests = AppStoreRequestVerifier(keys: keys, issuerID: "I", bundleID: "com.example")
        tokens = AppStoreServerTokenVerifier(keys: keys, issuerID: "I", bundleID: "com.example")
        let now = now
        let transaction = JWSTransactionDecodedPayload {
            $0.transactionId = "2000000000000001"
            $0.originalTransactionId = "2000000000000001"
            $0.bundleId = "com.example"
            $0.productId = "com.example.pro.monthly"
            $0.purchaseDate = now
            $0.quantity = 1
            $0.type = .autoRenewableSubscription
            $0.signedDate = now
            $0.environment = .sandbox
        }.json.encoded()
        let renewal = JWSRenewalInfoDecodedPayload {
            $0.originalTransactionId = "2000000000000001"
            $0.productId = "com.example.pro.monthly"
            $0.autoRenewProductId = "com.example.pro.yearly"
            $0.autoRenewStatus = .on
            $0.signedDate = now
            $0.environment = .sandbox
        }.json.encoded()
        let app = AppTransaction {
            $0.receiptType = .sandbox
            $0.bundleId = "com.example"
            $0.applicationVersion = "2"
            $0.receiptCreationDate = now
            $0.originalPlatform = .iOS
        }.json.encoded()
        let sign = signer
        func signed(_ payload: [UInt8]) -> String { Fuzzing.must { try sign.sign(payload) } }
        // Kept in a file, because a new signature in each process would make the claim below false.
        let carrier = Fuzzing.kept("notification.json") {
            ResponseBodyV2DecodedPayload {
                $0.notificationType = .didRenew
                $0.notificationUUID = "9f2b6c1e-0000-4000-8000-000000000001"
                $0.data = .init {
                    $0.bundleId = "com.example"
                    $0.environment = .sandbox
                    $0.signedTransactionInfo = signed(transaction)
                    $0.signedRenewalInfo = signed(renewal)
                }
                $0.version = "2.0"
                $0.signedDate = now
            }.json.encoded()
        }
        notification = Fuzzing.must { try JSONValue(parsing: carrier) }
        seeds = [transaction, renewal, app, carrier].map { (payload: $0, jws: signed($0)) }
        payloads = Set(seeds.map(\.payload))
    }

    /// Returns the payloads that a kind of the verifier accepts.
    func accepted(_ jws: String) -> [[UInt8]] {
        var payloads: [[UInt8]] = []
        if let found = try? verifier.transaction(jws) { payloads.append(found.payloadBytes) }
        if let found = try? verifier.renewalInfo(jws) { payloads.append(found.payloadBytes) }
        if let found = try? verifier.appTransaction(jws) { payloads.append(found.payloadBytes) }
        if let found = try? verifier.notification(jws) { payloads.append(found.notification.payloadBytes) }
        if let found = try? verifier.realtimeRequest(jws) { payloads.append(found.payloadBytes) }
        return payloads
    }
}

extension CompactJWS {
    fileprivate static func payload(of text: String) -> [UInt8]? { try? CompactJWS(Array(text.utf8)).payload() }
}

/// Whether an input is itself an accepted JWS.
func isAcceptedJWS(_ input: [UInt8]) -> Bool {
    input.first.map { $0 % 5 == 0 } ?? false
        && !world.accepted(String(decoding: input.dropFirst(), as: UTF8.self)).isEmpty
}

/// The seeds of the search.
func jwsSeeds() -> [[UInt8]] {
    var seeds: [[UInt8]] = []
    for seed in world.seeds {
        seeds.append([0] + Array(seed.jws.utf8))
        seeds.append([1] + seed.payload)
        seeds.append([3] + Array(seed.jws.utf8))
    }
    let header = world.seeds[0].jws.split(separator: ".")[0]
    seeds.append([2] + (Base64.decodeURL(String(header)) ?? []))
    let base = #""iss":"I","iat":1700000000,"bid":"com.example","nonce":"368f3888-dcd8-11ef-b3c8-325096b39f47","#
    for claims in [
        #""aud":"promotional-offer","productId":"p","offerIdentifier":"o","transactionId":"1"}"#,
        #""aud":"introductory-offer-eligibility","productId":"p","allowIntroductoryOffer":true,"transactionId":"1"}"#,
        #""aud":"advanced-commerce-api","request":"e30="}"#, #""aud":"appstoreconnect-v1","exp":1700000300}"#,
    ] {
        seeds.append([4] + Array("{\(base)\(claims)".utf8))
    }
    return seeds
}

#if FUZZING
    @_cdecl("LLVMFuzzerInitialize")
#endif
public func initializeJWS(_ count: UnsafeMutableRawPointer?, _ arguments: UnsafeMutableRawPointer?) -> CInt {
    Fuzzing.plant(jwsSeeds())
    return 0
}
