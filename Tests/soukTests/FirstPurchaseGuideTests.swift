import Foundation
import HostTestSupport
import Testing

/// The guide "From zero to the first purchase", followed as it is written.
@Suite struct FirstPurchaseGuideTests {
    /// A fenced block: `info` is what stands behind the language, the name of a file where there is one.
    private struct Block {
        let language: String
        let info: String
        let text: String
    }

    private static let example = TestFiles.repository + "/Examples/FirstPurchase"

    private func blocks() throws -> [Block] {
        let guide = TestFiles.repository + "/Documentation/Guides/FromZeroToTheFirstPurchase.md"
        let text = try String(contentsOfFile: guide, encoding: .utf8)
        return text.components(separatedBy: "\n```").enumerated().compactMap { index, part in
            guard index % 2 == 1, let end = part.firstIndex(of: "\n") else { return nil }
            let words = part[..<end].split(separator: " ", maxSplits: 1).map(String.init)
            return Block(
                language: words.first ?? "", info: words.count == 2 ? words[1] : "",
                text: String(part[part.index(after: end)...]) + "\n")
        }
    }

    @Test func `the guide's code is the example's, whole`() throws {
        let code = try blocks().filter { $0.language.lowercased() == "swift" }
        for block in code {
            // Beside its checkout the reader's app stands elsewhere than the example in it.
            let text = block.text.replacingOccurrences(of: #"path: "../souk""#, with: #"path: "../..""#)
            #expect(try String(contentsOfFile: "\(Self.example)/\(block.info)", encoding: .utf8) == text)
        }
        let files = try FileManager.default.subpathsOfDirectory(atPath: Self.example)
            .filter { $0.hasSuffix(".swift") && !$0.contains(".build/") }
        #expect(files.sorted() == code.map(\.info).sorted())
    }

    @Test func `who follows the guide sees what it shows`() async throws {
        let folder = try TemporaryFolder()
        try FileManager.default.createSymbolicLink(
            atPath: folder.file("souk"), withDestinationPath: TestFiles.repository)
        let (store, server) = (try ReservedPort(), try ReservedPort())
        defer { withExtendedLifetime((store, server)) {} }
        let blocks = try blocks()
        #expect(blocks.contains { $0.language == "sh" } && blocks.contains { $0.language == "console" })
        var script = Self.prologue
        for (index, block) in blocks.enumerated() {
            switch (block.language, block.info) {
            case ("json", let file): script += "cat > \(file) <<'END'\n\(block.text)END\n"
            case ("sh", _): script += block.text
            case ("console", _):
                let commands = block.text.split(separator: "\n").filter { $0.hasPrefix("$ ") }.map { $0.dropFirst(2) }
                script += "{\n\(commands.joined(separator: "\n"))\n} > ../shown-\(index)\n"
            default: continue
            }
        }
        script = script.replacingOccurrences(of: "8081", with: "\(store.number)")
            .replacingOccurrences(of: "8082", with: "\(server.number)")
        let outcome = try await GuideShell.run(
            ["bash", "-euo", "pipefail", try folder.write("guide.sh", script)],
            environment: ["APP=\(SoukExecutable.path("FirstPurchase"))", "FOLDER=\(folder.path)"])
        #expect(outcome.status == 0, "\(outcome)")
        for (index, block) in blocks.enumerated() where block.language == "console" {
            let expected = block.text.split(separator: "\n").filter { !$0.hasPrefix("$ ") }.map(String.init)
            let shown = (try? folder.text("shown-\(index)")) ?? "nothing"
            #expect(Self.matches(shown.split(separator: "\n").map(String.init)[...], expected[...]), "\(shown)")
        }
    }

    /// The app is built already, and nobody is left behind.
    private static let prologue = """
        trap 'kill $(jobs -p) 2> /dev/null || true' EXIT
        swift() {
            [ "$1 $2" = "run Darkroom" ]
            shift 2
            "$APP" "$@"
        }
        cd "$FOLDER"

        """

    /// `…` stands for any lines, also for none.
    private static func matches(_ shown: ArraySlice<String>, _ expected: ArraySlice<String>) -> Bool {
        guard let first = expected.first else { return shown.isEmpty }
        let rest = expected.dropFirst()
        if first == "…" { return (0...shown.count).contains { matches(shown.dropFirst($0), rest) } }
        return shown.first == first && matches(shown.dropFirst(), rest)
    }
}
