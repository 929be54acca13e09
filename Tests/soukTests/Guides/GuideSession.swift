import Foundation
import HostTestSupport

/// A reader who runs the blocks of one document in one shell. Ports are replaced by free ones, and folders of the
/// system by temporary ones; nothing else is changed.
final class GuideSession {
    private let guide: Guide
    private let folder: TemporaryFolder
    private var ports: [String: ReservedPort] = [:]
    /// The blocks that are run, or written to a file.
    private(set) var blocks: [GuideBlock] = []

    init(_ guide: Guide) throws {
        self.guide = guide
        folder = try TemporaryFolder()
        blocks = try GuideBlock.all(in: guide.document).filter { block in
            (block.isShell && guide.skippedBlocks[block.firstLine] == nil) || (!block.info.isEmpty && !block.isShell)
        }
    }

    /// The last block that was started.
    var lastPlace: String { (try? folder.text("place")) ?? "its beginning" }

    func printed(by block: GuideBlock) -> String { (try? folder.text("printed-\(block.line)")) ?? "nothing" }

    func run() async throws -> ChildProgram.Outcome {
        let reader = try String(contentsOfFile: TestFiles.repository + "/Tests/Guides/reader.sh", encoding: .utf8)
        var script = try local(reader + guide.folder.entering + guide.preparation + "\n")
        for block in blocks {
            script += "echo \(block.place) > \"$FOLDER/place\"\n"
            if !block.isShell {
                script +=
                    "mkdir -p \"$(dirname \(block.info))\"\ncat > \(block.info) <<'END'\n\(try local(block.text))END\n"
            } else if block.language == "console" {
                let commands = block.text.split(separator: "\n").filter { $0.hasPrefix("$ ") }.map { $0.dropFirst(2) }
                script += try local("{\n\(commands.joined(separator: "\n"))\n} > \"$FOLDER/printed-\(block.line)\"\n")
            } else {
                script += try local(block.text)
            }
        }
        return try await GuideShell.run(
            ["bash", "-euo", "pipefail", try folder.write("session.sh", script)],
            environment: [
                "FOLDER=\(folder.path)", "TMPDIR=\(folder.path)", "REPOSITORY=\(TestFiles.repository)",
                "BUILT=\(URL(fileURLWithPath: SoukExecutable.path()).deletingLastPathComponent().path)",
            ])
    }

    /// `text` with the guide's replacements, and a reserved port for each port in it.
    private func local(_ text: String) throws -> String {
        var text = text
        for (from, to) in guide.replacements { text = text.replacingOccurrences(of: from, with: to) }
        let pattern = try NSRegularExpression(pattern: #"(?<=127\.0\.0\.1:|--port |localhost:)[0-9]{4,5}"#)
        let places = pattern.matches(in: text, range: NSRange(text.startIndex..., in: text))
        for place in places.reversed() {
            guard let range = Range(place.range, in: text) else { continue }
            let port = try ports[String(text[range])] ?? ReservedPort()
            ports[String(text[range])] = port
            text.replaceSubrange(range, with: String(port.number))
        }
        return text
    }

}
