import Foundation
import HTTPCore
import Primitives
import Testing

/// The validation by `WireSchema`, and whether the patterns in its JSON Schema agree with it.
struct WireSchemaTests {
    @Test(
        arguments: [
            (.uuid, ["00000000-0000-0000-0000-00000000000a"], ["0", "00000000-0000-0000-0000-00000000000g"]),
            (.amount, ["4.99", "-3", "0.000000001"], ["1e3", "", "x", "4,99"]),
            (.date, ["2026-11-20T14:40:00Z", "2026-11-20T14:40:00.5+02:00"], ["2026-11-20", "now"]),
            (.base64, ["", "AAAA", "AA==", "AAA="], ["A", "AA", "AB==", "A===", "AA=A", "AAAA\n"]),
        ] as [(WireSchema, [String], [String])])
    func `the rule and the pattern of a string schema accept the same strings`(
        schema: WireSchema, good: [String], bad: [String]
    ) throws {
        let pattern = schema.json["pattern"]?.stringValue.map { try? NSRegularExpression(pattern: $0) } ?? nil
        for text in good + bad {
            let isAllowed = schema.violation(.string(text)) == nil
            #expect(isAllowed == good.contains(text), "\(text)")
            guard let pattern, !text.hasSuffix("\n"), text.utf8.count < 255 else { continue }
            let matches = pattern.firstMatch(in: text, range: NSRange(text.startIndex..., in: text)) != nil
            #expect(matches == isAllowed || text.isEmpty, "\(text) and \(schema.json)")
        }
        #expect(schema.violation(7) != nil && schema.violation(nil) != nil)
    }

    @Test func `numbers, Booleans, arrays and objects are distinguished`() {
        #expect(WireSchema.integer(1...3).violation(3) == nil && WireSchema.integer(1...3).violation(4) != nil)
        #expect(WireSchema.integer(1...3).violation(2.0) == nil && WireSchema.integer(1...3).violation(2.5) != nil)
        #expect(WireSchema.number(0...1, above: true).violation(0) != nil)
        #expect(WireSchema.flag.violation(true) == nil && WireSchema.flag.violation("true") != nil)
        let object = WireSchema.object(
            [.required("a", .array(.flag)), .optional("b", .text), .optional("c", .text)], exactlyOne: ["b", "c"])
        #expect(object.violation(["a": [], "b": "", "more": nil]) == nil)
        #expect(object.violation(["b": ""])?.path == ["a"])
        #expect(object.violation(["a": [true, 1], "b": ""])?.path == ["a", "1"])
        #expect(object.violation(["a": []]) != nil && object.violation(["a": [], "b": "", "c": ""]) != nil)
        #expect(object.violation(["a": [], "b": nil])?.path == ["b"])
    }

    @Test func `arrays have a length, dictionaries one kind of value, and null is optional`() {
        let few = WireSchema.array(.text, count: 1...2)
        #expect(few.violation([]) != nil && few.violation(["a", "b"]) == nil && few.violation(["a", "b", "c"]) != nil)
        #expect(few.json["maxItems"] == 2)
        let counts = WireSchema.dictionary(of: .integer)
        #expect(counts.violation(["a": 1]) == nil && counts.violation(["a": 1, "b": "2"])?.path == ["b"])
        #expect(counts.violation([]) != nil)
        #expect(WireSchema.date.orNull.violation(nil) == nil && WireSchema.date.orNull.violation("soon") != nil)
    }

    @Test func `schemas may refer to each other by name`() {
        #expect(Tree.schema.violation(["branches": [["branches": []]]]) == nil)
        #expect(Tree.schema.violation(["branches": [["branches": [7]]]])?.path == ["branches", "0", "branches", "0"])
    }

    private enum Tree {
        static let schema: WireSchema = .named("Tree") { .object([.required("branches", .array(schema))]) }
    }
}
