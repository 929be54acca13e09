import EntitlementServer
import Foundation
import Primitives
import SQLStorage

/// `souk backup` and `souk restore`: copies of a ledger.
enum BackupCommands {
    static let backup = Command(
        words: ["backup"], summary: "Back up a ledger, also while its server runs", operands: ["FILE"],
        options: [LedgerFile.option, .init(name: "json", help: "print one JSON value")],
        details: """
            FILE is the ledger at one instant: checked, durable and readable only by its owner when the command
            ends. It must not exist yet. It holds customers' data and the digests of API keys: protect it like the
            ledger. Customers who were erased before are not in it; customers who are erased later stay in it.
            """
    ) { arguments in
        guard arguments.operands[0] != "-" else {
            throw UsageError("a backup cannot be written to standard output; give a file name")
        }
        let file = try LedgerFile(arguments).file()
        let target = InputFile.absolute(arguments.operands[0])
        let display = PercentDisplay("backup")
        try LedgerFile.refusing {
            try file.backUp(to: target) {
                display.show($0)
            } holdsDeleted: {
                try EntitlementService.holdsErased($0)
            }
        }
        display.end()
        try report(arguments, ["backup": .string(target), "bytes": .number(size(of: target))], "\(target) is complete")
        return .success
    }

    static let restore = Command(
        words: ["restore"], summary: "Replace a ledger by a backup", operands: ["FILE"],
        options: [
            LedgerFile.option,
            .init(
                name: "accept-revived",
                help: "restore even if revoked keys or erased customers may come back"),
            .init(name: "json", help: "print one JSON value"),
        ],
        details: """
            First checks FILE and its schema version. Fails while a server has the ledger open. The ledger is
            replaced atomically, and stays beside the new one under the name that is printed.

            The replaced ledger shows which keys were created or revoked since the backup, and which customers were erased:
            the keys are kept, and the customers are erased again. The command prints these changes. If there is no
            ledger to replace, or if it is damaged, new or older than the backup, the backup may bring back revoked keys
            and erased customers. Then --accept-revived is needed. A file that is not a SQLite database is never
            replaced: move it away first.
            All other changes since the backup are missing: fetch them from the App Store with souk sync.
            The replaced ledger still contains customers who are erased later: delete it when you no longer need it.
            """
    ) { arguments in
        let ledger = try LedgerFile(arguments)
        let accepts = arguments.has("accept-revived")
        let source = InputFile.absolute(arguments.operands[0])
        let file = try LedgerFile.refusing {
            let file = try SQLiteFile(path: source)
            guard try !file.schema(EntitlementService.migrations(for: .sqlite)).applied.isEmpty else {
                throw UsageError("\(source) is no ledger: it has no migrations")
            }
            return file
        }
        let hadLedger = ledger.exists
        let replaced = ledger.resolvedPath
        let former = FormerFile.name(for: replaced, at: Date())
        let obstacle = try obstacle(to: ledger)
        if let obstacle, !accepts { throw UsageError("\(obstacle) \(Self.consequence)") }
        // Checked before anything is changed: a damaged ledger stays in place until it is replaced.
        let isIntact = try obstacle == nil && isIntact(ledger)
        guard obstacle != nil || isIntact || accepts else {
            throw UsageError("The ledger \(ledger.path) is damaged. \(Self.consequence)")
        }
        let (restored, damage) = try await replace(
            replaced, by: file, keepingItAs: former, isReadable: obstacle == nil, isIntact: isIntact,
            accepts: accepts)
        let warning =
            restored.isOfAnotherLedger
            ? "\(ledger.path) was not the ledger of this backup."
            : restored.isIncomplete
                ? "\(ledger.path) did not have all changes since the backup." : obstacle ?? damage
        if let warning {
            Terminal.note("\(warning) Check the keys with souk keys list, and revoke those that must not be valid.")
        }
        var members: JSONMembers = ["database": .string("sqlite:\(ledger.path)"), "backup": .string(source)]
        if hadLedger { members["former"] = .string(former) }
        for (name, value) in restored.members { members[name] = value }
        let formerNote: TerminalText =
            hadLedger
            ? "; the former ledger is \(former), and keeps customers who are erased later: delete it when you no longer need it"
            : ""
        try report(arguments, members, "\(ledger.path) was restored from \(source)\(formerNote)\n\(restored.sentence)")
        return .success
    }

    /// The error codes with which the reading of a damaged ledger can fail.
    private static let damaged: Set<SQLError.Code> = [.corrupt, .notADatabase, .unexpectedValue]

    private static func isAboutDamage(_ error: any Error) -> Bool {
        if let error = error as? SQLError { return damaged.contains(error.code) }
        return (error as? EntitlementServerError)?.code == .internalInconsistency
    }

    private static func isIntact(_ ledger: LedgerFile) throws -> Bool {
        do {
            return try LedgerFile.refusing { try ledger.file().damage(limit: 1).isEmpty }
        } catch let error as SQLError where damaged.contains(error.code) {
            return false
        }
    }

    private static let consequence = """
        So the backup may bring back keys that were revoked and customers who were erased since it was made. Pass \
        --accept-revived to restore it nevertheless.
        """

    /// Returns the reason why changes of keys and customers since a backup are unknown; `nil` if they can be read.
    /// Throws `UsageError` for a ledger that cannot be opened or has another schema, and for a file that is no ledger,
    /// because a restore would rename it.
    private static func obstacle(to ledger: LedgerFile) throws -> String? {
        guard ledger.exists else { return "There is no ledger \(ledger.path)." }
        do {
            let status = try ledger.file().schema(EntitlementService.migrations(for: .sqlite))
            guard !status.applied.isEmpty else {
                guard try size(of: ledger.path) == 0 else {
                    throw UsageError("\(ledger.path) is no ledger: it has no migrations; name another file")
                }
                return "The ledger \(ledger.path) is empty."
            }
            guard status.pending.isEmpty else {
                return "\(ledger.path) lacks \(status.pending.joined(separator: ", ")): run souk migrate apply first."
            }
            return nil
        } catch let error as SQLError where damaged.contains(error.code) {
            guard ledger.canBeDamagedLedger else {
                throw UsageError(
                    "\(ledger.path) is no SQLite database; name another file, or move this one away if it was the ledger"
                )
            }
            return "The ledger \(ledger.path) cannot be read."
        } catch let error as SQLError where LedgerFile.usageErrorCodes.contains(error.code) {
            throw UsageError(error.description)
        }
    }

    private static func replace(
        _ path: String, by backup: SQLiteFile, keepingItAs former: String, isReadable: Bool, isIntact: Bool,
        accepts: Bool
    ) async throws -> (RestoreAmendment.Changes, damage: String?) {
        let display = PercentDisplay("restore")
        let result = Locked(RestoreAmendment.Changes())
        do {
            let failure = try await backup.replace(path, keepingItAs: former) {
                display.show($0)
            } reading: { (connection) -> RestoreAmendment? in
                try isReadable ? RestoreAmendment(of: connection, isIntact: isIntact) : nil
            } holdsDeleted: { amendment in
                amendment?.hasErasures == true
            } amending: { copy, amendment in
                guard let amendment = amendment ?? nil else {
                    return try await RestoreAmendment.skipUnknownEvents(in: copy, at: Date())
                }
                let changes = try await amendment.apply(to: copy, at: Date())
                guard !changes.isOfAnotherLedger || accepts else {
                    throw UsageError("\(path) is not the ledger of this backup: it was created later. \(consequence)")
                }
                guard !changes.isIncomplete || accepts else {
                    throw UsageError(
                        "\(path) is older than this backup, or was itself restored after a loss: it "
                            + "does not have all changes since the backup. \(consequence)")
                }
                guard changes.unknownErasures == 0 || accepts else {
                    let count = LintReport.count(changes.unknownErasures, "customer")
                    throw UsageError(
                        "\(count) of \(path) cannot be found in the backup to be erased again. \(consequence)")
                }
                result.withLock { $0 = changes }
            }
            display.end()
            if let failure {
                Terminal.note(
                    "\(former) may still contain names of erased customers, because it could not be rewritten: "
                        + "\(failure.description) Delete it when you no longer need it.")
            }
        } catch  where isReadable && isAboutDamage(error) {
            let sentence = "The ledger \(path) is damaged, and its keys and erasures cannot be read."
            guard accepts else { throw UsageError("\(sentence) \(consequence)") }
            let (changes, _) = try await replace(
                path, by: backup, keepingItAs: former, isReadable: false, isIntact: false, accepts: accepts)
            return (changes, sentence)
        } catch let error as SQLError where LedgerFile.usageErrorCodes.contains(error.code) {
            throw UsageError(error.description)
        }
        return (result.withLock { $0 }, nil)
    }

    private static func report(_ arguments: Arguments, _ members: JSONMembers, _ sentence: TerminalText) throws {
        if arguments.has("json") { try Terminal.print(json: .object(members)) } else { try Terminal.print(sentence) }
    }

    private static func size(of path: String) throws -> Int64 {
        (try FileManager.default.attributesOfItem(atPath: SQLiteFile.resolvingLinks(path))[.size] as? NSNumber)?
            .int64Value ?? 0
    }

    /// Shows the progress on a terminal.
    private struct PercentDisplay {
        private let what: String

        init(_ what: String) { self.what = what }

        func show(_ part: Double) {
            if Terminal.showsProgress { Terminal.write(error: "\r\(what) \(Int(part * 100)) % ") }
        }

        func end() {
            if Terminal.showsProgress { Terminal.write(error: "\r\u{1B}[K") }
        }
    }
}

extension RestoreAmendment.Changes {
    fileprivate var members: JSONMembers {
        [
            "keysAdded": .array(added.map { .string($0.id) }), "keysRevoked": .array(revoked.map { .string($0.id) }),
            "customersErased": .number(erasedCustomers), "erasuresUnknown": .number(unknownErasures),
        ]
    }

    /// A sentence about the data that was carried over.
    fileprivate var sentence: String {
        var parts: [String] = []
        if !added.isEmpty { parts.append("added \(Self.list(added))") }
        if !revoked.isEmpty { parts.append("revoked \(Self.list(revoked))") }
        if erasedCustomers > 0 { parts.append("erased \(LintReport.count(erasedCustomers, "customer")) again") }
        if unknownErasures > 0 {
            parts.append("did not find \(LintReport.count(unknownErasures, "customer")) who were erased")
        }
        return parts.isEmpty ? "no key and no erasure was newer than the backup" : parts.joined(separator: "; ")
    }

    private static func list(_ keys: [APIKeys.Entry]) -> String {
        keys.map { "the \($0.kind.rawValue) key \($0.id)" }.joined(separator: ", ")
    }
}
