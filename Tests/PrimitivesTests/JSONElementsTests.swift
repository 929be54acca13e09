import BaseTestSupport
import Primitives
import Testing

/// Compares the elements of an array that are read one after another with the array that is parsed as a whole.
@Suite struct JSONElementsTests {
    /// The array that `JSONElements` reads; `nil` for another document. Plain objects are read as such if `isPlain`.
    private func elements(_ bytes: [UInt8], isPlain: Bool) throws(JSONError) -> JSONValue? {
        try JSONElements.reading(bytes, depth: 4) { elements throws(JSONError) in
            var all: [JSONValue] = []
            while true {
                var members = JSONMembers()
                let isRead = isPlain && elements.nextPlainObject { name, value in Self.add(name, value, to: &members) }
                if isRead {
                    all.append(.object(members))
                } else if let element = try elements.next() {
                    all.append(element)
                } else {
                    break
                }
            }
            #expect(try elements.next() == nil, "there is nothing after the last element")
            return .array(all)
        }
    }

    private static func add(
        _ name: UnsafeBufferPointer<UInt8>, _ value: JSONElements.PlainValue, to members: inout JSONMembers
    ) -> Bool {
        let name = String(decoding: name, as: UTF8.self)
        guard members[name] == nil else { return false }
        switch value {
        case .string(let text): members[name] = .string(String(decoding: text, as: UTF8.self))
        case .bool(let flag): members[name] = .bool(flag)
        }
        return true
    }

    private func expectAgreement(_ bytes: [UInt8]) {
        let text = String(decoding: bytes, as: UTF8.self)
        for isPlain in [false, true] {
            do {
                let whole = try JSONValue(parsing: bytes, depth: 4)
                let read = try elements(bytes, isPlain: isPlain)
                if case .array = whole {
                    #expect(read?.text() == whole.text(), "\(text)")
                } else {
                    #expect(read == nil)
                }
            } catch {
                #expect(throws: error, "\(text)") { try elements(bytes, isPlain: isPlain) }
            }
        }
    }

    @Test(arguments: [
        "", " ", "[", "]", "[]", " [ ] ", "[] []", "[],", "{}", "1", "[1]", "[1,]", "[,1]", "[1 2]", "[1,2", "[[[[]]]]",
        "[[[[[]]]]]", #"[{}]"#, #"[{"a":"b"}]"#, #"[{"a":"b"},{"c":true}]"#, #"[{"a":"b"} {"c":true}]"#,
        #"[{"a":"b"},]"#, #"[{"a":"b"}"#, #"[{"a":"b"}] x"#, #"[ { "a" : "b" , "c" : false } , null ]"#,
        #"[{"a":"b",}]"#, #"[{"a" "b"}]"#, #"[{"a":"b" "c":true}]"#, #"[{"a":"b","a":"c"}]"#, #"[{"a":tru}]"#,
        #"[{"a":truee}]"#, #"[{"a":"\u0062"}]"#, #"[{"\u0061":"b","a":true}]"#, #"[{"a":"é"}]"#, #"[{"é":true}]"#,
        "[{\"a\":\"\u{1}\"}]", "[{\"a\":\"\u{7F}\"}]", "[{\"a\":\"b", #"[{"a":1},{"b":true}]"#, #"[{"a":null}]"#,
        #"[{"a":[{"b":"c"}]}]"#, #"[{"a":[[[]]]}]"#, #"[{"":""}]"#, #"[{"a":"\"}]"#, "\u{FEFF}[]",
    ])
    func `the elements, and the errors with their positions, are those of the whole document`(text: String) {
        expectAgreement(Array(text.utf8))
    }

    @Test func `changed bytes are read alike`() {
        var numbers = SeededNumbers(state: 28)
        let document = Array(#"[{"id":"a","x":true}, {"id":"b\n"} ,{"id":"c","y":false,"z":[1]}]"#.utf8)
        let bytes = Array(#"{}[],:"\ taé1"#.utf8) + [0, 0x1F, 0x7F, 0xFF]
        for _ in 0..<20_000 {
            var changed = document
            for _ in 0...Int.random(in: 0...2, using: &numbers) {
                let place = Int.random(in: changed.indices, using: &numbers)
                switch Int.random(in: 0...2, using: &numbers) {
                case 0: changed[place] = bytes.randomElement(using: &numbers) ?? 0
                case 1: changed.insert(bytes.randomElement(using: &numbers) ?? 0, at: place)
                default: changed.remove(at: place)
                }
            }
            expectAgreement(changed)
        }
    }

    @Test func `a refused object stays in place`() throws {
        let bytes = Array(#"[{"a":"b","c":true}]"#.utf8)
        let read = try JSONElements.reading(bytes) { elements throws(JSONError) in
            var names: [String] = []
            let isRead = elements.nextPlainObject { name, _ in
                names.append(String(decoding: name, as: UTF8.self))
                return names.count < 2
            }
            #expect(!isRead)
            #expect(names == ["a", "c"])
            return try elements.next()
        }
        #expect(read??.text() == #"{"a":"b","c":true}"#)
    }

    @Test(arguments: ["", "a", "~", " ", "com.example.shop.look.99999"])
    func `printable ASCII is recognized`(text: String) { #expect(text.isPrintableASCII) }

    @Test(arguments: ["\u{1F}", "\u{7F}", "\u{80}", "é", "a\0", "日", "com.example.shop.look.9999\u{A0}"])
    func `control characters and other characters are not printable ASCII`(text: String) {
        #expect(!text.isPrintableASCII)
    }
}
