import Foundation

/// A command of `souk`, with its options and operands. Arguments are parsed with it and the help text is printed from
/// it.
struct Command: Sendable {
    /// The words that select the command, for example `["jws", "verify"]`.
    let words: [String]
    let summary: String
    /// The operands after the words, for example `["FILE|-"]`. A name in brackets is optional, `…` at its end repeats.
    var operands: [String] = []
    var options: [Option] = []
    /// Text that the help prints below the options.
    var details = ""
    /// Subcommands whose further words may be anywhere among the operands (`souk store --url U account list`).
    var actions: [Command] = []
    let run: @Sendable (Arguments) async throws -> ExitStatus

    struct Option: Sendable {
        let name: String
        /// `nil` for a switch.
        var value: String?
        var repeats = false
        let help: String
        /// Not shown in the help, because only another part of Souk uses it.
        var isHidden = false
        /// Whether the option is implemented.
        var isBuilt = true
    }

    var name: String { (["souk"] + words).joined(separator: " ") }

    /// Returns the action that the arguments name, and the arguments without its words. Returns the command itself when
    /// no action is named.
    func chosen(by typed: [String]) -> (command: Command, rest: [String]) {
        guard !actions.isEmpty else { return (self, typed) }
        let places = operandPlaces(in: typed)
        let spoken = places.map { typed[$0] }
        let fitting = actions.filter { spoken.starts(with: $0.words.dropFirst(words.count)) }
        guard let action = fitting.max(by: { $0.words.count < $1.words.count }) else { return (self, typed) }
        let taken = Set(places.prefix(action.words.count - words.count))
        return (action, typed.indices.filter { !taken.contains($0) }.map { typed[$0] })
    }

    /// Returns the indices of operands. An argument after an option that takes a value, in any action, is not an
    /// operand.
    private func operandPlaces(in typed: [String]) -> [Int] {
        let valued = Set((options + actions.flatMap(\.options)).filter { $0.value != nil }.map { "--" + $0.name })
        var places: [Int] = []
        var index = 0
        while index < typed.count {
            if typed[index] == "--" { return places + Array(index + 1..<typed.count) }
            if !typed[index].hasPrefix("-") || typed[index] == "-" { places.append(index) }
            index += valued.contains(typed[index]) ? 2 : 1
        }
        return places
    }

    var help: String {
        let visible = options.filter { !$0.isHidden }
        var text = "\(summary)\n\nUsage: \(name)"
        for operand in operands { text += " \(operand)" }
        if !visible.isEmpty { text += " [options]" }
        text += "\n"
        let rows = visible.map { ("--\($0.name)\($0.value.map { " \($0)" } ?? "")\($0.repeats ? " …" : "")", $0.help) }
        text += Self.table("Options", rows + [("--help", "show this text")])
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

/// The exit status of a command: 0 success, 1 a check failed, 2 misuse or output that cannot be written.
enum ExitStatus: Int32, Sendable {
    case success = 0
    case doesNotHold = 1
    case misuse = 2
    /// The reader of standard output closed it. The process ends as by SIGPIPE; shells report 128 plus the signal's
    /// number.
    case closedPipe = 141
}

/// A command line that cannot work, with one sentence that says what to do. Exit 2.
struct Misuse: Error {
    let sentence: String
    init(_ sentence: String) { self.sentence = sentence }
}

/// A command that failed, with one sentence about the reason. Exit 1.
struct Failure: Error {
    let sentence: String
    init(_ sentence: String) { self.sentence = sentence }
}
