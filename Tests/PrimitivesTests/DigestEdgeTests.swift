import Foundation
import Primitives
import Testing

/// The digests compared with Python's `hashlib` and `uuid`.
@Suite struct DigestEdgeTests {
    /// Messages of this many letters `a`: around the ends of blocks, and where the padding needs another block.
    @Test(arguments: [
        (0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        (1, "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"),
        (55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"),
        (56, "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a"),
        (63, "7d3e74a05d7db15bce4ad9ec0658ea98e3f06eeecf16b4c6fff2da457ddc2f34"),
        (64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"),
        (65, "635361c48bb9eab14198e76ea8ab7f1a41685d6ad62aa9146d301d4f17eb0ae0"),
        (119, "31eba51c313a5c08226adf18d4a359cfdfd8d2e816b13f4af952f7ea6584dcfb"),
        (120, "2f3d335432c70b580af0e8e1b3674a7c020d683aa5f73aaaedfdc55af904c21c"),
        (128, "6836cf13bac400e9105071cd6af47084dfacad4e5e302c94bfed24e013afb73e"),
        (129, "c12cb024a2e5551cca0e08fce8f1c5e314555cc3fef6329ee994a3db752166ae"),
    ])
    func `a message of any length has its digest`(length: Int, digest: String) {
        #expect(Hex.encode(SHA256.hash([UInt8](repeating: 0x61, count: length))) == digest)
    }

    @Test func `a message that is split anywhere has the same digest`() {
        let bytes = (0..<130).map { UInt8(truncatingIfNeeded: $0 &* 37) }
        let whole = SHA256.hash(bytes)
        for first in 0...130 {
            for second in [first, (first + 130) / 2, 130] {
                var digest = SHA256()
                digest.update(bytes[..<first])
                digest.update(bytes[first..<second].lazy.map { $0 })
                digest.update(bytes[second...])
                guard digest.finalize() != whole else { continue }
                Issue.record("cut at \(first) and \(second)")
                return
            }
        }
    }

    /// Names in the DNS namespace, whose 16 bytes precede the name. A block of 64 bytes ends after 48 bytes of the name,
    /// and the padding needs another block from 40 bytes on.
    @Test(arguments: [
        ("", "4ebd0208-8328-5d69-8c44-ec50939c0967"),
        (String(repeating: "a", count: 39), "5824f981-4282-59d4-9716-acb6d741350e"),
        (String(repeating: "a", count: 40), "39f39c20-db47-5131-8879-62f8f67f9014"),
        (String(repeating: "a", count: 47), "660c273c-8a00-5941-b6f4-8d0afed88966"),
        (String(repeating: "a", count: 48), "7280cc42-274a-5c4a-91fc-ae23f853eeb7"),
        (String(repeating: "a", count: 103), "1cf1b329-74b7-50b0-a819-28e28c61c775"),
        (String(repeating: "a", count: 104), "31477a3f-211d-5651-b3ce-be7c82999e70"),
        ("é日", "c870bad7-d8af-57ba-88e6-728a78452b09"),
    ])
    func `a name-based UUID equals the one of other programs`(name: String, expected: String) throws {
        let dns = try #require(UUID(uuidString: "6ba7b810-9dad-11d1-80b4-00c04fd430c8"))
        let uuid = UUID(namespace: dns, name: name)
        #expect(uuid == UUID(uuidString: expected))
        #expect(uuid.uuid.6 >> 4 == 5 && uuid.uuid.8 >> 6 == 2, "version 5 of the variant of RFC 9562")
    }
}
