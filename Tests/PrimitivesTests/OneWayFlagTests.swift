import BaseTestSupport
import Primitives
import Testing

@Suite struct OneWayFlagTests {
    private final class Box: @unchecked Sendable {
        // Sendable: `text` is written before the flag is set, and read only after it is seen.
        let flag = OneWayFlag()
        var text = ""
        var isSet: Bool { flag.isSet }
    }

    @Test func `a flag is false until it is set, and stays true`() {
        let box = Box()
        #expect(!box.isSet)
        box.flag.set()
        box.flag.set()
        #expect(box.isSet)
    }

    @Test func `a thread that sees the flag sees earlier writes`() async throws {
        let box = Box()
        let reader = Task {
            try await until("the flag is set") { box.flag.isSet }
            return box.text
        }
        box.text = "written before"
        box.flag.set()
        #expect(try await reader.value == "written before")
    }
}
