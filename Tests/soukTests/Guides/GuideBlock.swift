import Foundation

/// A fenced block of a Markdown document.
struct GuideBlock: Sendable {
    let document: String
    /// The line of the fence, counted from 1.
    let line: Int
    let language: String
    /// The text after the language: the name of a file for the block, if any.
    let info: String
    /// The text with a line break at its end.
    let text: String

    /// Whether the block has commands, with or without their output.
    var isShell: Bool { ["sh", "bash", "zsh", "shell", "console"].contains(language) }
    var place: String { "\(document):\(line)" }
    var firstLine: String { text.split(separator: "\n").first.map(String.init) ?? "" }

    /// The blocks of a document of the repository, in order.
    static func all(in document: String) throws -> [GuideBlock] {
        let text = try String(contentsOfFile: "\(TestFiles.repository)/\(document)", encoding: .utf8)
        var blocks: [GuideBlock] = []
        var open: (line: Int, info: String, text: String)?
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let content = line.drop { $0 == " " }
            if let block = open {
                guard content.trimmingCharacters(in: .whitespaces) == "```" else {
                    open?.text += line + "\n"
                    continue
                }
                let words = block.info.split(separator: " ", maxSplits: 1).map(String.init)
                blocks.append(
                    GuideBlock(
                        document: document, line: block.line, language: words.first ?? "",
                        info: words.count == 2 ? words[1] : "", text: block.text))
                open = nil
            } else if content.hasPrefix("```") {
                open = (index + 1, content.dropFirst(3).trimmingCharacters(in: .whitespaces), "")
            }
        }
        return blocks
    }

    /// The Markdown documents in the root of the repository, except the changelog, and in `Documentation`.
    static func documents() throws -> [String] {
        let chapters = try FileManager.default.subpathsOfDirectory(atPath: TestFiles.repository + "/Documentation")
        let root = try FileManager.default.contentsOfDirectory(atPath: TestFiles.repository)
        return (root.filter { $0 != "CHANGELOG.md" } + chapters.map { "Documentation/" + $0 })
            .filter { $0.hasSuffix(".md") }.sorted()
    }
}
