/// The words that a shell offers after each beginning of a command line, from the table of commands.
struct CompletionTree: Sendable {
    /// The candidates that a shell offers for a value or an operand.
    enum Values: Hashable, Sendable {
        case nothing, files, folders
        /// A ledger: `sqlite:` and a file, or the beginning of a PostgreSQL URL.
        case ledger
        case words([String])
    }

    /// The candidates after the words of a path, such as `keys create`.
    struct Node: Sendable {
        /// The words that lead here. Empty at the root.
        let path: [String]
        /// The words that can follow, with a summary.
        let words: [(name: String, summary: String)]
        let options: [Command.Option]
        let operands: Values

        /// The path as the scripts compare it.
        var name: String { path.joined(separator: " ") }
    }

    let nodes: [Node]

    init(_ table: [Command]) {
        let commands = table.flatMap { [$0] + $0.actions }
        var paths: [[String]] = [[]]
        for command in commands {
            for length in 1...command.words.count {
                let path = Array(command.words.prefix(length))
                if !paths.contains(path) { paths.append(path) }
            }
        }
        nodes = paths.map { path in
            let words = paths.filter { $0.count == path.count + 1 && $0.starts(with: path) }.map { next in
                (name: next[path.count], summary: Self.summary(of: next, in: commands))
            }
            guard !path.isEmpty else {
                let options = [Self.help, Command.Option(name: "version", help: "print the version")]
                return Node(
                    path: path, words: words + [("help", "Show the help of a command")], options: options,
                    operands: .nothing)
            }
            let command = commands.first { $0.words == path }
            // The options of `souk store` may precede `list` in `souk store account list`.
            let nearest = command ?? commands.last { !$0.actions.isEmpty && path.starts(with: $0.words) }
            let topics = Values.words(Self.unique(table.map { $0.words[0] }))
            return Node(
                path: path, words: words, options: (nearest?.options.filter { !$0.isHidden } ?? []) + [Self.help],
                operands: command.map { $0.operands == ["[COMMAND]"] ? topics : Values(operandOf: $0) } ?? .nothing)
        }
    }

    private static let help = Command.Option(name: "help", help: "show the help")

    /// The summary of a command, or the words that continue a path.
    private static func summary(of path: [String], in commands: [Command]) -> String {
        if let command = commands.first(where: { $0.words == path }) { return command.summary }
        var next: [String] = []
        for command in commands where command.words.starts(with: path) && !next.contains(command.words[path.count]) {
            next.append(command.words[path.count])
        }
        return next.joined(separator: ", ")
    }

    /// The names of all options with a value. No option has a value in one command and none in another.
    var valuedOptions: [String] {
        Self.unique(nodes.flatMap(\.options).filter { $0.value != nil }.map { "--\($0.name)" })
    }

    /// The options with values that a shell can offer, grouped by these values: the keys are such as `keys create --out`.
    var valuesOfOptions: [(keys: [String], values: Values)] {
        grouped(nodes.flatMap { node in node.options.map { ("\(node.name) --\($0.name)", Values(of: $0)) } })
    }

    /// The paths with operands that a shell can offer, grouped by these.
    var valuesOfOperands: [(keys: [String], values: Values)] { grouped(nodes.map { ($0.name, $0.operands) }) }

    private func grouped(_ all: [(key: String, values: Values)]) -> [(keys: [String], values: Values)] {
        Self.unique(all.map(\.values)).filter { $0 != .nothing }.map { values in
            (all.filter { $0.values == values }.map(\.key), values)
        }
    }

    private static func unique<Element: Hashable>(_ elements: [Element]) -> [Element] {
        var seen: Set<Element> = []
        return elements.filter { seen.insert($0).inserted }
    }
}

extension CompletionTree.Values {
    init(of option: Command.Option) {
        guard let placeholder = option.value else {
            self = .nothing
            return
        }
        if option.name == LedgerLocation.option.name || option.value == LedgerFile.option.value {
            self = .ledger
        } else {
            self = option.choices.isEmpty ? Self(placeholder: placeholder) : .words(option.choices)
        }
    }

    init(operandOf command: Command) {
        guard command.operandChoices.isEmpty else {
            self = .words(command.operandChoices)
            return
        }
        self = command.operands.map(Self.init(placeholder:)).first { $0 != .nothing } ?? .nothing
    }

    /// Recognizes `on|off`, `FILE`, `FILE|-`, `F.storekit`, `DIR` and the like.
    private init(placeholder: String) {
        let parts = placeholder.split(separator: "|").map(String.init)
        let names = parts.flatMap { $0.split { !$0.isLetter }.map(String.init) }
        if parts.count > 1, !placeholder.contains(where: \.isUppercase) {
            self = .words(parts)
        } else if names.contains(where: { ["FILE", "PATH", "F", "OUT"].contains($0) }) {
            self = .files
        } else if names.contains(where: { ["DIR", "FOLDER"].contains($0) }) {
            self = .folders
        } else {
            self = .nothing
        }
    }
}
