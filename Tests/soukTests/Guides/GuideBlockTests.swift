import Foundation
import HostTestSupport
import Testing

/// Runs the shell blocks of each document in order in one shell, and compares the output with the document. `Guide.all`
/// has the preconditions, and the blocks that are not run.
@Suite struct GuideBlockTests {
    static let documents =
        (try? GuideBlock.documents().filter { try GuideBlock.all(in: $0).contains(where: \.isShell) })
        ?? []

    /// Without outside judges, the guide whose backend uses Apple's library is skipped, because the library is not
    /// installed.
    static let testedDocuments = documents.filter { document in
        ProcessInfo.processInfo.environment["SOUK_JUDGES"] != "skip"
            || document != "Documentation/Guides/TestYourAppStoreBackendInCI.md"
    }

    @Test(arguments: testedDocuments) func `the blocks of a document print what it shows`(_ document: String)
        async throws
    {
        let guide = Guide.of(document)
        let session = try GuideSession(guide)
        let outcome = try await session.run()
        #expect(outcome.status == 0, "\(document) at \(session.lastPlace): \(outcome)")
        for block in session.blocks where block.language == "console" {
            let expected = block.text.split(separator: "\n").filter { !$0.hasPrefix("$ ") }.map(String.init)
            let printed = session.printed(by: block).split(separator: "\n").map(String.init)
            #expect(Self.matches(printed[...], expected[...]), "\(block.place): \(printed)")
        }
    }

    @Test func `the README and the guides have shell blocks`() {
        #expect(Self.documents.contains("README.md") && Self.documents.count > 15)
        #expect(Self.documents.count { $0.hasPrefix("Documentation/Guides/") } > 7)
    }

    @Test func `each listed document and block exists, and each listed block has a reason`() throws {
        for guide in Guide.all {
            #expect(Self.documents.contains(guide.document), "\(guide.document) has no shell block any more")
            let shell = try GuideBlock.all(in: guide.document).filter(\.isShell)
            for (start, reason) in guide.skippedBlocks {
                #expect(shell.count { $0.firstLine == start } == 1, "\(guide.document): no block begins \"\(start)\"")
                #expect(reason.count > 20)
            }
        }
    }

    /// An interactive zsh, the default on a Mac, treats a comment after a command as arguments. These tests only find
    /// commands in blocks with a language.
    @Test func `no shell block has a comment, and no block without a language has a command`() throws {
        for document in try GuideBlock.documents() {
            for block in try GuideBlock.all(in: document) {
                if block.isShell {
                    for line in block.text.split(separator: "\n") where !line.hasPrefix("#!") {
                        #expect(
                            line.range(of: #"(^|\s)# "#, options: .regularExpression) == nil, "\(block.place): \(line)")
                    }
                } else if block.language.isEmpty {
                    let commands = ["$ ", "souk ", "curl ", "swift ", "make ", "cd "]
                    #expect(!commands.contains { block.firstLine.hasPrefix($0) }, "\(block.place): mark it as sh")
                }
            }
        }
    }

    /// `…` matches any number of lines.
    private static func matches(_ shown: ArraySlice<String>, _ expected: ArraySlice<String>) -> Bool {
        guard let first = expected.first else { return shown.isEmpty }
        let rest = expected.dropFirst()
        if first == "…" { return (0...shown.count).contains { matches(shown.dropFirst($0), rest) } }
        return shown.first == first && matches(shown.dropFirst(), rest)
    }
}
