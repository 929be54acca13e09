import Foundation
import HTTPCore
import NetworkInterception
import Testing

@Suite struct RecordTests {
    @Test func `every record has its own id, in the form of a random UUID`() {
        let ids = (0..<100_000).map { _ in Record(getRoot).id }
        #expect(Set(ids).count == 100_000)
        #expect(ids.allSatisfy { $0.uuid.6 >> 4 == 4 && $0.uuid.8 >> 6 == 2 })
    }

    @Test func `a change of a copy does not change the original record`() {
        let first = Record(getRoot)
        var second = first
        second.originalRequest.url = "http://b/"
        var third = second
        third.designatedRequest.headers["A"] = "1"
        third.result = .success(Response(status: 200))
        third.timing.started = Date(timeIntervalSince1970: 1)
        third.bodies.response = .init(byteCount: 2)
        third.changes = [.init(floret: "F", kind: .answered)]
        #expect(first.originalRequest.url == getRoot.url)
        #expect(second.originalRequest.url == "http://b/")
        #expect(second.designatedRequest.headers["A"] == nil)
        #expect(second.result == nil)
        #expect(second.timing == .init())
        #expect(second.bodies == .init())
        #expect(second.changes.isEmpty)
        #expect(third.id == first.id)
    }

    @Test func `a printed record shows its properties`() {
        let printed = String(describing: Record(getRoot))
        #expect(printed.hasPrefix("Record(id: "))
        for name in ["originalRequest: ", getRoot.url, "result: nil", "timing: ", "bodies: ", "changes: []"] {
            #expect(printed.contains(name), "\(name)")
        }
    }
}
