import Foundation
import Primitives
import Testing

/// `souk help`, and suggestions for mistyped names.
@Suite struct HelpTests {
    @Test func `souk help COMMAND prints what souk COMMAND --help prints, for every command, group and action`()
        async throws
    {
        let commands = try await CommandList.commands() + CommandList.actions()
        let groups = Set(commands.filter { $0.count == 2 && $0[0] != "store" }.map { [$0[0]] })
        for words in commands + Array(groups) {
            let help = try await SoukExecutable.run(words + ["--help"])
            let same = try await SoukExecutable.run(["help"] + words)
            #expect(help.status == 0 && help.output.contains("Usage: souk \(words.joined(separator: " "))"))
            #expect(same.status == 0 && same.output == help.output, "\(words): \(same)")
        }
        let overview = try await SoukExecutable.run(["--help"])
        for words in [["help"], ["help", "--help"], ["help", "help"], ["-h"]] {
            let same = try await SoukExecutable.run(words)
            #expect(same.status == 0 && same.output == overview.output)
        }
        let accounts = try await SoukExecutable.run(["help", "store", "account"])
        #expect(accounts.status == 0)
        let listed = CommandList.rows(of: "Actions", in: accounts.output)
        #expect(listed.contains(["account", "create"]) && listed.allSatisfy { $0.first == "account" }, "\(listed)")
    }

    struct Case: Sendable, CustomTestStringConvertible {
        let typed: String
        let sentence: String
        var testDescription: String { typed }
    }

    @Test(arguments: [
        Case(typed: "srve", sentence: #"there is no command "srve". Did you mean "serve"?"#),
        Case(typed: "Simulate", sentence: #"Did you mean "simulate"?"#),
        Case(typed: "scen run x", sentence: #"Did you mean "scenario"?"#),
        Case(typed: "lint x.json", sentence: #"Did you mean "catalog lint", "policy lint" or "har lint"?"#),
        Case(typed: "keys crate", sentence: #"it has create, list, revoke. Did you mean "create"?"#),
        Case(typed: "help keys lst", sentence: #"Did you mean "list"?"#),
        Case(typed: "help sevre", sentence: #"Did you mean "serve"?"#),
        Case(typed: "hlep", sentence: #"Did you mean "help"?"#),
        Case(typed: "--hepl", sentence: #"Did you mean "--help"?"#),
        Case(typed: "store --url http://127.0.0.1:1 byu ada p", sentence: #"Did you mean "buy"?"#),
        Case(typed: "store acount list", sentence: #"Did you mean "account list"?"#),
        Case(typed: "help store acount create", sentence: #"Did you mean "account create"?"#),
        Case(typed: "simulate --catalogue x", sentence: #"has no option --catalogue. Did you mean "--catalog"?"#),
        Case(typed: "serve -port 80", sentence: #"has no option -port. Did you mean "--port"?"#),
        Case(typed: "serve --bundle b", sentence: #"Did you mean "--bundle-id"?"#),
        Case(typed: "store buy a p --quantiy 2", sentence: #"Did you mean "--quantity"?"#),
        Case(typed: "version --jsn", sentence: #"Did you mean "--json"?"#),
    ])
    func `a mistyped name gets a suggestion`(_ example: Case) async throws {
        let outcome = try await SoukExecutable.run(example.typed.split(separator: " ").map(String.init))
        #expect(outcome.status == 2 && outcome.output.isEmpty)
        #expect(outcome.errors.hasSuffix(example.sentence + "\n"), "\(outcome.errors)")
        #expect(outcome.errors.split(separator: "\n").count == 1)
    }

    @Test(arguments: [
        "nonsense", "x", "help nonsense", "keys nonsense", "jws z", "version --colour", "store dance", "serve -q",
        "help version nonsense", "help store nonsense", "bench",
    ])
    func `a name that resembles no other gets no suggestion`(_ typed: String) async throws {
        let outcome = try await SoukExecutable.run(typed.split(separator: " ").map(String.init))
        #expect(outcome.status == 2 && outcome.output.isEmpty)
        #expect(!outcome.errors.contains("Did you mean"), "\(outcome.errors)")
        #expect(outcome.errors.split(separator: "\n").count == 1)
    }

    /// A letter is left out, doubled, or swapped with the letter before.
    @Test func `a typo in the name of any command with more than three letters suggests the command`() async throws {
        for words in try await CommandList.commands() where words[words.count - 1].count > 3 {
            let word = Array(words[words.count - 1])
            let place = word.count / 2
            var (without, twice, swapped) = (word, word, word)
            without.remove(at: place)
            twice.insert(word[place], at: place)
            swapped.swapAt(place - 1, place)
            for slip in [without, twice, swapped] where slip != word {
                let outcome = try await SoukExecutable.run(Array(words.dropLast()) + [String(slip)])
                #expect(outcome.status == 2)
                #expect(
                    outcome.errors.components(separatedBy: "Did you mean").last?.contains("\"\(String(word))\"")
                        == true,
                    "\(words) as \(String(slip)): \(outcome.errors)")
            }
        }
    }
}
