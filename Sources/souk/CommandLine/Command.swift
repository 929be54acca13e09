import Foundation

/// A command of `souk`, with its options and operands. This description is used to parse the arguments and to print the
/// help.
struct Command: Sendable {
    /// The words that select the command, for example `["jws", "verify"]`.
    let words: [String]
    let summary: String
    /// The operands after the words, for example `["FILE|-"]`. A name in brackets is optional. A name that ends with
    /// `…` can be repeated.
    var operands: [String] = []
    /// The words among which the first operand is chosen, if they are not in `operands`. Shells offer them.
    var operandChoices: [String] = []
    var options: [Option] = []
    /// Text below the options in the help.
    var details = ""
    /// Subcommands. Options may precede their words: `souk store --url U account list`.
    var actions: [Command] = []
    let run: @Sendable (Arguments) async throws -> ExitStatus

    struct Option: Sendable {
        let name: String
        /// The placeholder of the value in the help, for example `FILE`; `nil` for an option without a value.
        var value: String?
        var repeats = false
        let help: String
        /// The words among which the value is chosen, if they are not in `value`. Shells offer them.
        var choices: [String] = []
        /// Whether the help omits the option. It still works: for another part of Souk, or for a script that uses two
        /// commands alike.
        var isHidden = false
    }

    var name: String { (["souk"] + words).joined(separator: " ") }

    /// Returns the action whose words are the first operands, and the arguments without these words. If there is none,
    /// returns the command itself and all arguments.
    func chosen(by typed: [String]) -> (command: Command, rest: [String]) {
        guard !actions.isEmpty else { return (self, typed) }
        let indices = operandIndices(in: typed)
        let typedWords = indices.map { typed[$0] }
        let matching = actions.filter { typedWords.starts(with: $0.words.dropFirst(words.count)) }
        guard let action = matching.max(by: { $0.words.count < $1.words.count }) else { return (self, typed) }
        let used = Set(indices.prefix(action.words.count - words.count))
        return (action, typed.indices.filter { !used.contains($0) }.map { typed[$0] })
    }

    /// Returns the indices of operands. The argument after an option that takes a value is not an operand. This is also
    /// true for the options of actions.
    private func operandIndices(in typed: [String]) -> [Int] {
        let valued = Set((options + actions.flatMap(\.options)).filter { $0.value != nil }.map { "--" + $0.name })
        var indices: [Int] = []
        var index = 0
        while index < typed.count {
            if typed[index] == "--" { return indices + Array(index + 1..<typed.count) }
            if !typed[index].hasPrefix("-") || typed[index] == "-" { indices.append(index) }
            index += valued.contains(typed[index]) ? 2 : 1
        }
        return indices
    }

    var help: String {
        let visible = options.filter { !$0.isHidden }
        var text = "\(summary)\n\nUsage: \(name)"
        for operand in operands { text += " \(operand)" }
        if !visible.isEmpty { text += " [options]" }
        text += "\n"
        let rows = visible.map { ("--\($0.name)\($0.value.map { " \($0)" } ?? "")\($0.repeats ? " …" : "")", $0.help) }
        text += Self.table("Options", rows + [("--help", "show this text")])
        if !actions.isEmpty { text += Self.table("Actions", actions.map { ($0.usage, $0.summary) }) }
        if !details.isEmpty { text += "\n\(details)\n" }
        return text
    }

    /// Formats two columns under a title.
    static func table(_ title: String, _ rows: [(String, String)]) -> String {
        let width = rows.map(\.0.count).max() ?? 0
        return rows.reduce("\n\(title):\n") { text, row in
            text + "  \(row.0.padding(toLength: width, withPad: " ", startingAt: 0))  \(row.1)\n"
        }
    }
}

/// The exit status of a command. 2 is for errors of the user, and for output that cannot be written.
enum ExitStatus: Int32, Sendable {
    case success = 0
    case failure = 1
    case usageError = 2
    // The process ends itself with a signal; shells report this as 128 plus the number of the signal.
    /// The terminal was closed before the command was done.
    case hungUp = 129
    /// Ctrl-C was pressed before the command was done.
    case interrupted = 130
    /// The reader of standard output closed it.
    case closedPipe = 141
    /// The process was asked to end before the command was done.
    case terminated = 143

    /// The signal with which the process ends itself; `nil` if it exits.
    var signal: Int32? { rawValue > 128 ? rawValue - 128 : nil }
}

/// An error that the user can correct, for example in the command line or in a named file, with one sentence that says
/// what to do. The exit status is 2.
struct UsageError: Error {
    let sentence: String
    init(_ sentence: String) { self.sentence = sentence }
}

/// The failure of a command, with one sentence about the reason. The exit status is 1.
struct Failure: Error {
    let sentence: String
    init(_ sentence: String) { self.sentence = sentence }
}
