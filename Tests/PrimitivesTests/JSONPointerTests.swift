import Primitives
import Testing

@Suite struct JSONPointerTests {
    /// The examples of RFC 6901, section 5, and names that begin with a combining character.
    @Test(arguments: [
        ("", []), ("/foo", ["foo"]), ("/foo/0", ["foo", "0"]), ("/", [""]), ("/a~1b", ["a/b"]), ("/c%d", ["c%d"]),
        ("/e^f", ["e^f"]), ("/g|h", ["g|h"]), ("/i\\j", ["i\\j"]), ("/k\"l", ["k\"l"]), ("/ ", [" "]),
        ("/m~0n", ["m~n"]),
        ("/~01", ["~1"]), ("/~1~0/~0~1", ["/~", "~/"]), ("//", ["", ""]), ("/~1\u{338}", ["/\u{338}"]),
        ("/\u{338}a", ["\u{338}a"]), ("/~0\u{301}", ["~\u{301}"]),
    ])
    func `a pointer is split into its steps, and the steps give the pointer`(pointer: String, steps: [String]) throws {
        let found = try #require(JSONPointer.steps(pointer))
        #expect(found.count == steps.count && zip(found, steps).allSatisfy { $0.hasSameBytes(as: $1) }, "\(found)")
        #expect(steps.reduce("") { JSONPointer.member($1, of: $0) }.hasSameBytes(as: pointer))
        #expect(steps.map { "/" + JSONPointer.escaped($0) }.joined().hasSameBytes(as: pointer))
    }

    @Test func `a text without a leading slash is not a pointer, and an unknown escape remains`() {
        #expect(JSONPointer.steps("foo") == nil && JSONPointer.steps("~1") == nil)
        #expect(JSONPointer.steps("/a~2~") == ["a~2~"])
    }
}
