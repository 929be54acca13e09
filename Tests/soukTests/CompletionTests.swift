import Foundation
import HostTestSupport
import Primitives
import Testing

@testable import souk

/// `souk completion`: real shells complete the words, options and values of the program.
@Suite struct CompletionTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder.file("datafolder"), withIntermediateDirectories: false)
        for name in ["datafile", "ledger.sqlite", "my list.json"] { _ = try folder.write(name, "") }
    }

    private func script(of shell: String) async throws -> String {
        let outcome = try await SoukExecutable.run(["completion", shell])
        #expect(outcome.status == 0 && outcome.errors.isEmpty, "\(outcome)")
        return try folder.write(".script.\(shell)", outcome.output)
    }

    /// Lines, and what the tab key makes of them.
    private static let lines = [
        ("souk simu", "souk simulate "), ("souk keys cr", "souk keys create "),
        ("souk help migr", "souk help migrate "),
        ("souk help keys rev", "souk help keys revoke "), ("souk --vers", "souk --version "),
        ("souk keys create --ki", "souk keys create --kind "),
        ("souk keys create --kind pu", "souk keys create --kind public "),
        ("souk keys create --kind=pu", "souk keys create --kind=public "),
        ("souk keys create --label cr --ki", "souk keys create --label cr --kind "),
        ("souk --url", "souk --url"), ("souk keys create --nonsense", "souk keys create --nonsense"),
        ("souk keys --kind se", "souk keys --kind se"), ("souk help keys create --ki", "souk help keys create --ki"),
        ("souk store --url http://127.0.0.1:80 account cre", "souk store --url http://127.0.0.1:80 account create "),
        ("souk store account --jso", "souk store account --json "),
        ("souk store buy ada p --billing-plan=mo", "souk store buy ada p --billing-plan=monthly "),
        ("souk store settings set gracePer", "souk store settings set gracePeriod "),
        ("souk store settings set x gracePer", "souk store settings set x gracePer"),
        ("souk store account set ada --payments of", "souk store account set ada --payments off "),
        ("souk figures ver", "souk figures verify "), ("souk figures mrr --by mo", "souk figures mrr --by month "),
        ("souk figures active-tr", "souk figures active-trials "),
        ("souk hub graph --format asy", "souk hub graph --format asyncapi "),
        ("souk completion z", "souk completion zsh "), ("souk man serv", "souk man serve "),
        ("souk catalog lint ledg", "souk catalog lint ledger.sqlite "),
        ("souk catalog lint -- ledg", "souk catalog lint -- ledger.sqlite "),
        ("souk keys create --out ledg", "souk keys create --out ledger.sqlite "),
        ("souk keys create --out=ledg", "souk keys create --out=ledger.sqlite "),
        ("souk keys list --database sql", "souk keys list --database sqlite:"),
        ("souk keys list --database sqlite:led", "souk keys list --database sqlite:ledger.sqlite "),
        ("souk backup --database=sqlite:led", "souk backup --database=sqlite:ledger.sqlite "),
        ("souk simulate --data data", "souk simulate --data datafolder/"),
    ]

    private func judge(_ shell: String) async throws {
        let lines =
            Self.lines + (shell == "fish" ? [] : [("souk catalog lint my", #"souk catalog lint my\ list.json "#)])
        let outcome = try await OutsideJudge.judge(
            "shell_completion.py",
            [
                "shell": .string(shell), "script": .string(try await script(of: shell)),
                "folder": .string(folder.path), "lines": .array(lines.map { .string($0.0) }),
            ])
        let completed = try #require(outcome.json?.arrayValue?.map(\.stringValue), "\(outcome)")
        #expect(completed.count == lines.count)
        for ((typed, expected), line) in zip(lines, completed) {
            // fish adds a space after the beginning of a value.
            let expected = shell == "fish" && expected.hasSuffix(":") ? expected + " " : expected
            #expect(line == expected, "\(shell) makes \(line ?? "nothing") of \(typed)")
        }
    }

    @Test(.outsideJudge(OutsideJudge.path(of: "bash") != nil, "bash is not installed"))
    func `bash completes a line`() async throws { try await judge("bash") }

    @Test(.outsideJudge(OutsideJudge.path(of: "zsh") != nil, "zsh is not installed"))
    func `zsh completes a line`() async throws { try await judge("zsh") }

    @Test(.outsideJudge(OutsideJudge.path(of: "fish") != nil, "fish is not installed"))
    func `fish completes a line`() async throws { try await judge("fish") }

    /// Bash calls the function for every beginning of a command.
    @Test(.outsideJudge(OutsideJudge.path(of: "bash") != nil, "bash is not installed"))
    func `bash offers every command, action and option, and nothing else`() async throws {
        let tree = CompletionTree(Souk.commands)
        #expect(tree.nodes.count > 100)
        var lines: [(typed: String, expected: Set<String>)] = []
        for node in tree.nodes {
            let line = (["souk"] + node.path).joined(separator: " ") + " "
            if case .words(let more) = node.operands {
                lines.append((line, Set(node.words.map(\.name) + more)))
            } else if !node.words.isEmpty {
                lines.append((line, Set(node.words.map(\.name))))
            }
            lines.append((line + "--", Set(node.options.map { "--\($0.name)" })))
        }
        let driver = """
            source "$1"
            while IFS= read -r COMP_LINE; do
                COMP_POINT=${#COMP_LINE}
                _souk
                echo "${COMPREPLY[*]}"
            done
            """
        let outcome = try await OutsideJudge.run(
            try #require(OutsideJudge.path(of: "bash")), ["-c", driver, "bash", try await script(of: "bash")],
            input: lines.map { $0.typed + "\n" }.joined())
        let offered = outcome.output.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(outcome.status == 0 && offered.count == lines.count + 1, "\(outcome.errors)")
        for (line, words) in zip(lines, offered) {
            #expect(Set(words.split(separator: " ").map(String.init)) == line.expected, "\(line.typed)")
        }
    }

    @Test func `the words that a shell offers for a value are those that the help lists`() {
        for command in Souk.commands.flatMap({ [$0] + $0.actions }) {
            for option in command.options where !option.isHidden {
                let text = "\(option.help) \(option.value ?? "")"
                for choice in option.choices {
                    #expect(text.contains(choice), "\(command.name) --\(option.name): the help lacks \(choice)")
                }
                #expect(option.choices.isEmpty || option.value != nil)
            }
        }
    }

    /// The scripts skip the word after an option with a value before they know the command.
    @Test func `an option that has a value in one command has one in every command`() {
        let options = Souk.commands.flatMap { [$0] + $0.actions }.flatMap(\.options)
        let valued = Set(options.filter { $0.value != nil }.map(\.name))
        for option in options where option.value == nil { #expect(!valued.contains(option.name), "--\(option.name)") }
    }

    @Test func `another shell is a usage error`() async throws {
        for arguments in [["completion"], ["completion", "tcsh"], ["completion", "bash", "zsh"]] {
            let outcome = try await SoukExecutable.run(arguments)
            #expect(outcome.status == 2 && outcome.output.isEmpty)
            #expect(outcome.errors.split(separator: "\n").count == 1, "\(outcome.errors)")
        }
    }
}
