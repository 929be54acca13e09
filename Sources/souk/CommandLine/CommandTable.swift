/// Finds commands by their words, and composes the help texts.
struct CommandTable {
    let commands: [Command]
    /// Names of commands that are planned but not implemented.
    let notImplemented: Set<String>

    /// The result of looking up words.
    enum Topic {
        case overview
        /// Several commands with the same first word.
        case group(String, [Command])
        /// One command, and the arguments after its words.
        case command(Command, rest: [String])
    }

    static func isHelp(_ word: String) -> Bool { word == "--help" || word == "-h" }

    /// Looks up words. Throws `UsageError` when there is no such command, with a suggestion if a name is similar.
    func topic(_ words: [String]) throws -> Topic {
        guard let first = words.first, !Self.isHelp(first) else { return .overview }
        if let general = commands.first(where: { words.starts(with: $0.words) }) {
            let (command, rest) = general.chosen(by: Array(words.dropFirst(general.words.count)))
            return .command(command, rest: rest)
        }
        let group = commands.filter { $0.words.first == first }
        guard !group.isEmpty else { throw unknown(first) }
        guard words.count > 1, !Self.isHelp(words[1]) else { return .group(first, group) }
        let names = group.map { $0.words[1] }
        let suggestion = Suggestion.sentence(for: words[1], among: names).map { ". \($0)" } ?? ""
        throw UsageError(
            "\(first) has no command \(words[1].quoted); it has \(names.joined(separator: ", "))\(suggestion)")
    }

    private func unknown(_ word: String) -> UsageError {
        guard !notImplemented.contains(word) else {
            return UsageError("\(word) is not implemented; souk --help lists the commands")
        }
        let grouped = commands.filter { $0.words.count > 1 && $0.words.last == word }
        let suggestion =
            grouped.isEmpty
            ? Suggestion.sentence(for: word, among: commands.map { $0.words[0] } + ["help", "--help", "--version"])
            : Suggestion.sentence(naming: grouped.map { $0.words.joined(separator: " ") })
        return UsageError("there is no command \(word.quoted)\(suggestion.map { ". \($0)" } ?? "; see souk --help")")
    }

    /// The text of `souk help WORDS`, the same as that of `souk WORDS --help`. Throws `UsageError` as `topic` does.
    func help(on words: [String]) throws -> String {
        let words = words.filter { !Self.isHelp($0) }
        switch try words == ["help"] ? .overview : topic(words) {
        case .overview: return overview
        case .group(let name, let group): return help(on: name, group)
        case .command(let command, let rest): return try command.help(on: rest)
        }
    }

    func help(on name: String, _ group: [Command]) -> String {
        "Usage: souk \(name) COMMAND\n" + rows("Commands", group)
    }

    var overview: String {
        "Souk, the in-app purchase stack a team can run itself.\n\nUsage: souk COMMAND [options]\n"
            + rows("Commands", commands)
            + "\nsouk help COMMAND and souk COMMAND --help show details. Start with: souk demo"
    }

    private func rows(_ title: String, _ commands: [Command]) -> String {
        Command.table(title, commands.map { ($0.words.joined(separator: " "), $0.summary) })
    }
}

extension Command {
    /// Returns the help text if `rest` is empty, otherwise the list of the actions that begin with these words. Throws
    /// `UsageError` when there is no such action.
    fileprivate func help(on rest: [String]) throws -> String {
        guard !rest.isEmpty else { return help }
        let group = actions.filter { $0.words.dropFirst(words.count).starts(with: rest) }
        guard !group.isEmpty else { throw unknownAction(rest) }
        return "Usage: \(name) ACTION\n"
            + Self.table("Actions", group.map { ($0.usage, $0.summary) })
    }

    /// The words of an action after the command's own word, and its operands.
    var usage: String { (words.dropFirst() + operands).joined(separator: " ") }

    /// The error for words that name no action of this command. Suggests an action whose first two words are similar,
    /// or else one whose first word is similar.
    func unknownAction(_ typed: [String]) -> UsageError {
        let text = typed.joined(separator: " ")
        guard !actions.isEmpty else { return UsageError("\(name) takes no \(text.quoted); see \(name) --help") }
        let names = actions.map { $0.words.dropFirst(words.count).joined(separator: " ") }
        let group = names.filter { $0.split(separator: " ").first.map(String.init) == typed.first }
        let known = group.isEmpty ? "see \(name) --help" : "it has \(group.joined(separator: ", "))"
        let suggestion = [2, 1].lazy.compactMap { (count: Int) -> String? in
            let words: [ArraySlice<Substring>] = names.map { $0.split(separator: " ").prefix(count) }
            let known: [String] = words.filter { $0.count == count }.map { $0.joined(separator: " ") }
            return Suggestion.sentence(for: typed.prefix(count).joined(separator: " "), among: known)
        }.first
        return UsageError("\(name) has no action \(text.quoted); \(known)\(suggestion.map { ". \($0)" } ?? "")")
    }
}
