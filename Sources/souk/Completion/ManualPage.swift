import Foundation

/// The man pages of `souk`, in mdoc: `souk(1)`, and one for each first word of a command, such as `souk-keys(1)`.
struct ManualPage: Sendable {
    /// All pages: their names, such as `souk-keys`, in alphabetical order.
    static let names: [String] = ["souk"] + topics.map { "souk-\($0)" }.sorted()

    /// The first words of the commands.
    static let topics: [String] = Souk.commands.reduce(into: []) { topics, command in
        if !topics.contains(command.words[0]) { topics.append(command.words[0]) }
    }

    /// The text of the page.
    let text: String

    /// Creates a page.
    ///
    /// - Parameters:
    ///   - topic: The first word of the commands; `nil` for `souk(1)`.
    ///   - date: The date of the page.
    init(of topic: String?, at date: Date) {
        var page = Roff()
        let name = topic.map { "souk-\($0)" } ?? "souk"
        let commands = topic.map { topic in Souk.commands.filter { $0.words[0] == topic } } ?? []
        page.macro("Dd", Self.text(of: date))
        page.macro("Dt", name.uppercased(), "1")
        page.macro("Os", "Souk")
        page.macro("Sh", "NAME")
        page.macro("Nm", name)
        page.macro("Nd", Self.summary(of: topic, commands))
        page.macro("Sh", "SYNOPSIS")
        if topic == nil {
            page.synopsis("souk", operands: ["COMMAND"])
        } else {
            for command in commands { page.synopsis(command.name, operands: command.operands) }
        }
        page.macro("Sh", "DESCRIPTION")
        if topic == nil {
            Self.describeCommands(on: &page)
        } else {
            for command in commands {
                if commands.count > 1 { page.macro("Ss", command.name) }
                Self.describe(command, on: &page)
            }
        }
        page.macro("Sh", "EXIT STATUS")
        page.list(Self.exitStatuses)
        page.macro("Sh", "SEE ALSO")
        page.references(Self.names.filter { $0 != name && (topic == nil || $0 == "souk") })
        text = page.text
    }

    private static func summary(of topic: String?, _ commands: [Command]) -> String {
        guard topic != nil else { return "the in-app purchase stack a team can run itself" }
        guard commands.count > 1 else { return lowercased(commands[0].summary) }
        if let own = commands.first(where: { $0.words.count == 1 }) { return lowercased(own.summary) }
        let words = commands.map { $0.words.dropFirst().joined(separator: " ") }
        let list = words.dropLast().joined(separator: ", ") + " and " + words[words.count - 1]
        return "the commands \(list)"
    }

    /// Returns a summary as a part of a sentence. An abbreviation such as JWS keeps its capitals.
    private static func lowercased(_ summary: String) -> String {
        guard summary.dropFirst().first?.isLowercase == true else { return summary }
        return summary.prefix(1).lowercased() + summary.dropFirst()
    }

    private static func describeCommands(on page: inout Roff) {
        page.paragraph(
            """
            Souk verifies the signed transactions of app stores, and answers which features each customer may use.
            The same program simulates an App Store for tests.
            Start with:
              souk demo

            Each command has --help, and a page that is named after its first word.
            The commands are:
            """)
        page.list(
            Souk.commands.map { ($0.words.joined(separator: " "), nil, "\($0.summary).") })
    }

    private static func describe(_ command: Command, on page: inout Roff) {
        page.paragraph(command.summary + ".")
        page.options(command.options)
        if !command.details.isEmpty {
            page.macro("Pp")
            page.paragraph(command.details)
        }
        if !command.actions.isEmpty {
            page.macro("Pp")
            page.paragraph("The actions, with the options that only they have:")
        }
        let common = Set(command.options.map(\.name))
        for action in command.actions {
            page.macro("Ss", action.usage)
            page.paragraph(action.summary + ".")
            page.options(action.options.filter { !common.contains($0.name) })
        }
    }

    private static let exitStatuses: [(term: String, value: String?, text: String)] = [
        ("0", nil, "The command did what was asked."),
        ("1", nil, "A file has an error, data is not accepted, or a check failed."),
        ("2", nil, "Misuse, or output cannot be written. One sentence on standard error says what to do."),
        ("130, 143", nil, "SIGINT or SIGTERM ended the command before it was done."),
        ("141", nil, "The reader of standard output has closed it."),
    ]

    /// Returns a date as mdoc writes it, such as `November 20, 2026`.
    private static func text(of date: Date) -> String {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        let parts = calendar.dateComponents([.year, .month, .day], from: date)
        let months = [
            "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
            "November", "December",
        ]
        return "\(months[(parts.month ?? 1) - 1]) \(parts.day ?? 1), \(parts.year ?? 1970)"
    }
}

/// A text in the language of roff, with the macros of mdoc.
private struct Roff {
    private(set) var text = ""

    /// Appends a macro with its arguments. An argument with spaces is several words.
    mutating func macro(_ name: String, _ arguments: String...) {
        text += ([".\(name)"] + arguments.map(Self.argument)).joined(separator: " ") + "\n"
    }

    /// Appends lines of text. Indented lines keep their line ends.
    mutating func paragraph(_ lines: String) {
        var (isLiteral, isSeparate) = (false, false)
        for line in lines.split(separator: "\n", omittingEmptySubsequences: false) {
            guard !line.isEmpty else {
                isSeparate = true
                continue
            }
            if line.hasPrefix("  ") {
                if !isLiteral { text += ".Bd -literal -offset indent\n" }
                isLiteral = true
                text += Self.line(line.dropFirst(2)) + "\n"
                continue
            }
            if isLiteral { text += ".Ed\n" }
            if isLiteral || isSeparate { text += ".Pp\n" }
            (isLiteral, isSeparate) = (false, false)
            // A sentence ends at a line end, so that programs can add space after it.
            for sentence in line.replacing(/([.?!]) +/, with: { "\($0.output.1)\n" }).split(separator: "\n") {
                text += Self.line(sentence) + "\n"
            }
        }
        if isLiteral { text += ".Ed\n" }
    }

    /// Appends the synopsis of a command.
    mutating func synopsis(_ name: String, operands: [String]) {
        macro("Nm", name)
        for operand in operands {
            let name = operand.filter { $0 != "[" && $0 != "]" }
            text += name == operand ? ".Ar" : ".Op Ar"
            text += " \(Self.argument(name))\n"
        }
        text += ".Op Ar options\n"
    }

    /// Appends a list of options; nothing for none.
    mutating func options(_ options: [Command.Option]) {
        list(options.filter { !$0.isHidden }.map { ("--\($0.name)", $0.value, $0.help) })
    }

    /// Appends a list of terms, each with a placeholder and a description.
    mutating func list(_ rows: [(term: String, value: String?, text: String)]) {
        guard !rows.isEmpty else { return }
        text += ".Bl -tag -width Ds\n"
        for row in rows {
            // The macro adds the first hyphen.
            let name =
                row.term.hasPrefix("--") ? "Fl \(Self.line(row.term.dropFirst()))" : "Ic \(Self.argument(row.term))"
            text += ".It \(name)\(row.value.map { " Ar \(Self.argument($0))" } ?? "")\n"
            paragraph(row.text)
        }
        text += ".El\n"
    }

    /// Appends references to other pages.
    mutating func references(_ names: [String]) {
        for name in names { text += ".Xr \(name) 1\(name == names.last ? "" : " ,")\n" }
    }

    /// Escapes a line of text. A point or an apostrophe at its beginning would be a macro.
    private static func line(_ line: some StringProtocol) -> String {
        let text = line.replacingOccurrences(of: "\\", with: "\\e").replacingOccurrences(of: "-", with: "\\-")
        return text.hasPrefix(".") || text.hasPrefix("'") ? "\\&" + text : text
    }

    /// Escapes the argument of a macro. Short words can be names of macros, and punctuation has a meaning.
    private static func argument(_ argument: String) -> String {
        argument.split(separator: " ").map { word in
            let text = word.replacingOccurrences(of: "\\", with: "\\e").replacingOccurrences(of: "\"", with: "\\(dq")
            let isPlain =
                word.contains { $0.isLetter || $0.isNumber } && !(word.count <= 3 && word.allSatisfy(\.isLetter))
            return isPlain && !text.hasPrefix("'") ? text : "\\&" + text
        }.joined(separator: " ")
    }
}
