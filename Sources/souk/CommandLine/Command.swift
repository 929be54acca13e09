import Foundation

/// One command of `souk`: what it is called, what it takes, what it does. The same value parses and prints the help.
struct Command: Sendable {
    /// The words that choose it, for example `["jws", "verify"]`.
    let words: [String]
    let summary: String
    /// What stands after the words, for example `["FILE|-"]`; a name in brackets is optional, `…` at its end repeats.
    var operands: [String] = []
    var options: [Option] = []
    /// More to read below the options.
    var details = ""
    /// Narrower commands whose further words may stand anywhere among the operands (`souk store --url U account list`).
    var actions: [Command] = []
    let run: @Sendable (Arguments) async throws -> ExitStatus

    struct Option: Sendable {
        let name: String
        /// `nil` for a switch.
        var value: String?
        var repeats = false
        let help: String
        /// Not shown in the help: for one part of Souk starting another.
        var isHidden = false
        /// Whether there is anything behind it yet.
        var isBuilt = true
    }

    var name: String { (["souk"] + words).joined(separator: " ") }

    /// The action that was typed and what was typed beside its words; the command itself where none was.
    func chosen(by typed: [String]) -> (command: Command, rest: [String]) {
        guard !actions.isEmpty else { return (self, typed) }
        let places = operandPlaces(in: typed)
        let spoken = places.map { typed[$0] }
        let fitting = actions.filter { spoken.starts(with: $0.words.dropFirst(words.count)) }
        guard let action = fitting.max(by: { $0.words.count < $1.words.count }) else { return (self, typed) }
        let taken = Set(places.prefix(action.words.count - words.count))
        return (action, typed.indices.filter { !taken.contains($0) }.map { typed[$0] })
    }

    /// Where operands stand, as far as the options of all actions tell them from values.
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

    /// Two columns under a title.
    static func table(_ title: String, _ rows: [(String, String)]) -> String {
        let width = rows.map(\.0.count).max() ?? 0
        return rows.reduce("\n\(title):\n") { text, row in
            text + "  \(row.0.padding(toLength: width, withPad: " ", startingAt: 0))  \(row.1)\n"
        }
    }
}

/// How a command ended: 0 held, 1 the thing asked about does not hold, 2 misuse or output that cannot be written.
enum ExitStatus: Int32, Sendable {
    case success = 0
    case doesNotHold = 1
    case misuse = 2
    /// The reader of its output has left: the process ends as by SIGPIPE, for which shells say 128 and its number.
    case closedPipe = 141
}

/// The command was called in a way that cannot work; one sentence that says what to do. Exit 2.
struct Misuse: Error {
    let sentence: String
    init(_ sentence: String) { self.sentence = sentence }
}

/// The command could not do its work; one sentence. Exit 1.
struct Failure: Error {
    let sentence: String
    init(_ sentence: String) { self.sentence = sentence }
}
