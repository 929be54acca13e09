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
            ledger. Customers erased later are still in it.
            """
    ) { arguments in
        let file = try LedgerFile(arguments).file()
        let target = InputFile.absolute(arguments.operands[0])
        let share = Share("backup")
        try LedgerFile.refusing { try file.backUp(to: target) { share.show($0) } }
        share.end()
        try tell(arguments, ["backup": .string(target), "bytes": .number(size(of: target))], "\(target) is whole")
        return .success
    }

    static let restore = Command(
        words: ["restore"], summary: "put a backup in the place of a ledger", operands: ["FILE"],
        options: [LedgerFile.option, .init(name: "json", help: "print one JSON value")],
        details: """
            FILE is checked first, and that this program knows its schema. Refused while a server has the ledger. The
            ledger is replaced at one instant and stays beside the new one, under the name that is printed. What happened
            since the backup is missing then: souk sync asks the App Store for it.
            """
    ) { arguments in
        let ledger = try LedgerFile(arguments)
        let source = InputFile.absolute(arguments.operands[0])
        let file = try LedgerFile.refusing {
            let file = try SQLiteFile(path: source)
            guard try !file.schema(EntitlementService.migrations).applied.isEmpty else {
                throw Misuse("\(source) is no ledger: it has no migration of one")
            }
            return file
        }
        let hadLedger = ledger.exists
        let former = "\(ledger.path).before-\(stamp(Date()))"
        let share = Share("restore")
        try LedgerFile.refusing { try file.replace(ledger.path, keepingItAs: former) { share.show($0) } }
        share.end()
        var told: JSONMembers = ["database": .string("sqlite:\(ledger.path)"), "backup": .string(source)]
        if hadLedger { told["former"] = .string(former) }
        let later = hadLedger ? "; what was there is \(former)" : ""
        try tell(arguments, told, "\(ledger.path) is what \(source) holds\(later)")
        return .success
    }

    private static func tell(_ arguments: Arguments, _ members: JSONMembers, _ sentence: String) throws {
        if arguments.has("json") { try Terminal.print(json: .object(members)) } else { try Terminal.print(sentence) }
    }

    private static func size(of path: String) throws -> Int64 {
        (try FileManager.default.attributesOfItem(atPath: path)[.size] as? NSNumber)?.int64Value ?? 0
    }

    /// An instant as part of a file's name: `20261120T144000Z`.
    private static func stamp(_ date: Date) -> String {
        RFC3339.string(from: date).filter { $0 != "-" && $0 != ":" }.prefix { $0 != "." && $0 != "Z" } + "Z"
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
