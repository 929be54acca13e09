import Foundation
import HTTPCore
import NetworkInterception
import Testing

@Suite struct RecordTests {
    @Test func `every record has an id of its own, in the form of a random one`() {
        let ids = (0..<100_000).map { _ in Record(getRoot).id }
        #expect(Set(ids).count == 100_000)
        #expect(ids.allSatisfy { $0.uuid.6 >> 4 == 4 && $0.uuid.8 >> 6 == 2 })
    }
}
