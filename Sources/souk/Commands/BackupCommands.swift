import EntitlementServer
import Foundation
import Primitives
import SQLStorage

/// `souk backup` and `souk restore`: a ledger's copies.
enum BackupCommands {
    static let backup = Command(
        words: ["backup"], summary: "copy a ledger while its server runs", operands: ["FILE"],
        options: [LedgerFile.option, .init(name: "json", help: "print one JSON value")],
        details: """
            FILE is the ledger as it was at one instant: checked, durable and readable by its owner alone once the command
            ends. It must not exist yet. It holds customers' data and the digests of API keys: keep it as you keep the
            ledger. Customers erased later are still in it; nothing is left in it of those erased before.
            """
    ) { arguments in
        guard arguments.operands[0] != "-" else {
            throw Misuse("a backup is a file, which standard output cannot be; give it a name")
        }
        let file = try LedgerFile(arguments).file()
        let target = InputFile.absolute(arguments.operands[0])
        let share = Share("backup")
        try LedgerFile.refusing {
            try file.backUp(to: target) {
                share.show($0)
            } holdsDeleted: {
                try EntitlementService.holdsErased($0)
            }
        }
        share.end()
        try report(arguments, ["backup": .string(target), "bytes": .number(size(of: target))], "\(target) is whole")
        return .success
    }

    static let restore = Command(
        words: ["restore"], summary: "put a backup in the place of a ledger", operands: ["FILE"],
        options: [
            LedgerFile.option,
            .init(
                name: "accept-revived",
                help: "restore although keys that were revoked, or customers who were erased, may come back"),
            .init(name: "json", help: "print one JSON value"),
        ],
        details: """
            FILE is checked first, and that this program knows its schema. Refused while a server has the ledger. The
            ledger is replaced at one instant and stays beside the new one, under the name that is printed.

            Keys that were made or revoked, and customers who were erased, since the backup are read from the ledger that
            is replaced: the keys are kept, and the customers are erased again. What was changed is printed. Where there
            is no such ledger, it is damaged, founded anew or older than the backup, the backup may bring back what was
            revoked and erased: --accept-revived is needed. What is no SQLite database is never replaced: move it away first.
            Everything else that happened since the backup is missing then: souk sync asks the App Store for it.
            Customers who are erased later are still in the ledger that was replaced: delete it when you need it no more.
            """
    ) { arguments in
        let ledger = try LedgerFile(arguments)
        let accepts = arguments.has("accept-revived")
        let source = InputFile.absolute(arguments.operands[0])
        let file = try LedgerFile.refusing {
            let file = try SQLiteFile(path: source)
            guard try !file.schema(EntitlementService.migrations(for: .sqlite)).applied.isEmpty else {
                throw Misuse("\(source) is no ledger: it has no migration of one")
            }
            return file
        }
        let hadLedger = ledger.exists
        let replaced = ledger.resolvedPath
        let former = FormerFile.name(for: replaced, at: Date())
        let obstacle = try obstacle(to: ledger)
        if let obstacle, !accepts { throw Misuse("\(obstacle) \(Self.consequence)") }
        // Before anything is changed: a damaged ledger stays as it is until it is replaced.
        let isWhole = try obstacle == nil && isWhole(ledger)
        guard obstacle != nil || isWhole || accepts else {
            throw Misuse("The ledger \(ledger.path) is damaged. \(Self.consequence)")
        }
        let (restored, damage) = try await replace(
            replaced, by: file, keepingItAs: former, isReadable: obstacle == nil, isWhole: isWhole,
            accepts: accepts)
        let revived =
            restored.isOfAnotherLedger
            ? "\(ledger.path) was not the ledger of this backup."
            : restored.isIncomplete
                ? "\(ledger.path) did not know everything that happened since the backup." : obstacle ?? damage
        if let revived { Terminal.note("\(revived) Revoke the keys that must not be valid: souk keys list.") }
        var members: JSONMembers = ["database": .string("sqlite:\(ledger.path)"), "backup": .string(source)]
        if hadLedger { members["former"] = .string(former) }
        for (name, value) in restored.members { members[name] = value }
        let later: TerminalText =
            hadLedger ? "; what was there is \(former), without later erasures: delete it when you need it no more" : ""
        try report(arguments, members, "\(ledger.path) is what \(source) holds\(later)\n\(restored.sentence)")
        return .success
    }

    /// The codes of errors with which reading a damaged ledger fails.
    private static let damaged: Set<SQLError.Code> = [.corrupt, .notADatabase, .unexpectedValue]

    private static func isAboutDamage(_ error: any Error) -> Bool {
        if let error = error as? SQLError { return damaged.contains(error.code) }
        return (error as? EntitlementServerError)?.code == .internalInconsistency
    }

    private static func isWhole(_ ledger: LedgerFile) throws -> Bool {
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

    /// Why it cannot be known what became of keys and customers since a backup, `nil` where it can. Throws `Misuse` for a
    /// ledger that another program has to look after first, and for what is no ledger: a restore would put that aside.
    private static func obstacle(to ledger: LedgerFile) throws -> String? {
        guard ledger.exists else { return "There is no ledger \(ledger.path)." }
        do {
            let status = try ledger.file().schema(EntitlementService.migrations(for: .sqlite))
            guard !status.applied.isEmpty else {
                guard try size(of: ledger.path) == 0 else {
                    throw Misuse("\(ledger.path) is no ledger: it has no migration of one; name another file")
                }
                return "The ledger \(ledger.path) is empty."
            }
            guard status.pending.isEmpty else {
                return "\(ledger.path) lacks \(status.pending.joined(separator: ", ")): run souk migrate apply first."
            }
            return nil
        } catch let error as SQLError where damaged.contains(error.code) {
            guard ledger.canBeDamagedLedger else {
                throw Misuse(
                    "\(ledger.path) is no SQLite database; name another file, or move this one away if it was the ledger"
                )
            }
            return "The ledger \(ledger.path) cannot be read."
        } catch let error as SQLError where LedgerFile.reasons.contains(error.code) {
            throw Misuse(error.description)
        }
    }

    private static func replace(
        _ path: String, by backup: SQLiteFile, keepingItAs former: String, isReadable: Bool, isWhole: Bool,
        accepts: Bool
    ) async throws -> (RestoreAmendment.Changes, damage: String?) {
        let share = Share("restore")
        let result = Locked(RestoreAmendment.Changes())
        do {
            let failure = try await backup.replace(path, keepingItAs: former) {
                share.show($0)
            } reading: { (connection) -> RestoreAmendment? in
                try isReadable ? RestoreAmendment(of: connection, isWhole: isWhole) : nil
            } holdsDeleted: { amendment in
                amendment?.hasErasures == true
            } amending: { copy, amendment in
                guard let amendment = amendment ?? nil else {
                    return try await RestoreAmendment.skipUnknownEvents(in: copy, at: Date())
                }
                let changes = try await amendment.apply(to: copy, at: Date())
                guard !changes.isOfAnotherLedger || accepts else {
                    throw Misuse("\(path) is not the ledger of this backup: it was founded anew. \(consequence)")
                }
                guard !changes.isIncomplete || accepts else {
                    throw Misuse(
                        "\(path) is older than this backup, or was itself restored when the ledger of before was lost: it "
                            + "does not know everything that happened since. \(consequence)")
                }
                guard changes.unknownErasures == 0 || accepts else {
                    let count = LintReport.count(changes.unknownErasures, "customer")
                    throw Misuse("\(count) of \(path) cannot be found in the backup to be erased again. \(consequence)")
                }
                result.withLock { $0 = changes }
            }
            share.end()
            if let failure {
                Terminal.note(
                    "\(former) may still hold names of customers who were erased, because it could not be written anew: "
                        + "\(failure.description) Delete it when you need it no more.")
            }
        } catch  where isReadable && isAboutDamage(error) {
            let sentence = "The ledger \(path) is damaged, and its keys and erasures cannot be read."
            guard accepts else { throw Misuse("\(sentence) \(consequence)") }
            let (changes, _) = try await replace(
                path, by: backup, keepingItAs: former, isReadable: false, isWhole: false, accepts: accepts)
            return (changes, sentence)
        } catch let error as SQLError where LedgerFile.reasons.contains(error.code) {
            throw Misuse(error.description)
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

    /// How much is done, on a terminal.
    private struct Share {
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

    /// What was carried over, for people.
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
