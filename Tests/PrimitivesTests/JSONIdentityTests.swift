import BaseTestSupport
import Primitives
import Testing

@Suite struct JSONIdentityTests {
    private static func object(_ pairs: [(String, Int)]) -> [UInt8] {
        var bytes: [UInt8] = [UInt8(ascii: "{")]
        for (index, (name, number)) in pairs.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            bytes += JSONValue.string(name).encoded() + Array(":\(number)".utf8)
        }
        return bytes + [UInt8(ascii: "}")]
    }

    @Test(arguments: UnicodeForms.pairs)
    func `two names that differ only in their Unicode form are duplicates`(pair: UnicodeForms) {
        for names in [(pair.composed, pair.other), (pair.other, pair.composed), (pair.other, pair.other)] {
            #expect(throws: JSONError.self) {
                try JSONValue(parsing: Self.object([(names.0, 1), ("x", 2), (names.1, 3)]))
            }
        }
    }

    @Test(arguments: UnicodeForms.pairs)
    func `a member is found by the bytes of its name`(pair: UnicodeForms) throws {
        let value = try JSONValue(parsing: Self.object([(pair.composed, 1)]))
        #expect(value[pair.composed] == 1)
        #expect(value[pair.other] == nil)
        #expect(value != (try JSONValue(parsing: Self.object([(pair.other, 1)]))))
    }

    @Test(arguments: UnicodeForms.pairs)
    func `strings are equal by their bytes`(pair: UnicodeForms) {
        let (left, right) = (JSONValue.string(pair.composed), JSONValue.string(pair.other))
        #expect(left != right)
        #expect(Set([left, right]).count == 2)
        #expect(JSONValue.array([left]) != .array([right]))
        #expect(left.encoded() != right.encoded())
    }

    @Test(arguments: UnicodeForms.pairs)
    func `a name that is set again in another Unicode form replaces the first`(pair: UnicodeForms) {
        var members: JSONMembers = [pair.composed: 1, "x": 2]
        members[pair.other] = nil
        #expect(members.count == 2, "nothing has this name")
        members[pair.other] = 3
        #expect(members.count == 2 && members[pair.other] == 3 && members[pair.composed] == nil)
        #expect(members.dictionary.count == 2)
        let pairs: [(String, JSONValue)] = [(pair.composed, 1), (pair.other, 2)]
        #expect(JSONMembers(pairs).count == 1)
        members[pair.other] = nil
        #expect(members.keys == ["x"])
    }

    @Test func `random documents keep the bytes of their names and strings`() throws {
        var numbers = SeededNumbers(state: 3)
        for _ in 0..<UnicodeForms.rounds(500) {
            let pair = UnicodeForms.random(using: &numbers)
            #expect(throws: JSONError.self) {
                try JSONValue(parsing: Self.object([(pair.composed, 1), (pair.other, 2)]))
            }
            for text in [pair.composed, pair.other] {
                let document: JSONValue = [text: .string(text)]
                let read = try JSONValue(parsing: document.encoded())
                #expect(read == document && read[text]?.stringValue.hasSameBytes(as: text) == true)
            }
        }
    }

    @Test func `members are equal whatever their order, also with many of them`() {
        let names = (0..<40).map { "name-\($0)" }
        let one = JSONMembers(names.map { ($0, .string($0)) })
        let other = JSONMembers(names.reversed().map { ($0, .string($0)) })
        #expect(one == other && one.hashValue == other.hashValue)
        #expect(JSONMembers(names.dropLast().map { ($0, .string($0)) }) != one)
    }

    @Test(arguments: [
        [0x22, 0xFF, 0x22], [0x22, 0xC3, 0x22], [0x22, 0xC0, 0x80, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22],
    ])
    func `invalid UTF-8 is refused, as a string and as a name`(bytes: [UInt8]) {
        #expect(throws: JSONError.self) { try JSONValue(parsing: bytes) }
        #expect(throws: JSONError.self) {
            try JSONValue(parsing: [UInt8(ascii: "{")] + bytes + Array(":1}".utf8))
        }
    }
}
