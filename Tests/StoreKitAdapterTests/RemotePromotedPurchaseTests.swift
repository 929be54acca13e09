import HTTPCore
import Primitives
import StoreModel
import Testing

@testable import StoreKitAdapter

/// Promoted purchases that a connection receives and takes over, through HTTP.
extension RemoteStoreConnectionTests {
    @Test func `a promoted purchase is taken over once, also after the connection broke`()
        async throws
    {
        let promoted = PromotedPurchase(productID: "a/b", offer: .winBack("back"))
        let failures = Locked(2)
        simulator.answer { words, _ in
            if words.contains("/updates?"), !words.contains("after=") {
                return try .of(StoreWire.Updates(updates: [Self.sold("1")], cursor: "1", promotedPurchases: [promoted]))
            }
            guard words == "POST /store/v1/devices/device%201/promoted-purchases/a%2Fb" else { return nil }
            let mayFail = failures.withLock { left in
                left -= 1
                return left >= 0
            }
            if mayFail { throw HTTPError(.connectionLost, "gone") }
            return try .of(promoted)
        }
        let connection = simulator.connect()
        var reported = connection.promotedPurchases.makeAsyncIterator()
        #expect(await reported.next() == promoted)
        var updates = connection.updates.makeAsyncIterator()
        #expect(await updates.next()?.productID == "pack", "store updates are sent too")
        await connection.close()
        #expect(await reported.next() == nil)
        #expect(await updates.next() == nil, "a promoted purchase is reported once")
    }

    @Test func `a promoted purchase that another device has taken is not reported, and the others are`() async throws {
        simulator.answer { words, _ in
            if words.contains("/updates?"), !words.contains("after=") {
                let begun = ["lost", "mine"].map { PromotedPurchase(productID: $0) }
                return try .of(StoreWire.Updates(updates: [], cursor: "1", promotedPurchases: begun))
            }
            if words.hasSuffix("/lost") { return .problem(404, "unknownPromotedPurchase", "A device has taken it.") }
            return words.hasSuffix("/mine") ? try .of(PromotedPurchase(productID: "mine")) : nil
        }
        let connection = simulator.connect()
        var reported = connection.promotedPurchases.makeAsyncIterator()
        #expect(await reported.next()?.productID == "mine")
        await connection.close()
        #expect(await reported.next() == nil)
    }
}
