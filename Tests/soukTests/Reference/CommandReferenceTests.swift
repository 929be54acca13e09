import Foundation
import Testing

/// `Documentation/Reference/Commands.md` has every command of the program.
@Suite(.serialized) struct CommandReferenceTests {
    /// A command with a section of its own, and the help that it prints.
    private struct Entry {
        let name: String
        let help: [String]
        var isAction: Bool { name.hasPrefix("souk store ") }

        /// The names of options, such as `--json`.
        var options: Set<String> {
            Set(help.filter { $0.hasPrefix("  --") }.compactMap { $0.split(separator: " ").first.map(String.init) })
        }
    }

    private static func entry(_ words: [String]) async throws -> Entry {
        let outcome = try await SoukExecutable.run(words + ["--help"])
        #expect(outcome.status == 0, "souk \(words.joined(separator: " ")) --help ends with \(outcome.status)")
        let help = outcome.output.trimmingCharacters(in: .newlines).components(separatedBy: "\n")
        return Entry(name: (["souk"] + words).joined(separator: " "), help: help)
    }

    /// All commands, and the actions of `souk store` that have options of their own.
    private static func entries() async throws -> [Entry] {
        var entries: [Entry] = []
        for words in try await CommandList.commands() { entries.append(try await entry(words)) }
        let common = try #require(entries.first { $0.name == "souk store" }).options
        for words in try await CommandList.actions() {
            let action = try await entry(words)
            if !action.options.subtracting(common).isEmpty { entries.append(action) }
        }
        return entries
    }

    @Test func `the page has the help of every command, and of no other`() async throws {
        var page = try ReferencePage("Commands.md")
        let entries = try await Self.entries()
        #expect(entries.count > 40)
        page.compareBlock(of: "All commands", with: try await Self.entry([]).help)
        for entry in entries { page.compareBlock(of: entry.name, with: entry.help) }
        let names = Set(entries.map(\.name))
        for title in page.headings where title.hasPrefix("souk ") && !names.contains(title) {
            page.report("the section \"\(title)\" is of no command, or of an action without options of its own")
        }
        try page.conclude()
    }

    @Test
    func `the section of each command has its output and exit status, and names no option that the command lacks`()
        async throws
    {
        var page = try ReferencePage("Commands.md")
        for entry in try await Self.entries() {
            guard let prose = page.prose(of: entry.name) else { continue }
            for part in ["**Prints**", "**Exits**"]
            where !entry.isAction && !prose.contains(where: { $0.hasPrefix(part) }) {
                page.report("\(entry.name): a paragraph that begins with \(part) is missing")
            }
            // Code spans are every second part between the marks.
            let spans = prose.flatMap { $0.components(separatedBy: "`").enumerated().filter { $0.offset % 2 == 1 } }
            for span in spans.map(\.element) where span.hasPrefix("--") {
                let option = String(span.prefix { $0 != " " && $0 != "=" })
                guard !entry.options.contains(option) else { continue }
                page.report("\(entry.name): the prose names \(option), which is no option of this command")
            }
        }
        try page.conclude()
    }
}
