import Foundation
import StoreModel
import Testing

@Suite struct CustomerSentencesTests {
    @Test func `every key begins with souk.error, and no sentence has a word for developers`() {
        #expect(CustomerSentences.english.count > 30)
        for (key, sentence) in CustomerSentences.english {
            #expect(key.hasPrefix("souk.error."))
            #expect(sentence.hasSuffix("."))
            for word in ["plugin", "setup", "(", "code:", "null", "nil"] { #expect(!sentence.contains(word), "\(key)") }
        }
        #expect(CustomerSentences.key(for: "unreachable") == "souk.error.unreachable")
    }

    @Test func `a sentence comes from the app, otherwise from the English table, otherwise there is none`() {
        let before = CustomerSentences.lookUp
        defer { CustomerSentences.lookUp = before }
        CustomerSentences.lookUp = { $0 == "souk.error.timedOut" ? "Keine Antwort." : nil }
        #expect(CustomerSentences.sentence(for: "timedOut") == "Keine Antwort.")
        #expect(
            CustomerSentences.sentence(for: "unreachable") == CustomerSentences.english["souk.error.unreachable"])
        #expect(CustomerSentences.sentence(for: "kioskClosed") == nil)
        CustomerSentences.lookUp = { $0 == "souk.error.kioskClosed" ? "Der Kiosk ist zu." : nil }
        #expect(CustomerSentences.sentence(for: "kioskClosed") == "Der Kiosk ist zu.")
    }

    @Test func `the strings of a bundle are used if it has them`() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("strings-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let language = folder.appendingPathComponent("en.lproj")
        try FileManager.default.createDirectory(at: language, withIntermediateDirectories: true)
        for (table, sentence) in [("Localizable", "No network."), ("Errors", "No network at all.")] {
            try Data("\"souk.error.unreachable\" = \"\(sentence)\";\n\"souk.error.timedOut\" = \"\";\n".utf8)
                .write(to: language.appendingPathComponent("\(table).strings"))
        }
        let bundle = try #require(Bundle(path: folder.path))
        #expect(CustomerSentences.strings(of: bundle)("souk.error.unreachable") == "No network.")
        #expect(
            CustomerSentences.strings(of: bundle, table: "Errors")("souk.error.unreachable") == "No network at all.")
        #expect(CustomerSentences.strings(of: bundle)("souk.error.rateLimited") == nil)
        #expect(CustomerSentences.strings(of: bundle)("souk.error.timedOut") == nil)
        #expect(CustomerSentences.strings(of: bundle, table: "None")("souk.error.unreachable") == nil)
    }
}
