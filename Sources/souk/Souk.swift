import Foundation
import SQLStorage
import SignedData

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
        MigrateCommands.plan, MigrateCommands.apply, MigrateCommands.verify, MigrateCommands.copy,
        BackupCommands.backup,
        BackupCommands.restore, CustomerCommands.export, CustomerCommands.erase, CustomerCommands.refund,
        ImportCommand.command,
        SyncCommand.command, SimulateCommand.command,
        StoreCommand.command, ScenarioCommand.run,
        JWSCommands.inspect,
        JWSCommands.verify, ReceiptCommands.inspect, ReceiptCommands.verify, SigningCommands.offer,
        SigningCommands.token, CatalogueCommands.lint, CatalogueCommands.convert,
        CatalogueCommands.encrypt,
        PolicyCommands.lint, HubCommands.graph, HARCommands.lint, HARCommands.show, HARReplay.command,
        FigureCommands.verify, FigureCommands.figures, ExportCommand.command, LedgerCommands.replay,
        LedgerCommands.compact, InspectCommand.command, InterceptCommand.command,
        WaitCommand.command, CompletionCommand.command, ManualCommand.command,
        VersionCommand.command,
    ]

    private static let table = CommandTable(commands: commands, notImplemented: ["bench"])

    static func main() async {
        // Ignored, so that `write` fails for a closed pipe or a file over the size limit, and the command can clean up.
        signal(SIGPIPE, SIG_IGN)
        signal(SIGXFSZ, SIG_IGN)
        Terminal.occupyClosedStreams()
        let status: ExitStatus
        do throws(UsageError) {
            status = await run(try TypedArguments.read(CommandLine.argc, CommandLine.unsafeArgv))
        } catch {
            Terminal.note("souk: \(error.sentence)")
            status = .usageError
        }
        if let number = status.signal {
            signal(number, SIG_DFL)
            raise(number)
        }
        exit(status.rawValue)
    }

    /// Runs the command that the arguments name, and prints one sentence on standard error if it fails.
    static func run(_ typed: [String]) async -> ExitStatus {
        do throws(OutputFailure) {
            let status: ExitStatus
            do {
                status = try await perform(typed)
            } catch {
                status = try explain(error, asJSON: typed.contains("--json"))
            }
            return status == .success && Terminal.hasLostNotes ? .usageError : status
        } catch {
            guard !error.isClosedPipe else { return .closedPipe }
            Terminal.note("souk: \(error.sentence)")
            return .usageError
        }
    }

    private static func perform(_ typed: [String]) async throws -> ExitStatus {
        switch typed.first {
        case "help":
            try Terminal.print(.lines(table.help(on: Array(typed.dropFirst()))))
            return .success
        case "--version": return try await perform(["version"] + typed.dropFirst())
        default: break
        }
        switch try table.topic(typed) {
        case .overview:
            try Terminal.print(.lines(table.overview))
            return typed.isEmpty ? .usageError : .success
        case .group(let name, let group):
            try Terminal.print(.lines(table.help(on: name, group)))
            return typed.count == 1 ? .usageError : .success
        case .command(let command, let rest):
            if rest.prefix(while: { $0 != "--" }).contains(where: CommandTable.isHelp) {
                try Terminal.print(.lines(command.help))
                return .success
            }
            return try await command.run(Arguments(rest, for: command))
        }
    }

    /// Prints the reason of a failure. Throws `OutputFailure` if output has failed, now or before.
    private static func explain(_ error: any Error, asJSON: Bool) throws(OutputFailure) -> ExitStatus {
        switch error {
        case let failure as OutputFailure: throw failure
        case let error as UsageError:
            Terminal.note("souk: \(error.sentence)")
            return .usageError
        case let error as SignedDataError where error.code == .storageFailed:
            Terminal.note("souk: \(error.reason)")
            return .usageError
        case let error as SQLError where [.storageFull, .storageFailed, .readOnly].contains(error.code):
            Terminal.note("souk: \(error.description)")
            return .usageError
        default:
            let sentence = (error as? Failure)?.sentence ?? "\(error)"
            Terminal.note("souk: \(sentence)")
            if asJSON { try Terminal.print(json: ["error": ["reason": .string(sentence.withoutSecretsOfURLs)]]) }
            return .failure
        }
    }
}
