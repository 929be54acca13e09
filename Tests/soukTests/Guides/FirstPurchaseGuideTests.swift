import Foundation
import Testing

/// The code of the guide "From zero to the first purchase". `GuideBlockTests` runs its commands.
@Suite struct FirstPurchaseGuideTests {
    private static let example = TestFiles.repository + "/Examples/FirstPurchase"

    @Test func `the code blocks of the guide are the complete code of the example`() throws {
        let code = try GuideBlock.all(in: "Documentation/Guides/FromZeroToTheFirstPurchase.md")
            .filter { $0.language.lowercased() == "swift" }
        for block in code {
            let text = block.text.replacingOccurrences(of: #"path: "../souk""#, with: #"path: "../..""#)
            #expect(try String(contentsOfFile: "\(Self.example)/\(block.info)", encoding: .utf8) == text)
        }
        let files = try FileManager.default.subpathsOfDirectory(atPath: Self.example)
            .filter { $0.hasSuffix(".swift") && !$0.contains(".build/") }
        #expect(files.sorted() == code.map(\.info).sorted())
    }
}
