import Foundation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The `souk` command: the only place that composes all modules.
@main
enum Souk {
    static let commands: [Command] = [
        DemoCommand.command, ServeCommand.command, KeysCommands.create, KeysCommands.list, KeysCommands.revoke,
        MigrateCommands.plan, MigrateCommands.apply, MigrateCommands.verify, BackupCommands.backup,
        BackupCommands.restore, ImportCommand.command, SyncCommand.command, SimulateCommand.command,
        StoreCommand.command, ScenarioCommand.run,
        JWSCommands.inspect,
        JWSCommands.verify, ReceiptCommands.inspect, ReceiptCommands.verify, SigningCommands.offer,
        SigningCommands.token, CatalogCommands.lint, CatalogCommands.convert,
        CatalogCommands.encrypt,
        PolicyCommands.lint, HubCommands.graph, HARCommands.lint, HARCommands.show, HARReplay.command,
        LedgerCommands.replay, InspectCommand.command, InterceptCommand.command, VersionCommand.command,
    ]

    /// Commands that later versions will have.
    private static let notBuilt: Set<String> = [
        "bench"
    ]

    static func main() async {
        // Whoever reads our output may leave; what was begun is still ended properly.
        signal(SIGPIPE, SIG_IGN)
        do throws(Misuse) {
            let typed = try TypedArguments.read(CommandLine.argc, CommandLine.unsafeArgv)
            exit(await run(typed).rawValue)
        } catch {
            Terminal.note("souk: \(error.sentence)")
            exit(ExitStatus.misuse.rawValue)
        }
    }

    /// Finds the command by its leading words, parses what follows and runs it.
    static func run(_ typed: [String]) async -> ExitStatus {
        guard let first = typed.first, !["help", "--help", "-h"].contains(first) else {
            Terminal.print(overview)
            return typed.isEmpty ? .misuse : .success
        }
        if first == "--version" { return await run(["version"] + typed.dropFirst()) }
        guard let general = commands.first(where: { typed.starts(with: $0.words) }) else {
            let group = commands.filter { $0.words.first == first }
            guard !notBuilt.contains(first) else {
                Terminal.note("souk: \(first) is not built yet; souk --help lists what is")
                return .misuse
            }
            guard !group.isEmpty else {
                Terminal.note("souk: there is no command \"\(first)\"; see souk --help")
                return .misuse
            }
            if typed.contains("--help") || typed.count == 1 {
                Terminal.print("Usage: souk \(first) COMMAND\n" + rows("Commands", group))
                return typed.count == 1 ? .misuse : .success
            }
            let known = group.map { $0.words[1] }.joined(separator: ", ")
            Terminal.note("souk: \(first) has no command \"\(typed[1])\"; it has \(known)")
            return .misuse
        }
        let (command, rest) = general.chosen(by: Array(typed.dropFirst(general.words.count)))
        if rest.prefix(while: { $0 != "--" }).contains(where: { $0 == "--help" || $0 == "-h" }) {
            Terminal.print(command.help)
            return .success
        }
        do {
            return try await command.run(Arguments(rest, for: command))
        } catch let error as Misuse {
            Terminal.note("souk: \(error.sentence)")
            return .misuse
        } catch {
            let sentence = (error as? Failure)?.sentence ?? "\(error)"
            Terminal.note("souk: \(sentence)")
            if rest.contains("--json") { Terminal.print(json: ["error": ["reason": .string(sentence)]]) }
            return .doesNotHold
        }
    }

    private static var overview: String {
        "Souk, the in-app purchase stack a team can run itself.\n\nUsage: souk COMMAND [options]\n"
            + rows("Commands", commands) + "\nEach command has --help. Start with: souk demo"
    }

    private static func rows(_ title: String, _ commands: [Command]) -> String {
        Command.table(title, commands.map { ($0.words.joined(separator: " "), $0.summary) })
    }
}
