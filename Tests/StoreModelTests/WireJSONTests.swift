import Foundation
import Primitives
import StoreModel
import Testing

/// Checks that `WireJSON` refuses unsafe documents, and writes the same bytes as Foundation's encoder.
@Suite struct WireJSONTests {
    private struct Note: Codable, Equatable {
        var at: Date
        var text: String
        var price: Decimal?
    }

    @Test(arguments: [
        #"{"at": "2026-11-20T14:40:00Z", "text": "a", "text": "b"}"#,
        #"{"at": "2026-11-20T14:40:00Z", "text": "a", "other": {"é": 1, "é": 2}}"#,
        #"{"at": "2026-11-20T14:40:00Z", "text": "a"} {}"#, "", "{",
        #"{"at": "2026-11-20T14:40:00Z", "text": "a", "other": "# + String(repeating: "[", count: 128)
            + String(repeating: "]", count: 128) + "}",
        #"{"at": "2026-11-20T14:40:00Z", "text": "\ud800"}"#,
    ])
    func `bytes that the parser refuses are corrupted data, with the parser's error underneath`(text: String) throws {
        let error = #expect(throws: DecodingError.self) { try WireJSON.decode(Note.self, from: Array(text.utf8)) }
        guard case .dataCorrupted(let context) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(context.codingPath.isEmpty && context.underlyingError is JSONError)
        #expect(context.debugDescription.contains(" at line 1, column "))
    }

    @Test func `a date is RFC 3339 text`() throws {
        let note = Note(at: Date(timeIntervalSince1970: 1_763_650_800), text: "a/b")
        let text = #"{"at":"2025-11-20T15:00:00Z","text":"a/b"}"#
        #expect(try String(decoding: WireJSON.encode(note), as: UTF8.self) == text)
        #expect(try WireJSON.decode(Note.self, from: Array(text.utf8)) == note)
        #expect(try WireJSON.decode(Note.self, from: JSONValue(parsing: text)) == note)
        for wrong in [#"{"at": "2025-11-20", "text": ""}"#, #"{"at": 1, "text": ""}"#, #"{"at": null, "text": ""}"#] {
            let error = #expect(throws: DecodingError.self) { try WireJSON.decode(Note.self, from: Array(wrong.utf8)) }
            switch error {
            case .dataCorrupted(let context):
                #expect(context.debugDescription == #"a date is RFC 3339 text such as "2026-11-20T14:40:00Z""#)
                #expect(context.codingPath.map(\.stringValue) == ["at"] && wrong.contains("2025"))
            case .typeMismatch(let type, _): #expect(type == String.self && wrong.contains(": 1"))
            case .valueNotFound(let type, _): #expect(type == Date.self && wrong.contains("null"))
            default: Issue.record("\(wrong): \(String(describing: error))")
            }
        }
    }

    @Test func `the bytes are those that Foundation's encoder writes`() throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes, .sortedKeys]
        encoder.dateEncodingStrategy = .custom { date, encoder in
            var container = encoder.singleValueContainer()
            try container.encode(RFC3339.string(from: date))
        }
        for (index, text) in ["", "/\\\"", "\u{2028}\u{8}\u{C}\u{1F}", "e\u{301} \u{E9} 😀"].enumerated() {
            let notes = [
                text: [Note(at: Date(timeIntervalSince1970: Double(index) / 8), text: text, price: Decimal(index) / 8)]
            ]
            let ours = try WireJSON.encode(notes)
            #expect(try ours == Array(encoder.encode(notes)))
            #expect(try WireJSON.decode([String: [Note]].self, from: ours) == notes)
            #expect(try WireJSON.document(notes).encoded() == ours)
        }
        struct Envelope: Codable {
            var b: JSONValue
            var a = 1
        }
        let envelope = Envelope(b: ["z": [["y": 1, "x": 2]], "c": nil])
        #expect(try WireJSON.encode(envelope) == Array(encoder.encode(envelope)))
        #expect(try WireJSON.document(envelope).encoded() == WireJSON.encode(envelope))
    }
}
