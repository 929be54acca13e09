import BaseTestSupport
import Foundation
import Primitives
import Testing

@Suite struct UUIDTextTests {
    @Test func `a UUID is read in upper and in lower case`() throws {
        for _ in 0..<200 {
            let id = UUID()
            #expect(UUID(text: id.uuidString) == id)
            #expect(UUID(text: id.uuidString.lowercased()) == id)
        }
    }

    /// Foundation accepts some of these.
    @Test func `a text of another length, or with another character in any place, is not a UUID`() {
        var numbers = SeededNumbers(state: 36)
        for _ in 0..<2000 {
            var characters = Array(UUID().uuidString.unicodeScalars)
            let place = Int.random(in: 0..<36, using: &numbers)
            let other = ["+", "-", " ", "x", "g", "\u{0}", "０", "é", "{", "\t"].randomElement(using: &numbers) ?? "+"
            guard String(characters[place]) != other else { continue }
            characters[place] = Unicode.Scalar(other) ?? "+"
            var text = String.UnicodeScalarView()
            text.append(contentsOf: characters)
            #expect(UUID(text: String(text)) == nil, "\(String(text).debugDescription)")
        }
        for text in ["", "0", "{6F9619FF-8B86-D011-B42D-00CF4FC964FF}", "6F9619FF8B86D011B42D00CF4FC964FF"] {
            #expect(UUID(text: text) == nil)
        }
        let whole = UUID().uuidString
        #expect(UUID(text: whole + "0") == nil && UUID(text: String(whole.dropLast())) == nil)
    }

    /// If two parsers accepted different texts, one customer could have two ids.
    @Test func `nothing in the sources reads a UUID in another way`() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let files = try #require(FileManager.default.enumerator(atPath: root.appendingPathComponent("Sources").path))
        var readers: [String] = []
        for case let file as String in files where file.hasSuffix(".swift") {
            let text = try String(contentsOf: root.appendingPathComponent("Sources/\(file)"), encoding: .utf8)
            let code = text.split(separator: "\n").filter { !$0.drop { $0 == " " }.hasPrefix("//") }
            if code.contains(where: { $0.contains("uuidString:") }) { readers.append(file) }
        }
        #expect(readers == ["Primitives/UUIDText.swift"])
    }
}
