import Foundation
import Primitives
import StoreModel
import Testing

@testable import SignedData

/// Checks that the caches of a verifier do not change its results.
@Suite struct RepetitionTests {
    let store: TestStore

    init() throws { store = try TestStore() }

    @Test func `a cached chain does not make a bad signature valid`() throws {
        let verifier = store.verifier
        let good = try store.signer.sign(TestStore.transaction())
        let bad = try store.signed(signature: { [UInt8]($0.reversed()) })
        #expect(refusal { try verifier.transaction(bad) } == .signatureInvalid)
        #expect(refusal { try verifier.transaction(good) } == nil)
        #expect(refusal { try verifier.transaction(bad) } == .signatureInvalid)
        #expect(refusal { try verifier.transaction(good) } == nil)
    }

    @Test func `a header with another algorithm or chain is refused despite the cache`() throws {
        let verifier = store.verifier
        _ = try verifier.transaction(store.signer.sign(TestStore.transaction()))
        var header = store.header
        header["alg"] = "ES384"
        #expect(refusal { try verifier.transaction(store.sign(header: header)) } == .unsupportedAlgorithm)
        let stranger = try TestStore().signer.sign(TestStore.transaction())
        #expect(refusal { try verifier.transaction(stranger) } == .untrustedRoot)
    }

    @Test func `a cached transaction is refused as renewal info`() throws {
        let verifier = store.verifier
        let jws = try store.signer.sign(TestStore.transaction())
        #expect(refusal { try verifier.transaction(jws) } == nil)
        #expect(refusal { try verifier.renewalInfo(jws) } == .payloadMalformed)
        #expect(refusal { try verifier.transaction(jws) } == nil)
    }

    @Test func `a document for another bundle stays refused`() throws {
        let verifier = store.verifier
        var payload = TestStore.transaction()
        payload.bundleId = "com.example.other"
        let jws = try store.signer.sign(payload)
        for _ in 1...3 { #expect(refusal { try verifier.transaction(jws) } == .wrongBundle) }
    }

    @Test(arguments: [0, 1, 2, 64])
    func `results do not depend on the size of the cache`(capacity: Int) throws {
        var configuration = store.configuration
        configuration.chainCacheCapacity = capacity
        configuration.documentCacheCapacity = capacity
        let verifier = SignedDataVerifier(configuration: configuration)
        let good = try (1...5).map { try store.signer.sign(TestStore.transaction(id: String($0))) }
        let bad = try store.signed(signature: { [UInt8]($0.reversed()) })
        for _ in 1...2 {
            for (index, jws) in good.enumerated() {
                #expect(try verifier.transaction(jws).payload.transactionId == String(index + 1))
                #expect(refusal { try verifier.transaction(bad) } == .signatureInvalid)
            }
        }
    }

    @Test func `many threads get the same results as one thread`() async throws {
        let verifier = store.verifier
        let good = try (0..<8).map { try store.signer.sign(TestStore.transaction(id: String($0))) }
        let bad = try store.signed(signature: { [UInt8]($0.reversed()) })
        let stranger = try TestStore().signer.sign(TestStore.transaction())
        let wrong = await withTaskGroup(of: Int.self) { group in
            for task in 0..<16 {
                group.addTask {
                    var wrong = 0
                    for round in 0..<40 {
                        let index = (task + round) % good.count
                        let verified = try? verifier.transaction(good[index])
                        if verified?.payload.transactionId != String(index) { wrong += 1 }
                        if refusal({ try verifier.transaction(bad) }) != .signatureInvalid { wrong += 1 }
                        if round % 10 == 0, refusal({ try verifier.transaction(stranger) }) != .untrustedRoot {
                            wrong += 1
                        }
                    }
                    return wrong
                }
            }
            return await group.reduce(0, +)
        }
        #expect(wrong == 0)
    }

}

@Suite struct BoundedCacheTests {
    @Test func `the entries used last are kept and no more than the capacity`() {
        var cache = BoundedCache<Int, Int>(capacity: 8)
        for key in 0..<100 {
            cache.insert(key * 2, for: key)
            #expect(cache.value(for: 0) == 0, "0 stays because it is used often")
            #expect(cache.count <= 8)
        }
        #expect(cache.value(for: 99) == 198)
        #expect(cache.value(for: 50) == nil)
    }

    @Test func `a new value replaces the old one`() {
        var cache = BoundedCache<Int, String>(capacity: 4)
        cache.insert("old", for: 1)
        cache.insert("x", for: 2)
        cache.insert("y", for: 3)
        cache.insert("new", for: 1)
        #expect(cache.value(for: 1) == "new")
        for key in 4..<6 { cache.insert("z", for: key) }
        #expect(cache.value(for: 1) == "new")
    }
}
