import Foundation
import HostTestSupport
import Testing

@testable import souk

/// `souk man`: the man pages, judged by programs that show them.
@Suite struct ManualTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private static func topic(of name: String) -> [String] { name == "souk" ? [] : [String(name.dropFirst(5))] }

    private func pages() async throws -> [(name: String, file: String, text: String)] {
        let list = try await SoukExecutable.run(["man", "--list"])
        #expect(list.status == 0)
        var pages: [(name: String, file: String, text: String)] = []
        for name in list.output.split(separator: "\n").map(String.init) {
            let page = try await SoukExecutable.run(
                ["man"] + Self.topic(of: name), environment: ["SOURCE_DATE_EPOCH": "1795132800"])
            #expect(page.status == 0 && page.errors.isEmpty, "\(name): \(page.errors)")
            pages.append((name, try folder.write("\(name).1", page.output), page.output))
        }
        return pages
    }

    @Test func `there is a page for every command, with all its options`() async throws {
        let pages = try await pages()
        let commands = try await CommandList.commands()
        #expect(Set(pages.map(\.name)) == Set(commands.map { "souk-\($0[0])" } + ["souk"]))
        for page in pages {
            #expect(page.text.hasPrefix(".Dd November 20, 2026\n.Dt \(page.name.uppercased()) 1\n"), "\(page.name)")
        }
        for command in Souk.commands.flatMap({ [$0] + $0.actions }) {
            let page = try #require(pages.first { $0.name == "souk-\(command.words[0])" })
            for option in command.options where !option.isHidden {
                let name = option.name.replacingOccurrences(of: "-", with: "\\-")
                #expect(page.text.contains(".It Fl \\-\(name)"), "\(command.name) --\(option.name)")
            }
        }
    }

    @Test(.outsideJudge(OutsideJudge.path(of: "mandoc") != nil, "mandoc is not installed"))
    func `mandoc has no warning about any page`() async throws {
        for page in try await pages() {
            let lint = try await OutsideJudge.run(
                try #require(OutsideJudge.path(of: "mandoc")), ["-T", "lint", "-W", "warning", page.file], input: "")
            #expect(lint.status == 0 && lint.output.isEmpty, "\(page.name): \(lint.output)")
        }
        let wrong = try folder.write("wrong.1", ".Dd today\n.Dt WRONG 1\n.Os\n.Sh NAME\n.Bogus\n")
        let lint = try await OutsideJudge.run(
            try #require(OutsideJudge.path(of: "mandoc")), ["-T", "lint", "-W", "warning", wrong], input: "")
        #expect(lint.status != 0)
    }

    /// lintian calls `man` in the same way.
    @Test(.outsideJudge(OutsideJudge.path(of: "man") != nil, "man is not installed"))
    func `man shows every page without a warning`() async throws {
        for page in try await pages() {
            let shown = try await OutsideJudge.run(
                "/usr/bin/env",
                ["MANWIDTH=80", "LC_ALL=C.UTF-8", "man", "--warnings", "-E", "UTF-8", "-l", page.file], input: "")
            #expect(shown.status == 0 && shown.errors.isEmpty, "\(page.name): \(shown.errors)")
            let text = shown.output.replacing(/.\u{8}/, with: "")
            for word in ["NAME", "SYNOPSIS", "DESCRIPTION", "EXIT STATUS", "SEE ALSO"] {
                #expect(text.contains("\n\(word)\n"), "\(page.name): no \(word)")
            }
            #expect(text.contains("\n     \(page.name) — "), "\(page.name)")
        }
        let store = try await OutsideJudge.run(
            "/usr/bin/env", ["MANWIDTH=100", "LC_ALL=C.UTF-8", "man", "-l", folder.file("souk-store.1")], input: "")
        let text = store.output.replacing(/.\u{8}/, with: "")
        #expect(text.contains("buy ACCOUNT PRODUCT") && text.contains("--billing-plan P"), "\(text.prefix(2000))")
    }

    @Test func `the packages install all pages and scripts`() throws {
        let list = try String(contentsOfFile: TestFiles.repository + "/Packaging/files.txt", encoding: .utf8)
        let rows = list.split(separator: "\n").filter { !$0.hasPrefix("#") }.map { row in
            row.split(separator: " ").map(String.init)
        }
        for row in [
            ["man/*.gz", "usr/share/man/man1", "0644"],
            ["completion/bash", "usr/share/bash-completion/completions/souk", "0644"],
            ["completion/zsh", "usr/share/zsh/vendor-completions/_souk", "0644"],
            ["completion/fish", "usr/share/fish/vendor_completions.d/souk.fish", "0644"],
        ] { #expect(rows.contains(row), "\(row)") }
    }

    @Test func `a wrong command and a wrong date are usage errors`() async throws {
        for (arguments, date) in [(["man", "serv"], "1"), (["man", "serve"], "x"), (["man", "a", "b"], "1")] {
            let outcome = try await SoukExecutable.run(arguments, environment: ["SOURCE_DATE_EPOCH": date])
            #expect(outcome.status == 2 && outcome.output.isEmpty)
            #expect(outcome.errors.split(separator: "\n").count == 1, "\(outcome.errors)")
        }
    }
}
